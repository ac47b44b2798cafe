"""What Slurm writes and what is written to it: lists of hosts, tags, dialects, tokens."""

import base64
import hashlib
import hmac
import json

import pytest

from backend_controllers.contract.remote.executor import GangTag, pod_digest, unresolved
from backend_controllers.slurm.dialects import Component, RestVersion, Submission
from backend_controllers.slurm.hostlists import hosts_of
from backend_controllers.slurm.tags import JobTag, PodReport, reports_of, tag_of
from backend_controllers.slurm.tokens import signed

TAG = JobTag(
    "prod",
    "slurm",
    GangTag("team", "train-0", "u-1"),
    2,
    "NAO",
    (1, 2),
    ("a:1", "b:2", "c:3"),
    "...",
)
SHAPE = Component(2, 4, 1000, (("gpu:a100", 2),), "gpu", time_limit_minutes=5)
WANTED = Submission("root", "t", "c", (SHAPE,), "#!/bin/sh", (("PATH", "/bin"),), "/tmp")


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("", ()),
        ("n1", ("n1",)),
        ("n[1-2,7],login", ("n1", "n2", "n7", "login")),
        ("a[08-10]b[1-2]", ("a08b1", "a08b2", "a09b1", "a09b2", "a10b1", "a10b2")),
    ],
)
def test_list_of_hosts_is_expanded_in_its_order(text: str, hosts: tuple[str, ...]) -> None:
    assert hosts_of(text) == hosts


def test_comment_is_read_back_as_it_was_written() -> None:
    assert tag_of(TAG.text()) == TAG
    assert TAG.title == "team/train-0#2"


@pytest.mark.parametrize("comment", ["", "nightly run", "podgang1 a b c d e f g h", "podgang1"])
def test_foreign_comment_is_no_tag(comment: str) -> None:
    assert tag_of(comment) is None


def test_pod_that_is_dropped_is_never_started() -> None:
    assert TAG.dropped([1]).started([0, 1]).commands == "gd."
    assert TAG.started([0, 1]).dropped([1, 2]).commands == "gxd"
    assert TAG.started([0, 1]).dropped([1, 2]).live == {0}


def test_long_comment_has_digests_instead_of_names() -> None:
    pods = tuple(f"train-0-worker-{n}:{n:036d}" for n in range(100))
    long = JobTag("prod", "slurm", TAG.gang, 1, "N" * 100, (100,), pods, "." * 100).shortened()
    assert len(long.text()) <= 1024
    assert long.identity(7) == ("", unresolved(pod_digest(f"{7:036d}")))
    assert tag_of(long.text()) == long
    assert TAG.shortened() == TAG
    assert TAG.identity(1) == ("b", "2")


def test_name_reports_what_each_pod_does() -> None:
    found = reports_of("team/train-0#2 R0*2,E137.3,-", 5)
    assert found[:3] == (PodReport(), PodReport(), PodReport(137, 3))
    assert [one.has_begun for one in found] == [True, True, True, False, False]


@pytest.mark.parametrize("name", ["t R0*999999999", "t nonsense", "t E1", "t"])
def test_name_that_somebody_changed_raises_nothing(name: str) -> None:
    assert len(reports_of(name, 2)) == 2


def test_dialects_write_sizes_gpus_and_numbers_as_their_servers_want_them() -> None:
    old = RestVersion.V38.body(WANTED)["job"]
    assert isinstance(old, dict)
    assert (old["minimum_nodes"], old["gres"]) == (2, "gpu:a100:2")
    assert (old["memory_per_node"], old["environment"]) == (1000, {"PATH": "/bin"})
    assert "maximum_nodes" not in old
    new = RestVersion.V42.body(WANTED)["job"]
    assert isinstance(new, dict)
    assert (new["minimum_nodes"], new["maximum_nodes"]) == (2, 2)
    assert new["tres_per_node"] == "gres/gpu:a100:2"
    assert new["memory_per_node"] == {"set": True, "number": 1000}
    assert new["environment"] == ["PATH=/bin"]


def test_accounting_is_asked_with_times_and_users_as_each_server_reads_them() -> None:
    assert RestVersion.V42.ended_since(90000, ["a", "b"]) == "start_time=90000&users=a,b"
    assert RestVersion.V38.ended_since(90000 + 86400, ["a"]) == "start_time=1970-01-02"


def test_ended_job_is_read_from_the_accounting() -> None:
    shown = {
        "job_id": 8,
        "name": "team/train#1 E3.0",
        "comment": {"job": TAG.text()},
        "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"},
        "time": {"start": 5, "end": {"set": True, "number": 9}},
        "het": {"job_id": {"set": True, "number": 7}, "job_offset": {"set": True, "number": 1}},
        "exit_code": {"return_code": {"set": True, "number": 3}},
        "nodes": "n1",
    }
    job = RestVersion.V42.ended_job(shown)
    assert (job.id, job.het_id, job.het_offset, job.state) == (8, 7, 1, "FAILED")
    assert (job.started, job.ended, job.exit_status, job.reason) == (5, 9, 3, "NonZeroExitCode")
    assert (job.has_ended, tag_of(job.comment)) == (True, TAG)
    assert RestVersion.V38.ended_job({"state": {"current": "COMPLETED"}}).has_ended


@pytest.mark.parametrize(
    ("paths", "dialect"),
    [
        (["/slurm/v0.0.38/jobs"], RestVersion.V38),
        (["/slurm/v0.0.40/jobs", "/slurm/v0.0.42/jobs"], RestVersion.V42),
        (["/slurm/v0.0.39/jobs"], None),
    ],
)
def test_best_dialect_that_is_served_is_chosen(
    paths: list[str], dialect: RestVersion | None
) -> None:
    assert RestVersion.served(paths) is dialect


@pytest.mark.parametrize("shown", [768, {"return_code": {"set": True, "number": 3}, "signal": {}}])
def test_exit_code_is_read_in_both_dialects(shown: object) -> None:
    assert RestVersion.V42.job({"exit_code": shown}).exit_status == 3


def test_job_that_is_configured_or_completing_is_recognized() -> None:
    assert RestVersion.V42.job({"job_state": ["RUNNING", "CONFIGURING"]}).is_waiting
    assert RestVersion.V42.job({"job_state": ["CANCELLED", "COMPLETING"]}).has_ended
    assert RestVersion.V38.job({"job_state": "RUNNING"}).is_waiting is False


def test_generic_resources_are_counted_with_and_without_their_type() -> None:
    shown = {"gres": "gpu:a100:4(S:0-1),gpu:h100:2", "gres_used": "gpu:a100:1(IDX:0,2)"}
    node = RestVersion.V38.node(shown)
    assert node.gres == {"gpu": 6, "gpu:a100": 4, "gpu:h100": 2}
    assert node.used_gres == {"gpu": 1, "gpu:a100": 1}


def test_token_is_a_jwt_with_user_and_end() -> None:
    head, body, signature = signed(b"key", "ml", 100, 60).split(".")
    padded = base64.urlsafe_b64decode(body + "==")
    assert json.loads(padded) == {"iat": 100, "exp": 160, "sun": "ml"}
    digest = hmac.new(b"key", f"{head}.{body}".encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(signature + "==") == digest
