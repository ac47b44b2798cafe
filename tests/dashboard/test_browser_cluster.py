"""The proof on a real control plane: the page follows the cluster, with the rights of its user."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from backend_controllers.default import BACKEND
from local_cluster.cluster import Cluster
from tests.backends.kit import running_backend
from tests.core.kit import Onlooker, clique, pcs, running_operator
from tests.core.pod_capacity import PodCapacity, sized_clique
from tests.dashboard.conftest import OpenPage

pytestmark = [pytest.mark.cluster, pytest.mark.browser]


@contextlib.asynccontextmanager
async def dashboard(kubeconfig: Path, *more: str) -> AsyncIterator[str]:
    """The command, until the block ends; yields the address that it prints."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gangctl", "dashboard", "--no-browser"),
        *("--kubeconfig", str(kubeconfig), *more),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("Dashboard: http://127.0.0.1:"), line
        yield line.split()[1]
    finally:
        process.terminate()
        await process.wait()


async def test_a_gang_goes_from_waiting_to_running_without_a_reload(
    core_cluster: Cluster, person: Onlooker, capacity: PodCapacity, open_page: OpenPage
) -> None:
    await capacity.provide(1)
    async with (
        running_operator(core_cluster),
        running_backend(core_cluster, BACKEND),
        dashboard(core_cluster.kubeconfig, "--namespace", person.namespace) as url,
    ):
        page = await open_page(url)
        await page.get_by_text("No PodCliqueSets").wait_for()
        await page.evaluate("globalThis.isSamePage = true")
        await person.create(pcs("w", sized_clique("a", 2, 2)))
        await page.locator(".tile.waiting .number", has_text="1").wait_for()
        await page.get_by_role("link", name=f"{person.namespace}/w").click()
        stage = page.locator(".timeline li.waiting, .timeline li.refused")
        await stage.filter(has_text="scheduled").wait_for()
        await capacity.provide(2)
        await page.locator(".timeline li.passed", has_text="ready").wait_for()
        await page.get_by_text("Running", exact=True).first.wait_for()
        await page.get_by_role("link", name="Capacity").click()
        await page.get_by_text("rack-0", exact=True).wait_for()
        assert await page.evaluate("globalThis.isSamePage")


def kubeconfig_of_a_tenant(cluster: Cluster, namespace: str, folder: Path) -> Path:
    """The kubeconfig of an account that may read our kinds and pods in its namespace only."""

    def do(*words: str) -> str:
        return cluster.kubectl("--namespace", namespace, *words).stdout

    kinds = "podcliquesets.grove.io,podcliques.grove.io,podgangs.scheduler.grove.io,pods"
    do("create", "serviceaccount", "tenant")
    do("create", "role", "reader", "--verb=get,list,watch", f"--resource={kinds}")
    do("create", "rolebinding", "r", "--role=reader", f"--serviceaccount={namespace}:tenant")
    config = yaml.safe_load(Path(cluster.kubeconfig).read_text())
    config["users"][0]["user"] = {"token": do("create", "token", "tenant").strip()}
    config["contexts"][0]["context"]["namespace"] = namespace
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


async def test_a_tenant_sees_the_own_namespace_and_what_is_missing_is_named(
    core_cluster: Cluster, person: Onlooker, open_page: OpenPage, tmp_path: Path
) -> None:
    tenant = await asyncio.to_thread(
        kubeconfig_of_a_tenant, core_cluster, person.namespace, tmp_path
    )
    await person.create(pcs("w", clique("a")))
    async with dashboard(tenant) as url:
        page = await open_page(url)
        await page.get_by_role("link", name=f"{person.namespace}/w").wait_for()
        await page.get_by_text(f"namespace {person.namespace}").wait_for()
        await page.get_by_role("link", name="Capacity").click()
        await page.get_by_text("Nodes are not shown:").filter(has_text="forbidden").wait_for()
        await page.get_by_role("link", name="Backends").click()
        await page.get_by_text("Backends are not shown:").filter(has_text="forbidden").wait_for()
