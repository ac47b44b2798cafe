"""Verbs with the rights of a user of one namespace, and in a cluster without our kinds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from tests.core.kit import Object, clique, pcs
from tests.core.stage import Stage
from tests.gangctl.program import Program

pytestmark = [pytest.mark.cluster, pytest.mark.asyncio(loop_scope="module")]

ROLES = Path(__file__).parents[2] / "deploy/core/roles.yaml"
USER = "developer"


def changed_kubeconfig(stage: Stage, into: Path, **changed: Object) -> Path:
    """Write a kubeconfig like that of the stage, with other fields of its user or cluster."""
    found = yaml.safe_load(stage.cluster.kubeconfig.read_text())
    if "user" in changed:
        found["users"][0]["user"] = changed["user"]
    found["clusters"][0]["cluster"].update(changed.get("cluster", {}))
    into.write_text(yaml.safe_dump(found))
    return into


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def developer(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """The kubeconfig of somebody with the role edit in the namespace of the stage."""
    run, namespace = stage.cluster.kubectl, stage.person.namespace
    run("apply", "--server-side", "-f", str(ROLES))
    scope = f"--namespace={namespace}"
    run("create", "serviceaccount", USER, scope)
    account = f"--serviceaccount={namespace}:{USER}"
    run("create", "rolebinding", USER, "--clusterrole=edit", account, scope)
    token = run("create", "token", USER, scope).stdout.strip()
    file = tmp_path_factory.mktemp("developer") / "kubeconfig"
    yield changed_kubeconfig(stage, file, user={"token": token})


async def test_a_user_of_one_namespace_sees_its_gangs_and_what_is_unknown(
    stage: Stage, developer: Path
) -> None:
    await stage.person.create(pcs("own", clique("a", 2)))
    await stage.until_ready("own", 2)
    gang = Program(developer, stage.person.namespace)

    async def may() -> bool:
        # The controller manager copies our rules into the role.
        return (await gang.run("status")).code == 0

    await stage.until_true(may)
    for verb in (["why", "own"], ["tree", "own"], ["rollout", "status", "own"]):
        done = await gang.run(*verb)
        assert (done.code, done.err) == (0, ""), verb
    fits = await gang.run("fit", "-f", "-", given=yaml.safe_dump(pcs("new", clique("a", 1))))
    assert (fits.code, fits.err) == (1, "")
    assert "✓ admission: accepted by the API server" in fits.out
    assert "· backend: unknown, because you may not list SchedulerBackends" in fits.out
    assert "Free: unknown" in fits.out
    doctor = await gang.run("doctor")
    assert (doctor.code, doctor.err) == (1, "")
    assert "·   backends      you may not list SchedulerBackends" in doctor.out
    assert "is not installed" not in doctor.out
    await stage.remove("own")


async def test_what_needs_rights_in_the_whole_cluster_names_them(
    stage: Stage, developer: Path
) -> None:
    gang = Program(developer, stage.person.namespace)
    backends = await gang.run("backends")
    assert backends.code == 3
    assert 'cannot list resource "schedulerbackends"' in backends.err
    assert "by a ClusterRoleBinding" in backends.err
    topology = await gang.run("topology")
    assert topology.code == 3
    assert 'cannot list resource "nodes"' in topology.err
    assert "podcliquesets" not in topology.err
    everywhere = await gang.run("status", "-A")
    assert everywhere.code == 3
    assert 'cannot list resource "podcliquesets"' in everywhere.err


async def test_in_a_cluster_without_our_kinds_the_command_that_installs_them_is_named(
    stage: Stage, tmp_path: Path
) -> None:
    found = yaml.safe_load(stage.cluster.kubeconfig.read_text())
    server = found["clusters"][0]["cluster"]["server"]
    # Below this path the API server serves nothing, as it serves no group that nobody has installed.
    file = changed_kubeconfig(
        stage, tmp_path / "kubeconfig", cluster={"server": f"{server}/nothing"}
    )
    gang = Program(file, stage.person.namespace)
    for verb in (["status"], ["why", "w"], ["rollout", "status", "w"]):
        done = await gang.run(*verb)
        assert done.code == 3
        assert "does not serve podcliquesets.grove.io" in done.err
        assert "kubectl apply --server-side -k deploy/core" in done.err


async def test_what_may_not_be_listed_is_not_counted_as_nothing(
    stage: Stage, developer: Path, tmp_path: Path
) -> None:
    await stage.person.create(pcs("seen", clique("a", 2)))
    await stage.until_ready("seen", 2)
    run, namespace = stage.cluster.kubectl, stage.person.namespace
    scope = f"--namespace={namespace}"
    kinds = "podcliquesets.grove.io,podgangs.scheduler.grove.io,podcliques.grove.io"
    run("create", "role", "no-pods", "--verb=get,list,watch", f"--resource={kinds}", scope)
    run("create", "serviceaccount", "no-pods", scope)
    run(
        *("create", "rolebinding", "no-pods", "--role=no-pods"),
        *(f"--serviceaccount={namespace}:no-pods", scope),
    )
    token = run("create", "token", "no-pods", scope).stdout.strip()
    file = changed_kubeconfig(stage, tmp_path / "kubeconfig", user={"token": token})
    gang = Program(file, namespace)
    for verb in (["why", "seen"], ["tree", "seen"]):
        done = await gang.run(*verb)
        assert done.err.startswith("warning: what follows is without pods: 403"), verb
    status = await gang.run("status")
    assert status.out.splitlines()[1].split()[:4] == ["seen", "1/1", "unknown", "unknown"]
    assert "pods: 403 Forbidden" in status.out
    logs = await gang.run("logs", "seen")
    assert logs.code == 3
    await stage.remove("seen")
