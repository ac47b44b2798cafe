"""The product as installed by `kubectl apply -k deploy/all`: it works, with no right too many.

The tests share one installation; the last one removes it, as the page on operating says.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.pytest_plugin import alone, fresh_namespace, running_cluster
from local_cluster.schedulers import extra_scheduler
from local_cluster.waiting import wait_until
from shared_api import names
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.conftest import CRDS
from tests.core.kit import Onlooker, clique, pcs
from tests.deploy.customs import CUSTOMS
from tests.deploy.kit import NAMESPACE, PATIENCE, Object, install, uninstall
from tests.deploy.leftovers import Inventory, inventory
from tests.deploy.life import Life
from tests.deploy.rights import Right, deeds, granted

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

_BY_ADMISSION = (
    "asked for by OwnerReferencesPermissionEnforcement, which is on here, and not by a request"
)
_OF_POLICIES = "policy.grove.io"
"""Rights that the policies ask for, and no request."""
_LATER = "served from Kubernetes 1.37 on"
_EVENTS = "Events are patched only when they repeat, and a backend has little to tell of this life"
_VERBS = ("get", "list", "watch", "create", "patch", "delete")
_TELLING = {Right(verb, "events.k8s.io", "events"): _EVENTS for verb in ("create", "patch")}
_OWNING = {Right("update", "scheduler.grove.io", "podgangs/finalizers"): _BY_ADMISSION}
UNUSED: dict[str, dict[Right, str]] = {
    "core-operator": {
        Right("update", "grove.io", f"{owner}/finalizers"): _BY_ADMISSION
        for owner in ("podcliquesets", "podcliques", "podcliquescalinggroups")
    }
    | {
        Right("patch", "events.k8s.io", "events"): _EVENTS,
        Right("patch", "grove.io", "podcliquesets"): "only on sets with a finalizer of Grove",
        Right("delete", "grove.io", "podcliquesets"): "only with ttlSecondsAfterFinished",
    },
    "backend-default": {
        **_OWNING,
        **_TELLING,
        **{Right(verb, "scheduling.k8s.io", "compositepodgroups"): _LATER for verb in _VERBS},
    },
    "backend-kai": {
        **_OWNING,
        Right("update", "grove.io", "clustertopologybindings/finalizers"): _BY_ADMISSION,
        Right("patch", "events.k8s.io", "events"): _EVENTS,
    },
    "backend-koordinator": {**_OWNING, **_TELLING},
    "backend-volcano": {**_OWNING, **_TELLING},
    "backend-yunikorn": _TELLING,
}
"""Rights that may stay unused, and why."""


@pytest.fixture(scope="module", params=sorted(CUSTOMS))
def backend(request: pytest.FixtureRequest) -> str:
    """The backend whose gangs live that life."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def bare(
    backend: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A cluster with the backend's scheduler and without the product."""
    if backend == "default":
        yield request.getfixturevalue("crds")
        return
    options = ClusterOptions(schedulers=(backend,), audit=True)
    with alone(backend), running_cluster(options, tmp_path_factory) as cluster:
        for name in CUSTOMS[backend].definitions:
            assets = ensure_built(build_of(extra_scheduler(backend).build)) / "assets"
            cluster.kubectl("apply", "--server-side", "-f", str(assets / name))
        cluster.install_crds(CRDS)
        yield cluster


@pytest.fixture(scope="module")
def before(bare: Cluster) -> Inventory:
    """What is there without the product."""
    return inventory(bare)


@pytest.fixture(scope="module")
def product(bare: Cluster, backend: str, before: Inventory) -> Iterator[Cluster]:
    install(bare, "all", backend)
    yield bare
    uninstall(bare, "all")


@pytest.fixture
async def person(product: Cluster) -> AsyncIterator[Onlooker]:
    with fresh_namespace(product) as place:
        async with (
            Client(from_kubeconfig(product.kubeconfig)) as client,
            Onlooker(client, place).watching() as onlooker,
        ):
            yield onlooker


async def test_every_right_is_used_and_none_is_missing(
    product: Cluster, person: Onlooker, backend: str
) -> None:
    life = Life(product, person, backend)
    await life.run_grow_and_shrink()
    await life.update_and_lose_pods()
    await life.share_devices()
    if backend == "kai":
        await life.place_by_topology()
        await life.forget_the_topology()
    if CUSTOMS[backend].written:
        await life.change_hands()
        await life.be_tampered_with()
    await life.switch_the_backend_off_and_on()
    await life.go_away()
    accounts, did = ("core-operator", f"backend-{backend}"), deeds(product, NAMESPACE)
    found = {
        account: {
            "refused": sorted(map(str, did[account].refused)),
            "unused": sorted(map(str, _unused(product, account, did[account].covers))),
        }
        for account in accounts
    }
    expected: dict[str, dict[str, list[str]]] = {
        account: {"refused": [], "unused": []} for account in accounts
    }
    assert found == expected, json.dumps(found, indent=1)


def _unused(cluster: Cluster, account: str, covers: Callable[[Right], bool]) -> set[Right]:
    rights = granted(cluster, NAMESPACE, account)
    assert rights >= UNUSED[account].keys(), "an exception for a right that nobody has"
    asked = {right for right in rights if right.group != _OF_POLICIES}
    wanted = {_streamed(right) for right in asked - UNUSED[account].keys()}
    return {right for right in wanted if not covers(right)}


def _streamed(right: Right) -> Right:
    """The right with which a collection is read here.

    This server streams what there is as the beginning of a watch. One that does not, or has it
    switched off, is asked for a list first, so a watch is never granted without it.
    """
    return replace(right, verb="watch") if right.verb == "list" else right


def test_budgets_and_restrictions_are_in_force(product: Cluster) -> None:
    def allow_one(found: list[Object]) -> bool:
        return all(
            item.get("status", {}).get("disruptionsAllowed") == 1
            for item in found
            if item.get("status", {}).get("expectedPods")
        )

    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    wait_until(product.kubeconfig, path, allow_one, seconds=PATIENCE)
    lax = ("run", "lax", "--image=registry.example.com/app:1", f"-n{NAMESPACE}", "--dry-run=server")
    done = product.kubectl(*lax, check=False)
    assert 'violates PodSecurity "restricted:latest"' in done.stderr


def test_workloads_first_and_then_the_product_leaves_nothing(
    product: Cluster, backend: str, before: Inventory
) -> None:
    with fresh_namespace(product) as place:
        here = f"-n{place}"
        manifest = pcs("w", clique("a", 2), annotations={names.LABEL_SCHEDULER_BACKEND: backend})
        manifest["metadata"]["labels"] = dict(CUSTOMS[backend].labels)
        product.kubectl("create", here, "-f", "-", input=json.dumps(manifest))
        product.kubectl("wait", here, "pcs/w", "--for=condition=Ready", "--timeout=60s")
        product.kubectl("delete", "podcliquesets", "--all", "--all-namespaces", "--timeout=60s")
        pods = f"/api/v1/namespaces/{place}/pods"
        wait_until(product.kubeconfig, pods, lambda found: not found, seconds=PATIENCE)
        uninstall(product, "all")
        left = {entry for entry in inventory(product) - before if entry[1] != place}
        assert left == {("Namespace", "", place)}
        of_place = {kind for kind, where, _ in inventory(product) if where == place}
        assert of_place <= {"ServiceAccount", "ConfigMap"}, "what every namespace has"
