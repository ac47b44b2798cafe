"""The programs of a cluster as data: what to run, with which flags. Pure functions of values.

Sequencing is `local_cluster.cluster`'s business, running them `local_cluster.supervisor`'s.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from local_cluster.certificates import Pair
from local_cluster.versions import Minor

ETCD = "etcd"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
PROCESS_NODE = "process-node"


@dataclass(frozen=True, slots=True)
class Component:
    """One process of the cluster."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of one cluster."""

    api: int
    etcd_client: int
    etcd_peer: int
    kai_scheduler: int
    kai_plugins: int


@dataclass(frozen=True, slots=True)
class Identity:
    """The keys and certificates that the control plane runs with."""

    authority: Pair
    server: Pair
    service_account_key: Path


def etcd(programs: Path, data: Path, ports: Ports) -> Component:
    """A single member that does not fsync: its data need not survive a power cut."""
    client = f"http://127.0.0.1:{ports.etcd_client}"
    peer = f"http://127.0.0.1:{ports.etcd_peer}"
    flags = {
        "name": "default",
        "data-dir": data,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "unsafe-no-fsync": "true",
        "quota-backend-bytes": 4 << 30,
        "log-level": "warn",
    }
    return Component(ETCD, (str(programs / ETCD), *_flags(flags)))


def api_server(
    programs: Path, work: Path, ports: Ports, identity: Identity, minor: Minor, *, gangs: bool
) -> Component:
    """Loopback only, TLS, RBAC on; gang scheduling's APIs when asked for."""
    flags = {
        "etcd-servers": f"http://127.0.0.1:{ports.etcd_client}",
        "bind-address": "127.0.0.1",
        # Without it the server looks for a default route and dies where there is none.
        "advertise-address": "127.0.0.1",
        # A loopback address is not a valid endpoint of the `kubernetes` Service.
        "endpoint-reconciler-type": "none",
        "secure-port": ports.api,
        "cert-dir": work,
        "tls-cert-file": identity.server.certificate,
        "tls-private-key-file": identity.server.key,
        "client-ca-file": identity.authority.certificate,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": identity.service_account_key,
        "service-account-signing-key-file": identity.service_account_key,
        "service-cluster-ip-range": "10.0.0.0/20",
        "allow-privileged": "true",
        "shutdown-delay-duration": "0s",
        # By annotations of a namespace, its pods go to the process node (see its placement.py).
        "enable-admission-plugins": "PodNodeSelector,PodTolerationRestriction",
    }
    if gangs:
        flags["feature-gates"] = _gates(minor.api_gates)
        flags["runtime-config"] = ",".join(f"{version}=true" for version in minor.served)
    return Component(API_SERVER, (str(programs / API_SERVER), *_flags(flags)))


def calling_kubelets(server: Component, client: Pair) -> Component:
    """The API server with a certificate that it shows to kubelets, for logs and exec."""
    flags: dict[str, object] = {
        "kubelet-preferred-address-types": "InternalIP",
        "kubelet-client-certificate": client.certificate,
        "kubelet-client-key": client.key,
    }
    return replace(server, command=(*server.command, *_flags(flags)))


def with_rights_of_kubelets(server: Component) -> Component:
    """The API server with what a real kubelet may do."""
    flags: dict[str, object] = {
        "authorization-mode": "Node",
        "enable-admission-plugins": "NodeRestriction",
    }
    # The server adds up the values of both.
    return replace(server, command=(*server.command, *_flags(flags)))


def withholding(server: Component, versions: Iterable[str]) -> Component:
    """The API server without these API versions."""
    flags: dict[str, object] = {"runtime-config": ",".join(f"{one}=false" for one in versions)}
    # The server adds up the values if the flag is repeated.
    return replace(server, command=(*server.command, *_flags(flags)))


def audited(server: Component, policy: Path, log: Path) -> Component:
    """The API server with a log of who did what, and as strict about owners as some clusters are."""
    flags = {
        "audit-policy-file": policy,
        "audit-log-path": log,
        # What was answered is in the log.
        "audit-log-mode": "blocking",
        "enable-admission-plugins": "OwnerReferencesPermissionEnforcement",
    }
    return replace(server, command=(*server.command, *_flags(flags)))


def with_own_accounts(manager: Component) -> Component:
    """The controllers with a ServiceAccount each and its rights, as on a real cluster."""
    return replace(manager, command=(*manager.command, "--use-service-account-credentials=true"))


def controller_manager(
    programs: Path, kubeconfig: Path, identity: Identity, minor: Minor, *, gangs: bool
) -> Component:
    """The controllers that a workload meets: garbage collector, Deployments, nodes, ..."""
    flags = {
        "kubeconfig": kubeconfig,
        "leader-elect": "false",
        "secure-port": 0,
        "service-account-private-key-file": identity.service_account_key,
        "root-ca-file": identity.authority.certificate,
        "cluster-signing-cert-file": identity.authority.certificate,
        "cluster-signing-key-file": identity.authority.key,
        "controllers": ",".join(minor.controllers(gang_scheduling=gangs)),
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
        "concurrent-gc-syncs": 20,
    }
    if gangs and minor.controller_gates:
        flags["feature-gates"] = _gates(minor.controller_gates)
    return Component(CONTROLLER_MANAGER, (str(programs / CONTROLLER_MANAGER), *_flags(flags)))


def scheduler(programs: Path, kubeconfig: Path, minor: Minor, *, gangs: bool) -> Component:
    """kube-scheduler with its default profile; the gates bring the gang plugins."""
    flags = {
        "kubeconfig": kubeconfig,
        "leader-elect": "false",
        "secure-port": 0,
        "kube-api-qps": 500,
        "kube-api-burst": 1000,
    }
    if gangs:
        flags["feature-gates"] = _gates(minor.scheduler_gates)
    return Component(SCHEDULER, (str(programs / SCHEDULER), *_flags(flags)))


def kwok(programs: Path, kubeconfig: Path, config: Path) -> Component:
    """Simulates the nodes with its annotation, and their pods."""
    flags = {
        "kubeconfig": kubeconfig,
        "config": config,
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": "kwok.x-k8s.io/node=fake",
        "cidr": "10.64.0.0/12",
        "node-ip": "10.63.0.1",
        "node-lease-duration-seconds": 40,
    }
    return Component(KWOK, (str(programs / KWOK), *_flags(flags)))


def process_node(kubeconfig: Path, root: Path) -> Component:
    """The local kubelet that runs the product's own Deployments as processes."""
    flags = {"kubeconfig": kubeconfig, "node-name": PROCESS_NODE, "root": root}
    command = (sys.executable, "-m", "local_cluster.process_node", *_flags(flags))
    return Component(PROCESS_NODE, command)


def _flags(values: dict[str, object]) -> tuple[str, ...]:
    return tuple(f"--{name}={value}" for name, value in values.items())


def _gates(names: Iterable[str]) -> str:
    return ",".join(f"{name}=true" for name in names)
