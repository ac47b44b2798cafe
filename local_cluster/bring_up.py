"""The order in which the parts of a cluster start, and the waits in between.

Programs first (built or found), then keys, supervisor, etcd and API server; once the API
answers, everything else at the same time. Every wait has a deadline, and a component that
exits meanwhile ends the wait with the last lines of its log.
"""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

from local_cluster import components
from local_cluster.api import wait_for_api
from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.certificates import Authority
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.components import API_SERVER, Identity, Ports
from local_cluster.container_node.addresses import API_SERVICE
from local_cluster.container_node.machine import NODE_PROGRAMS, require
from local_cluster.container_node.node import CONTAINER_NODE, Images, container_node
from local_cluster.errors import ClusterError
from local_cluster.exits import PortTakenError, ready_while_running
from local_cluster.furnishing import furnish, install
from local_cluster.kubeconfig import extract_context, write_kubeconfig
from local_cluster.ready_binaries import assets_from_environment
from local_cluster.schedulers import extra_scheduler
from local_cluster.schedulers.extra import ExtraScheduler
from local_cluster.versions import DEFAULT_MINOR, Minor, minor_of

_TRIES_FOR_PORTS = 3
_API_SECONDS = 60.0
Say = Callable[[str], None]


def bring_up(cluster: Cluster, options: ClusterOptions, *, leashed: bool, say: Say) -> None:
    """Start everything in the options; return when it is ready."""
    started = time.monotonic()
    minor = minor_of(options.kubernetes)
    _free_ports(options.api_port)  # fail before the build if the port is in use
    extras = [extra_scheduler(name) for name in options.schedulers]
    for extra in extras:
        _require_free(extra)
    programs = _programs(minor)
    kwok = ensure_built(build_of("kwok")) if options.nodes and options.parts == "all" else None
    built = {extra.name: ensure_built(build_of(extra.build)) for extra in extras}
    kubelet = _kubelet(options, say) if options.containers else None
    cluster.describe(options, programs)
    identity = None
    ports = _free_ports(0)
    if options.context is not None or options.borrowed is not None:
        _borrow(cluster, options)
        cluster.control.spawn(leashed=leashed)
    else:
        identity, ports = _start_api(cluster, options, minor, programs, leashed=leashed)
        say(f"Kubernetes {minor.release}: API server ready on 127.0.0.1:{ports.api}")
    if options.parts == "all":
        if identity is not None:
            _start_control_plane(cluster, options, minor, programs, identity)
            if kubelet is not None:
                _start_containers(cluster, kubelet, identity, ports)
        _wait(cluster, "nodes", furnish(cluster, options, kwok))
        for extra in extras:
            _wait(cluster, extra.name, install(cluster, extra, built[extra.name], ports))
            say(f"scheduler {extra.name} ready")
    say(f"cluster {cluster.name!r} ready in {time.monotonic() - started:.1f} s")


def _borrow(cluster: Cluster, options: ClusterOptions) -> None:
    if options.context is not None:
        extract_context(options.context, cluster.kubeconfig, sure=options.yes_this_cluster)
    elif options.borrowed is not None:
        cluster.kubeconfig.touch(mode=0o600)
        cluster.kubeconfig.write_bytes(Path(options.borrowed).read_bytes())


def _wait(cluster: Cluster, what: str, ready: Coroutine[None, None, None]) -> None:
    asyncio.run(ready_while_running(cluster, what, ready))


def _programs(minor: Minor) -> Path:
    return assets_from_environment(minor) or ensure_built(build_of(f"kubernetes-{minor.name}"))


def _kubelet(options: ClusterOptions, say: Say) -> Path:
    """Return the kubelet, or raise an error if this machine or cluster cannot have one."""
    if options.context is not None or options.borrowed is not None:
        raise ClusterError(
            "a node that runs containers cannot join a cluster that exists already",
            "Leave out --containers",
        )
    if options.kubernetes != DEFAULT_MINOR:
        raise ClusterError(
            f"the kubelet is of Kubernetes {DEFAULT_MINOR}, not {options.kubernetes}",
            "Leave out --kubernetes",
        )
    require(NODE_PROGRAMS, say)
    return ensure_built(build_of("kubelet")) / "kubelet"


def _start_containers(cluster: Cluster, kubelet: Path, identity: Identity, ports: Ports) -> None:
    authority = identity.authority.certificate
    cluster.control.start(container_node(cluster.directory, kubelet, authority, ports.api))
    Images(cluster.directory).load_stand_ins()


def _start_api(
    cluster: Cluster, options: ClusterOptions, minor: Minor, programs: Path, *, leashed: bool
) -> tuple[Identity, Ports]:
    authority = Authority(cluster.directory / "pki")
    identity = Identity(
        authority.pair, authority.server("kube-apiserver"), authority.signing_key("accounts")
    )
    users = {
        "kubeconfig": authority.client("admin", "system:masters"),
        "scheduler.kubeconfig": authority.client("system:kube-scheduler"),
    }
    if options.containers:
        users["node.kubeconfig"] = authority.client(f"system:node:{CONTAINER_NODE}", "system:nodes")
    cluster.control.spawn(leashed=leashed)
    for attempt in range(1, _TRIES_FOR_PORTS + 1):
        ports = _free_ports(options.api_port)
        for file, user in users.items():
            write_kubeconfig(
                cluster.directory / file,
                name=f"local-{cluster.name}",
                # The kubelet is in another network namespace.
                server=f"https://{API_SERVICE}"
                if file == "node.kubeconfig"
                else f"https://127.0.0.1:{ports.api}",
                authority=identity.authority.certificate,
                user=user,
            )
        cluster.control.start(components.etcd(programs, cluster.directory / "etcd", ports))
        server = components.api_server(
            programs,
            cluster.directory / "apiserver",
            ports,
            identity,
            minor,
            gangs=options.gang_scheduling,
        )
        server = components.calling_kubelets(server, users["kubeconfig"])
        if options.containers:
            server = components.with_rights_of_kubelets(server)
        if options.withheld:
            server = components.withholding(server, options.withheld)
        cluster.control.start(_audited(cluster, server) if options.audit else server)
        try:
            _wait(cluster, "the API server", wait_for_api(cluster.kubeconfig, _API_SECONDS))
        except PortTakenError:
            # Another process took the port after it was chosen.
            cluster.control.stop(API_SERVER)
            cluster.control.stop(components.ETCD)
            if attempt == _TRIES_FOR_PORTS or options.api_port:
                raise
        else:
            return identity, ports
    raise AssertionError("unreachable")


def _audited(cluster: Cluster, server: components.Component) -> components.Component:
    policy = cluster.directory / "audit-policy.json"
    # JSON is YAML. Who, what and with which outcome: never the objects themselves.
    rules = [{"level": "Metadata", "omitStages": ["RequestReceived"]}]
    policy.write_text(
        json.dumps({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules})
    )
    return components.audited(server, policy, cluster.audit_log)


def _start_control_plane(
    cluster: Cluster, options: ClusterOptions, minor: Minor, programs: Path, identity: Identity
) -> None:
    gangs = options.gang_scheduling
    # The controllers run as an administrator: their own identity lacks most rights unless each
    # of them gets a ServiceAccount, which a throw-away cluster does not need.
    manager = components.controller_manager(
        programs, cluster.kubeconfig, identity, minor, gangs=gangs
    )
    for component in (
        components.with_own_accounts(manager) if options.audit else manager,
        components.scheduler(
            programs, cluster.directory / "scheduler.kubeconfig", minor, gangs=gangs
        ),
    ):
        cluster.control.start(component)


def _require_free(extra: ExtraScheduler) -> None:
    for port in extra.fixed_ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("", port))
            except OSError:
                raise ClusterError(
                    f"port {port} is in use, and {extra.name} needs it",
                    f"Stop what listens on it, perhaps another cluster with {extra.name}",
                ) from None


def _free_ports(api: int) -> Ports:
    """Choose free loopback ports. All stay bound until the last is chosen, so they differ."""
    sockets = [socket.socket() for _ in range(5)]
    try:
        for number, chosen in enumerate(sockets):
            wanted = api if number == 0 else 0
            try:
                chosen.bind(("127.0.0.1", wanted))
            except OSError:
                raise ClusterError(
                    f"port {wanted} is in use by another process",
                    "Choose another --port, or leave it out to get a free one",
                ) from None
        return Ports(*(chosen.getsockname()[1] for chosen in sockets))
    finally:
        for chosen in sockets:
            chosen.close()
