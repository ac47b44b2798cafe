"""The examples on the page of the command line: a line, what it prints, and its exit code.

The outputs come from the reports for `tests/gangctl/scene.py`: eight nodes with eight GPUs in two
racks, `inference` with three pods of eight GPUs, and `training` with twelve pods of four.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace as replace_struct

from gangctl.bundling import BundleReport
from gangctl.commands.dashboard import Announcement, announcement_view
from gangctl.commands.diagnosis import bundle_view
from gangctl.rendering import plain
from gangctl.reports.backends import backends_report, backends_view
from gangctl.reports.doctor import doctor_report, doctor_view
from gangctl.reports.fit import Admission, fit_report, fit_view
from gangctl.reports.rollout import (
    ChangeReport,
    ListedRevision,
    change_view,
    rollout_report,
    rollout_view,
)
from gangctl.reports.scaling import scale_plan, scale_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.topology import topology_report, topology_view
from gangctl.reports.tree import tree_report, tree_view
from gangctl.reports.view import Line, View
from gangctl.reports.why import why_report, why_view
from shared_api.capacity.nodes import NodeStatus
from shared_api.kube.codec import LooseObject
from tests.gangctl import test_doctor, test_fit
from tests.gangctl.scene import NOW, made, metadata, snapshot

SAMPLE = "docs/samples/training.yaml"
_ROOT = Path(__file__).parents[2]
_FOLLOW = "kubectl gang rollout status inference -n default -w"


@dataclass(frozen=True)
class Example:
    """One example of the page."""

    line: str
    view: Callable[[], View]
    code: int = 0

    def printed(self) -> str:
        """Return what the page shows below the line."""
        return plain(self.view())


def _why() -> View:
    report = why_report(snapshot(), "default", "training")
    assert report is not None
    return why_view(report)


def _tree() -> View:
    report = tree_report(snapshot(), "default", "inference")
    assert report is not None
    return tree_view(report)


def _topology() -> View:
    found = replace(snapshot(), bindings=[test_fit.BINDING])
    return topology_view(topology_report(found, "rack"))


def _fit() -> View:
    manifest: dict[str, Any] = yaml.safe_load((_ROOT / SAMPLE).read_text())
    manifest["metadata"]["namespace"] = "default"
    found = snapshot()
    sets = [item for item in found.sets if item.metadata.name != "training"]
    pods = [p for p in found.pods if p.metadata.labels["app.kubernetes.io/part-of"] != "training"]
    with_cpu = [
        replace_struct(one, status=NodeStatus({**one.status.allocatable, "cpu": "32"}))
        for one in found.nodes
    ]
    cluster = test_fit.cluster(sets=sets, pods=pods, nodes=with_cpu)
    return fit_view(fit_report(cluster, [Admission(manifest)], "default"))


def _updated(image: str) -> Any:
    clique = {"name": "worker", "spec": {"podSpec": {"containers": [{"image": image}]}}}
    return made(
        LooseObject,
        metadata=metadata("inference", generation=2),
        spec={"replicas": 1, "template": {"cliques": [clique]}},
        status={
            "observedGeneration": 2,
            "updatedReplicas": 1,
            "currentGenerationHash": "2",
        },
    )


def _revision(number: int, created: str) -> ListedRevision:
    image = f"registry.example.com/inference:1.{number}"
    hashes = {"grove.io/pod-template-hashes": json.dumps({"": str(number)})}
    found: ListedRevision = made(
        ListedRevision,
        metadata={
            "name": f"inference-{number}",
            "annotations": hashes,
            "creationTimestamp": created,
        },
        revision=number,
        data={"cliques": {"worker": {"podSpec": {"containers": [{"image": image}]}}}},
    )
    return found


def _rollout() -> View:
    revisions = [_revision(1, "2026-01-01T09:00:00Z"), _revision(2, "2026-01-01T11:30:00Z")]
    return rollout_view(rollout_report(_updated("inference:1.2"), revisions, NOW))


def _changed(action: str, revision: int | None, message: str) -> View:
    report = ChangeReport("default", "inference", action, revision, ("worker",), message, _FOLLOW)
    return change_view(report)


def _scale() -> View:
    item = next(item for item in snapshot().sets if item.metadata.name == "inference")
    return scale_view(scale_plan(snapshot(), item, 2))


def _logs() -> View:
    pods = [f"inference-0-worker-{index}" for index in range(3)]
    return [Line(f"[{pod}/main] ready to serve") for pod in pods]


def _bundle() -> View:
    counts = {"PodCliqueSet": 2, "PodClique": 2, "PodGang": 2, "Pod": 17, "Node": 8, "Event": 41}
    logs = ("core-operator", "backend-kai")
    return bundle_view(BundleReport("report.tar.gz", 28_410, counts, logs, {}))


def _dashboard() -> View:
    return announcement_view(Announcement("http://127.0.0.1:41873/kT3v…Zq8/"))


EXAMPLES = (
    Example("status", lambda: status_view(status_report(snapshot()), all_namespaces=False), 1),
    Example("why training", _why, 1),
    Example("tree inference", _tree),
    Example("topology rack", _topology),
    Example(f"fit -f {SAMPLE}", _fit, 1),
    Example("backends", lambda: backends_view(backends_report(snapshot()))),
    Example("scale inference --replicas 2", _scale),
    Example("logs inference --tail 1", _logs),
    Example(
        "doctor",
        lambda: doctor_view(doctor_report(test_doctor.healthy(), test_doctor.FACTS)),
    ),
    Example("bundle --file report.tar.gz", _bundle),
    Example("dashboard --no-browser", _dashboard),
    Example("rollout status inference", _rollout),
    Example("rollout restart inference", lambda: _changed("restart", None, "restarted worker")),
    Example(
        "rollout undo inference",
        lambda: _changed("undo", 1, "brought back revision 1 of worker"),
    ),
)
"""In the order of the page."""
