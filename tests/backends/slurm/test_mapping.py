"""An order as a job, jobs as units, and a pod as a step of the script."""

from dataclasses import replace
from typing import Any

import pytest

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.executor import ExecutorError, Outcome
from backend_controllers.slurm.dialects import JobRecord, NodeRecord, ReservationRecord
from backend_controllers.slurm.mapping import holding, planned, shortage
from backend_controllers.slurm.options import Runner, SlurmOptions, SlurmQueue
from backend_controllers.slurm.runners import refusals
from backend_controllers.slurm.script import Setting, script_of
from backend_controllers.slurm.units import jobs_of, units_of
from shared_api.models import RemoteMemberState
from tests.backends.remote.far_side import order
from tests.backends.slurm.pods import slurm_pod

OPTIONS = SlurmOptions(
    queues=(
        SlurmQueue(name="all", partition="all", time_limit_minutes=60),
        SlurmQueue(name="gpu", partition="gpu", qos="normal"),
        SlurmQueue(name="cpu", partition="cpu"),
        SlurmQueue(name="other", namespaces=("other",)),
    ),
    topology={"rack": ("rack-a", "rack-b")},
    qos_by_priority_class={"urgent": "high"},
    spool_directory="/spool",
)
CONTAINER = {"name": "main", "image": "host", "command": ["true"]}


def node(name: str, rack: str, *partitions: str, **fields: Any) -> NodeRecord:
    shape: dict[str, Any] = {"cpus": 8, "memory": 2**34, "gres": {"gpu": 4}, **fields}
    return NodeRecord(
        name, "IDLE", "10.0.0.1", frozenset({rack}), frozenset({"all", *partitions}), **shape
    )


NODES = (
    node("n1", "rack-a", "gpu"),
    node("n2", "rack-b", "gpu"),
    node("n3", "rack-b", "gpu"),
    node("n4", "rack-b", "cpu", gres={}),
)


def plan(*pods: Any, used: frozenset[str] = frozenset(), **fields: Any) -> Any:
    return planned(order(*pods, **fields), OPTIONS, NODES, used)


def test_pods_that_are_alike_are_one_component() -> None:
    (one,) = plan(slurm_pod("a", cpu="1500m", gpus=2), slurm_pod("b", cpu="2", gpus=2)).components
    assert (one.pods, one.cpus, one.gres, one.time_limit_minutes) == (2, 2, (("gpu", 2),), 60)


def test_longest_runtime_and_priority_class_become_limits_of_the_job() -> None:
    pod = slurm_pod("a", queue="gpu", priorityClassName="urgent")
    (one,) = plan(pod, max_runtime_seconds=3600, grant_seconds=300).components
    # Never before core, which counts from the start.
    assert (one.time_limit_minutes, one.qos) == (66, "high")
    (other,) = plan(slurm_pod("a"), max_runtime_seconds=60).components
    assert other.time_limit_minutes == 7


def test_reservation_of_another_gang_is_used_by_its_name() -> None:
    (one,) = plan(slurm_pod("a"), reservation="train-0").components
    assert one.reservation == "podgang-team-train-0"


def test_unlike_pods_with_nodes_of_their_own_are_components_of_one_job() -> None:
    found = plan(
        slurm_pod("w0", queue="gpu"), slurm_pod("l", queue="cpu"), slurm_pod("w1", queue="gpu")
    )
    assert [one.pods for one in found.components] == [2, 1]
    assert [pod.metadata.name for pod in found.pods] == ["w0", "w1", "l"]


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ((slurm_pod("a", cpu="2"), slurm_pod("b")), r"may both run on n1, n2, n3 and others"),
        ((slurm_pod("a", queue="other"),), r"namespace team may not use queue 'other'"),
        ((slurm_pod("a", nodeSelector={"zone": "x"}),), r"nodeSelector zone=x is not known"),
        (tuple(slurm_pod(f"p{n}") for n in range(101)), r"101 pods start together"),
    ],
)
def test_what_cannot_be_one_job_is_refused_with_the_reason(pods: Any, message: str) -> None:
    with pytest.raises(ExecutorError, match=message) as caught:
        plan(*pods)
    assert caught.value.outcome is Outcome.INVALID


def test_required_level_becomes_a_choice_of_features() -> None:
    (one,) = plan(slurm_pod("a"), slurm_pod("b"), pack=PackLevels("rack", "")).components
    assert one.constraint == "[rack-a|rack-b]"


def test_components_and_later_pods_get_the_same_feature() -> None:
    level = PackLevels("rack", "")
    found = plan(slurm_pod("w", queue="gpu"), slurm_pod("l", queue="cpu"), pack=level)
    assert [one.constraint for one in found.components] == ["rack-b", "rack-b"]
    (later,) = plan(slurm_pod("x"), pack=level, used=frozenset({"n1"})).components
    assert later.constraint == "rack-a"


def test_unknown_level_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ExecutorError, match=r"level block is not known to Slurm \(known: rack\)"):
        plan(slurm_pod("a"), pack=PackLevels("block", ""))


def test_shortage_counts_nodes_and_names_those_that_take_no_jobs() -> None:
    (one,) = plan(*(slurm_pod(f"p{n}", queue="gpu", gpus=4) for n in range(3))).components
    busy = replace(NODES[0], used_gres={"gpu": 1})
    drained = replace(NODES[1], state="IDLE+DRAIN", reason="fan")
    text = shortage((one,), (busy, drained, *NODES[2:]), "Resources")
    assert (
        "needs 3 nodes with 1 cpu, 100Mi memory, 4 gpu in partition gpu (1 free, 3 exist)" in text
    )
    assert "1 of 4 nodes take no jobs (n2 IDLE+DRAIN: fan)" in text
    assert "Slurm's reason: Resources" in text


def test_reservations_are_named_that_have_nodes_which_the_gang_needs() -> None:
    (one,) = plan(slurm_pod("a", queue="gpu")).components
    service = ReservationRecord("service", "n[1-2,4]", 0, 3600, frozenset({"MAINT"}))
    other = ReservationRecord("course", "n4", 0, 3600)
    own = ReservationRecord("mine", "n1", 0, 60)
    found = holding((replace(one, reservation="mine"),), (service, other, own), NODES)
    times = "from 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z"
    assert found == f"maintenance service has 2 nodes {times}"
    assert f"Reservation {found}." in shortage((one,), NODES, "", found)


def test_words_of_a_pod_are_quoted_and_addresses_are_inserted_by_the_script() -> None:
    pod = slurm_pod(
        "a",
        "echo 'x'; rm -rf \"$HOME\" `id`",
        env=[{"name": "P", "value": "$(GROVE_PODGANG_ADDRESSES)!"}],
    )
    found = plan(pod, slurm_pod("b"))
    setting = Setting("team/train#1", 300, {"a": 0, "b": 1, "old": 2}, {"old": "n9"})
    text = script_of(found, OPTIONS, setting)
    assert """sh -c 'echo '"'"'x'"'"'; rm -rf "$HOME" `id`'""" in text
    assert """export P="$GROVE_PODGANG_ADDRESSES"'!'""" in text
    assert """export GROVE_PODGANG_ADDRESSES="$(node 0)","$(node 1)",n9""" in text
    assert '--output=/spool/"$SLURM_JOB_ID".1.log' in text


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"image": "busybox"}, "'busybox' is not used by the runner none"),
        ({"command": []}, "needs a command"),
        ({"securityContext": {"runAsUser": 0}}, "securityContext.runAsUser: the user of the Slurm"),
        ({"env": [{"name": "a.b"}]}, "'a.b' is not a valid name for a shell"),
        ({"env": [{"name": "a\n"}]}, "' is not a valid name for a shell"),
        ({"env": [{"name": "SLURM_JOB_ID"}]}, "env[0].name: 'SLURM_JOB_ID' configures Slurm's own"),
    ],
)
def test_what_the_runner_cannot_honour_is_refused(container: dict[str, Any], message: str) -> None:
    assert list(refusals(OPTIONS, {"containers": [CONTAINER]})) == []
    (found,) = refusals(OPTIONS, {"containers": [{**CONTAINER, **container}]})
    assert message in found


def test_image_needs_an_allowed_prefix_or_a_bundle() -> None:
    image = {"containers": [{**CONTAINER, "image": "registry/a"}]}
    apptainer = OPTIONS.model_copy(update={"runner": Runner.APPTAINER})
    assert "is not allowed" in next(refusals(apptainer, image))
    allowed = apptainer.model_copy(update={"image_prefixes": ("registry/",)})
    assert list(refusals(allowed, image)) == []
    oci = OPTIONS.model_copy(update={"runner": Runner.OCI})
    assert "there is no bundle" in next(refusals(oci, image))


@pytest.mark.parametrize("runner", list(Runner))
def test_command_is_never_an_option_of_srun_or_of_the_runner(runner: Runner) -> None:
    options = OPTIONS.model_copy(update={"runner": runner, "runner_arguments": ("--nv",)})
    pod = slurm_pod("a", command_words=["--container-mounts=/:/host", "sh"])
    text = script_of(plan(pod), options, Setting("team/train#1", 300, {"a": 0}, {}))
    (step,) = (line for line in text.splitlines() if "--nodelist=" in line)
    assert step.split(" -- ", 1)[1].endswith("--container-mounts=/:/host sh")


def test_variables_of_the_runner_are_refused_where_there_is_a_container() -> None:
    env = [{"name": "APPTAINER_BIND", "value": "/"}, {"name": "LD_PRELOAD", "value": "/x.so"}]
    pod = {"containers": [{**CONTAINER, "image": "registry/a", "env": env}]}
    options = OPTIONS.model_copy(
        update={"runner": Runner.APPTAINER, "image_prefixes": ("registry/",)}
    )
    first, second = refusals(options, pod)
    assert "'APPTAINER_BIND' configures the runner apptainer outside of the container" in first
    assert "'LD_PRELOAD'" in second
    assert list(refusals(OPTIONS, {"containers": [{**CONTAINER, "env": env}]})) == []


def _job(state: str, commands: str, report: str = "", **fields: Any) -> Any:
    comment = f"podgang1 prod slurm team/train#1 u NA 2 a:1,b:2 {commands}"
    record = JobRecord(7, state, f"team/train#1 {report}".strip(), comment, "n[1-2]", **fields)
    return jobs_of([record], "prod", "slurm")[7]


@pytest.mark.parametrize(
    ("job", "states"),
    [
        (_job("PENDING", ".."), {}),
        (_job("RUNNING", ".."), {"a": ("Reserved", None), "b": ("Reserved", None)}),
        (_job("RUNNING", "gg"), {"a": ("Running", None), "b": ("Running", None)}),
        (_job("RUNNING", "gg", "E3.0,R1"), {"a": ("Exited", 3), "b": ("Running", None)}),
        (_job("RUNNING", "gx", "R0*2"), {"a": ("Running", None), "b": ("Running", None)}),
        (_job("RUNNING", "gx", "R0,E143.0"), {"a": ("Running", None)}),
        (_job("CANCELLED", ".."), {}),
        (_job("FAILED", "gg", exit_status=75), {}),
        (_job("NODE_FAIL", "gg", "R0*2"), {"a": ("Exited", 255)}),
        (_job("TIMEOUT", "gg", "E0.0,R0", signal=15), {"a": ("Exited", 0)}),
        (_job("PENDING", "gg", "R0*2", restarts=1), {"a": ("Exited", 255)}),
    ],
)
def test_job_is_one_unit_for_each_pod_that_it_still_has(job: Any, states: dict[str, Any]) -> None:
    found = units_of(job, {})
    assert {unit.pod: (unit.state.value, unit.exit_code) for unit in found} == states


def test_job_with_another_size_than_it_was_given_has_no_units() -> None:
    job = _job("RUNNING", "..")
    small = replace(job, parts=(replace(job.parts[0], nodes="n1"),))
    assert (small.hosts, units_of(small, {})) == ((), ())


def test_address_of_a_pod_is_an_address_and_never_a_name() -> None:
    named = {"n1": node("n1", "r"), "n2": replace(node("n2", "r"), address="n2.example")}
    assert [unit.address for unit in units_of(_job("RUNNING", "gg"), named)] == ["10.0.0.1", ""]
    assert RemoteMemberState.RUNNING.value == "Running"
