"""A caller that reaches the ports of core neither reads metrics without a right nor costs the Lease."""

import asyncio
import contextlib
import resource
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cluster.cluster import Cluster
from local_cluster.waiting import until
from tests.attacks.metrics_kit import (
    Pages,
    core_process,
    idle_sockets,
    review_rights,
    token_of,
)
from tests.deploy.kit import NAMESPACE, PATIENCE

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

IDLE = 5_000
SCRAPERS = 64
ROUNDS = 3
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
READER = "grove-metrics-reader"


async def eventually(wanted: int, ask: Callable[[], Awaitable[int]]) -> None:
    """Ask until the answer is the wanted one: nobody tells when RBAC is in force."""
    found = 0
    try:
        async with asyncio.timeout(PATIENCE):
            while (found := await ask()) != wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"status {found}, not {wanted}, after {PATIENCE:.0f} s") from None


async def until_served(pages: Pages) -> None:
    """Wait for the first answer: a process that starts tells nobody."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(OSError):
                if await pages.probe("/livez") == 200:
                    return
            await asyncio.sleep(0.1)


async def test_metrics_are_read_by_those_alone_whom_the_cluster_allows(
    product: Cluster, evil: str, tmp_path: Path
) -> None:
    product.kubectl("create", "serviceaccount", "scraper", f"-n{evil}")
    token = token_of(product, "scraper", evil)
    with core_process(product, tmp_path, "secured", secured=True) as pages:

        async def status(given: str = token) -> int:
            code, text = await pages.metrics(given)
            assert ("workqueue_depth" in text) == (code == 200)
            return code

        await until_served(pages)
        assert await pages.probe("/metrics") == 404
        assert await status() == 503, "core has no right to ask who this is"
        with review_rights(product):
            await eventually(403, status)
            assert await status("") == 401
            assert await status("guessed") == 401
            binding = ("clusterrolebinding", f"scraper-{evil}")
            account = f"--serviceaccount={evil}:scraper"
            product.kubectl("create", *binding, f"--clusterrole={READER}", account)
            await eventually(200, status)
            product.kubectl("delete", *binding)
            await eventually(403, status)
        await eventually(503, status)


@pytest.fixture
def many_files() -> Iterator[None]:
    """As many file descriptors as the idle sockets need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = IDLE + 1_000
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"a process may have {hard} file descriptors here, the test needs {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def vacant(product: Cluster) -> Iterator[Cluster]:
    """The product without a running core, so that a process of the test can lead."""
    deployment = ("deployment/core-operator", f"-n{NAMESPACE}")
    product.kubectl("scale", *deployment, "--replicas=0")
    yield product
    product.kubectl("scale", *deployment, "--replicas=2")
    product.kubectl("rollout", "status", *deployment, f"--timeout={PATIENCE:.0f}s")


async def lease(cluster: Cluster, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the spec of core's Lease once it is as wanted."""
    only = {"fieldSelector": "metadata.name=core-operator"}
    found = await until(
        cluster.kubeconfig,
        LEASES,
        lambda items: bool(items) and holds(items[0].get("spec", {})),
        seconds=PATIENCE,
        **only,
    )
    spec: dict[str, Any] = found[0]["spec"]
    return spec


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "secured"])
async def test_idle_sockets_and_scrapers_cost_neither_the_lease_nor_the_probes(
    vacant: Cluster, evil: str, tmp_path: Path, many_files: None, *, secured: bool
) -> None:
    vacant.kubectl("create", "serviceaccount", "scraper", f"-n{evil}")
    token = token_of(vacant, "scraper", evil)
    name = "attacked-secured" if secured else "attacked"
    with (
        review_rights(vacant),
        core_process(vacant, tmp_path, name, secured=secured) as pages,
    ):
        account = f"--serviceaccount={evil}:scraper"
        vacant.kubectl("create", "clusterrolebinding", evil, f"--clusterrole={READER}", account)
        before = await lease(
            vacant, lambda spec: str(spec.get("holderIdentity")).startswith(f"{name}_")
        )

        async def scraped() -> int:
            return (await pages.metrics(token))[0]

        await eventually(200, scraped)
        now = before
        for _ in range(ROUNDS):
            async with idle_sockets(IDLE, (pages.port, pages.metrics_port)):
                async with asyncio.TaskGroup() as group:
                    scrapes = [group.create_task(scraped()) for _ in range(SCRAPERS)]
                    probes = [
                        group.create_task(pages.probe(path)) for path in ("/livez", "/readyz")
                    ]
                assert [task.result() for task in scrapes] == [200] * SCRAPERS
                assert [task.result() for task in probes] == [200, 200]
                last = now["renewTime"]
                now = await lease(vacant, lambda spec, last=last: spec["renewTime"] > last)  # type: ignore[misc]
        kept = ("holderIdentity", "leaseTransitions", "acquireTime")
        assert {key: now[key] for key in kept} == {key: before[key] for key in kept}
        said = (tmp_path / "core.log").read_text()
        assert "lost the lease" not in said
        assert not token or token not in said
