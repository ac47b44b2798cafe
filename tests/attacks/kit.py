"""Attackers: tenants with full rights in one namespace, and controllers that were taken over.

An attacker acts by impersonation, so RBAC and policies apply to each request as they apply to
the real identity. Nothing here has a right that the identity does not have.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from local_cluster.cluster import Cluster
from tests.deploy.kit import DEPLOY, NAMESPACE
from tests.deploy.people import Object, Person, podclique

_TENANT = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "attacks-tenant"},
    "rules": [
        {
            # Every group that core and backends read. Not `*`: that includes the virtual verb
            # by which the policies know who may write managed objects.
            "apiGroups": [
                "",
                "apps",
                "autoscaling",
                "coordination.k8s.io",
                "grove.io",
                "resource.k8s.io",
                "scheduler.grove.io",
                "scheduling.k8s.io",
                "scheduling.run.ai",
                "scheduling.sigs.k8s.io",
                "scheduling.volcano.sh",
            ],
            "resources": ["*"],
            "verbs": ["*"],
        }
    ],
}


APPLY = ("--server-side", "--force-conflicts", "--field-manager=attacker")


class Attacker(Person):
    """Somebody who tries what must not work."""

    def refused(self, *words: str, input: Object | None = None) -> str:
        """Return what the server answers to a request that RBAC or a policy refuses.

        The empty string means that the request was carried out.
        """
        done = self._kubectl(*words, input=input)
        if done.returncode == 0:
            return ""
        assert "orbidden" in done.stderr or "denied request" in done.stderr, done.stderr
        return done.stderr.strip()

    def applied(self, manifest: Object, *words: str) -> str:
        """Return what a policy answers to an apply; empty if it was carried out.

        Our accounts may patch and not get, which kubectl does before any other patch.
        """
        return self.refusal("apply", *APPLY, *words, "-f", "-", input=manifest)


def tenant(cluster: Cluster, namespace: str, name: str = "mallory") -> Attacker:
    """Return a person with full rights in one namespace and no right elsewhere."""
    administrator = Person(cluster, namespace)
    administrator.do("apply", "--server-side", "-f", "-", input=_TENANT)
    role = f"--clusterrole={_TENANT['metadata']['name']}"  # type: ignore[index]
    administrator.do("create", "rolebinding", f"tenant-{name}", role, f"--user={name}")
    return Attacker(cluster, namespace, name)


def account(
    cluster: Cluster, name: str, namespace: str = "default", *, of: str = NAMESPACE
) -> Attacker:
    """Return a client with the token of ServiceAccount `of`/`name`; requests go to `namespace`."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{of}", "system:authenticated")
    return Attacker(cluster, namespace, f"system:serviceaccount:{of}:{name}", groups)


def until_policed(probe: Person) -> None:
    """Wait until the policies are in force: the server announces that nowhere."""
    probe.until_refused("create", "-f", "-", input=podclique("probe"))


@contextmanager
def without_policies(cluster: Cluster, probe: Person) -> Iterator[None]:
    """Remove the policies as long as the block lasts, so that only the code withstands."""
    words = ("create", "-f", "-", "--dry-run=server")
    kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies"
    cluster.kubectl("delete", kinds, "--all")
    for _ in range(200):
        if not probe.refusal(*words, input=podclique("probe")):
            break
    else:
        raise AssertionError("the policies are still in force")
    try:
        yield
    finally:
        cluster.kubectl("apply", "--server-side", "-k", str(DEPLOY / "policies"))
        cluster.kubectl("apply", "--server-side", "-f", str(DEPLOY / "core" / "admission.yaml"))
        until_policed(probe)
