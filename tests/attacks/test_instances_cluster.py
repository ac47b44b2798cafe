"""A second instance of a backend, installed from the overlay, with its own rights and no others."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_operator.state.caches import GANGS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.attacks.conftest import TakenOver
from tests.attacks.kit import APPLY, Attacker
from tests.core.kit import Onlooker, clique, holds, pcs
from tests.core.test_placement_walk import attempts, create_policy, policy
from tests.deploy.kit import DEPLOY, NAMESPACE, PATIENCE, until_available
from tests.deploy.people import Object

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

FIRST, SECOND = "default", "default-b"


@pytest.fixture(scope="module")
def instance(product: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A second instance of `default`, made from the overlay as the page on operating says."""
    copy = tmp_path_factory.mktemp("instance") / "deploy"
    shutil.copytree(DEPLOY, copy)
    folder = copy / "overlays" / "second-instance"
    text = (folder / "kustomization.yaml").read_text()
    for old, new in (
        ("../../backends/kai", f"../../backends/{FIRST}"),
        ("nameSuffix: -team-a", "nameSuffix: -b"),
        ("instance: kai-team-a", f"instance: {SECOND}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "kustomization.yaml").write_text(text)
    (folder / "settings.yaml").write_text(f"leaderElection:\n  namespace: {NAMESPACE}\n")
    product.kubectl("apply", "--server-side", "-k", str(folder))
    deployment = (f"deployment/backend-{SECOND}", f"-n{NAMESPACE}")
    product.kubectl("scale", *deployment, "--replicas=1")
    product.kubectl("rollout", "status", *deployment, f"--timeout={PATIENCE:.0f}s")
    until_available(product, FIRST, SECOND)
    yield folder
    product.kubectl("delete", "--ignore-not-found", "-k", str(folder))
    kinds = ("schedulerbackend", "backendinventory")
    for kind in kinds:
        product.kubectl("delete", kind, SECOND, "--ignore-not-found")


async def test_it_runs_its_gangs_beside_the_first_with_the_rights_of_its_name(
    product: Cluster, instance: Path, victim: Onlooker
) -> None:
    del instance
    for backend in (FIRST, SECOND):
        chosen = {names.ANNOTATION_SCHEDULER_BACKEND: backend}
        await victim.create(pcs(backend, clique("a", 2), annotations=chosen))
    gangs = {backend: f"{backend}-0" for backend in (FIRST, SECOND)}
    await victim.until(
        lambda: all(holds(victim.get(GANGS, gang), "Ready") for gang in gangs.values()), PATIENCE
    )
    for backend, gang in gangs.items():
        labels = victim.one(GANGS, gang).metadata.labels
        assert labels[names.LABEL_SCHEDULER_BACKEND] == backend
        for kind, name, place in (
            ("lease", f"backend-{backend}", (f"-n{NAMESPACE}",)),
            ("backendinventory", backend, ()),
        ):
            assert product.kubectl("get", kind, name, *place, "-oname").stdout.strip()
    kind = product.kubectl("get", "schedulerbackend", SECOND, "-ojsonpath={.spec.kind}").stdout
    assert kind == FIRST


async def test_a_gang_goes_from_one_instance_to_the_other_with_their_rights_and_the_policies(
    product: Cluster, instance: Path, victim: Onlooker
) -> None:
    del instance
    candidates = {"required": [{"name": FIRST}, {"name": SECOND}]}
    await create_policy(victim, policy(candidates=candidates, admissionTimeout="3s"))
    nowhere = clique("a", 2, podSpec={"nodeSelector": {"walk": "allowed"}})
    annotations = {names.ANNOTATION_PLACEMENT_POLICY: "p"}
    await victim.create(pcs("w", nowhere, annotations=annotations))
    moved = [(FIRST, "Capacity"), (SECOND, None)]
    await victim.until(lambda: attempts(victim)[:1] == moved[:1], PATIENCE)
    await victim.until(lambda: len(attempts(victim)) == len(moved), PATIENCE)
    product.kubectl("label", "nodes", "--all", "walk=allowed")
    try:
        await victim.until(lambda: holds(victim.get(GANGS, "w-0"), "Ready"), PATIENCE)
    finally:
        product.kubectl("label", "nodes", "--all", "walk-")
    assert attempts(victim)[0] == moved[0]
    assert attempts(victim)[1][0] == SECOND
    here = victim.one(GANGS, "w-0").metadata.labels[names.LABEL_SCHEDULER_BACKEND]
    assert {pod.metadata.labels[names.LABEL_SCHEDULER_BACKEND] for pod in victim.pods} == {here}


def _record(name: str) -> Object:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "SchedulerBackend",
        "metadata": {"name": name, "labels": {"tier": "stolen"}},
    }


def _inventory(name: str) -> Object:
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "BackendInventory",
        "metadata": {"name": name},
        "spec": {"observedAt": "2026-01-01T00:00:00Z", "rows": []},
    }


def _status(gang: str) -> Object:
    condition = {
        "type": names.CONDITION_PROGRAMMED,
        "status": "True",
        "reason": "Forged",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    return {
        "apiVersion": GANGS.api_version,
        "kind": GANGS.kind,
        "metadata": {"name": gang},
        "status": {"conditions": [condition]},
    }


@pytest.mark.parametrize(("own", "other"), [(SECOND, FIRST), (FIRST, SECOND)])
async def test_neither_instance_reaches_what_belongs_to_the_other(
    instance: Path, taken_over: TakenOver, victim: Onlooker, own: str, other: str
) -> None:
    del instance
    chosen = {names.ANNOTATION_SCHEDULER_BACKEND: other}
    await victim.create(pcs("w", clique("a", 2), annotations=chosen))
    await victim.until(lambda: holds(victim.get(GANGS, "w-0"), "Ready"), PATIENCE)
    attacker: Attacker = taken_over(f"backend-{own}")
    words = ("apply", *APPLY, "-f", "-")
    assert attacker.refused(*words, input=_record(other))
    assert attacker.refused(*words, input=_inventory(other))
    assert attacker.refused(*words, "--subresource=status", input=_status("w-0"))
    lease = ("patch", "lease", f"backend-{other}", f"-n{NAMESPACE}", "--type=merge")
    assert attacker.refused(*lease, '-p={"spec":{"holderIdentity":"mallory"}}')
