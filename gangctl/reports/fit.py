"""`fit`: what would happen to a PodCliqueSet if it were applied now.

It owns the report: what the API server answers, which backend would get the gangs, what is missing,
and which gangs fit where. Gangs are packed one after the other, as they would be created. Pods of
the same set that exist already count as free. An estimate never replaces the scheduler's decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from gangctl.reports.capacity import Capacity, capacity_of
from gangctl.reports.packing import Packing, level_of, pack, unit_of
from gangctl.reports.shortage import ResourceShortage, demands_of, shortage, shortage_sentences
from gangctl.reports.view import Line, Verdict, View
from gangctl.snapshot import BACKENDS, BINDINGS, Snapshot
from shared_api import names
from shared_api.kube.codec import LooseObject

if TYPE_CHECKING:
    from gangctl.reports.prediction import Prediction

_NODES = 6
_TOPOLOGY_UNKNOWN = "unknown, because you may not list ClusterTopologyBindings"


@dataclass(frozen=True)
class Admission:
    """The answer of the API server to a dry run."""

    manifest: Mapping[str, Any]
    """The set with its defaults; as it is in the file if the server was not asked."""
    refusal: str = ""
    unknown: str = ""
    """Why the server could not be asked."""


class FitGang(msgspec.Struct, frozen=True, rename="camel"):
    """One gang of the set."""

    name: str
    pods: int
    fits: bool | None
    """None if nodes or pods could not be read."""
    fits_empty_cluster: bool | None
    """Whether it would fit if no pod ran in the cluster."""
    where: str
    nodes: Mapping[str, int]
    """Pods by node."""
    shortage: ResourceShortage | None


class FitSet(msgspec.Struct, frozen=True, rename="camel"):
    """One PodCliqueSet of the file."""

    namespace: str
    name: str
    verdict: Verdict
    admission: str
    """Accepted, Refused or Unknown."""
    admission_message: str
    backend: str = ""
    backend_usable: bool | None = False
    """None if the SchedulerBackends could not be read."""
    backend_message: str = ""
    topology_message: str = ""
    gangs: tuple[FitGang, ...] = ()


class FitReport(msgspec.Struct, frozen=True, rename="camel"):
    """All sets of a file, in its order."""

    verdict: Verdict
    sets: tuple[FitSet, ...]


def fit_report(snapshot: Snapshot, admissions: Sequence[Admission], default: str) -> FitReport:
    """Return what would happen to each set; later ones get what earlier ones leave."""
    known = snapshot.capacity_is_known
    found, capacity = [], capacity_of(snapshot) if known else None
    for admission in admissions:
        one, capacity = _fit(snapshot, admission, default, capacity)
        found.append(one)
    return FitReport(max((one.verdict for one in found), default=Verdict.FINE), tuple(found))


def _fit(
    snapshot: Snapshot, admission: Admission, default: str, capacity: Capacity | None
) -> tuple[FitSet, Capacity | None]:
    metadata = admission.manifest.get("metadata") or {}
    namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    # Imported here: core's models take longer to import than other verbs take to answer.
    from gangctl.reports.prediction import parsed_set, predict

    pcs = parsed_set(admission.manifest)
    refusal = admission.refusal or (pcs if isinstance(pcs, str) else "")
    if isinstance(pcs, str) or refusal:
        refused = FitSet(namespace, name, Verdict.MANUAL_ACTION, "Refused", refusal)
        return refused, capacity
    prediction = predict(pcs, snapshot.backends, snapshot.bindings, default)
    own = capacity
    if capacity is not None:
        own = _without_own(snapshot, capacity, namespace, name)
    gangs, left = _gangs(snapshot, prediction, own)
    unknown = _why_unknown(snapshot, metadata.get("annotations") or {})
    choice = prediction.choice
    report = FitSet(
        namespace,
        name,
        _verdict(snapshot, prediction, gangs, is_known=not unknown),
        "Unknown" if admission.unknown else "Accepted",
        prediction.refusal or admission.unknown,
        "" if unknown else choice.backend or "",
        None if unknown else choice.ok,
        f"backend: unknown, {unknown}" if unknown else choice.message,
        topology_message=_topology(snapshot, prediction),
        gangs=gangs,
    )
    return report, left


def _why_unknown(snapshot: Snapshot, annotations: Mapping[str, str]) -> str:
    """Return why the backend cannot be predicted; empty if it can."""
    policy = annotations.get(names.ANNOTATION_PLACEMENT_POLICY)
    if policy and not annotations.get(names.ANNOTATION_SCHEDULER_BACKEND):
        return f"because PlacementPolicy {policy} chooses it for each gang that is created"
    if snapshot.may_not_list(BACKENDS):
        return "because you may not list SchedulerBackends"
    return ""


def _topology(snapshot: Snapshot, prediction: "Prediction") -> str:
    """Return what is wrong with the constraints; empty if nothing is."""
    found = prediction.topology
    if found.is_constrained and snapshot.may_not_list(BINDINGS):
        return _TOPOLOGY_UNKNOWN
    return found.message if found.unavailable is not False else ""


def _verdict(
    snapshot: Snapshot, prediction: "Prediction", gangs: Sequence[FitGang], *, is_known: bool
) -> Verdict:
    choice, topology = prediction.choice, prediction.topology
    no_bindings = snapshot.may_not_list(BINDINGS)
    waits = not is_known or choice.reason == names.REASON_BACKEND_UNAVAILABLE
    if prediction.refusal or (topology.blocks_gangs and not no_bindings):
        return Verdict.MANUAL_ACTION
    if not (choice.ok or waits):
        return Verdict.MANUAL_ACTION
    waits = waits or (no_bindings and topology.is_constrained)
    # A policy may place a gang outside of this cluster.
    if is_known and any(gang.fits_empty_cluster is False for gang in gangs):
        return Verdict.MANUAL_ACTION
    return Verdict.WAITING if waits or any(not gang.fits for gang in gangs) else Verdict.FINE


def _without_own(snapshot: Snapshot, capacity: Capacity, namespace: str, name: str) -> Capacity:
    """Return the capacity as if the pods of this set did not run."""
    own = {pod.metadata.uid for pod in snapshot.pods_of_set.get((namespace, name), ())}
    if not own:
        return capacity
    others = [pod for pod in snapshot.pods if pod.metadata.uid not in own]
    return capacity_of(replace(snapshot, pods=others))


def _gangs(
    snapshot: Snapshot, prediction: "Prediction", capacity: Capacity | None
) -> tuple[tuple[FitGang, ...], Capacity | None]:
    cliques = [
        LooseObject(
            msgspec.structs.replace(prediction.gangs[0].metadata, name=clique),
            {"podSpec": pod_spec},
        )
        for clique, pod_spec in prediction.pod_specs.items()
        if prediction.gangs
    ]
    planned = replace(snapshot, cliques=cliques, pods=())
    empty = capacity_of(planned) if capacity is not None else None
    found = []
    for gang in prediction.gangs:
        one, packing = _gang(planned, gang, capacity, empty)
        found.append(one)
        if capacity is not None and packing is not None and packing.is_complete:
            capacity = replace(capacity, free={**capacity.free, **packing.free})
    return tuple(found), capacity


def _gang(
    planned: Snapshot, gang: LooseObject, capacity: Capacity | None, empty: Capacity | None
) -> tuple[FitGang, Packing | None]:
    demands = demands_of(planned, gang)
    unit, level = unit_of(gang, demands), level_of(gang.spec) or ""
    pods, name = sum(demand.count for demand in demands), gang.metadata.name
    if capacity is None or empty is None:
        unknown = shortage(unit, demands, None, level)
        return FitGang(name, pods, None, None, "", {}, unknown), None
    packing = pack(unit, capacity)
    fits = packing.is_complete
    return (
        FitGang(
            name,
            pods,
            fits,
            fits or pack(unit, empty).is_complete,
            f"{level}={packing.domain}" if level and packing.domain else "",
            dict(packing.nodes) if fits else {},
            None if fits else shortage(unit, demands, capacity, level),
        ),
        packing,
    )


def fit_view(report: FitReport) -> View:
    """Return a paragraph per set."""
    return [line for one in report.sets for line in _set_lines(one)]


def _set_lines(one: FitSet) -> list[Line]:
    lines = [Line(f"{one.namespace}/{one.name}", one.verdict)]
    match one.admission:
        case "Refused":
            return [*lines, Line(f"  ✗ admission: {one.admission_message}", Verdict.MANUAL_ACTION)]
        case "Unknown":
            lines.append(Line(f"  · admission: unknown, {one.admission_message}"))
        case _ if one.admission_message:
            lines.append(Line(f"  ✗ {one.admission_message}", Verdict.MANUAL_ACTION))
        case _:
            lines.append(Line("  ✓ admission: accepted by the API server"))
    mark = "·" if one.backend_usable is None else "✓" if one.backend_usable else "✗"
    lines.append(Line(f"  {mark} {one.backend_message}"))
    if one.topology_message:
        mark = "·" if one.topology_message == _TOPOLOGY_UNKNOWN else "✗"
        lines.append(Line(f"  {mark} topology: {one.topology_message}"))
    for gang in one.gangs:
        lines += _gang_lines(gang)
    return lines


def _gang_lines(gang: FitGang) -> list[Line]:
    if gang.fits:
        listed = [f"{name} ({count})" for name, count in sorted(gang.nodes.items())]
        more = f" and {len(listed) - _NODES} more" if len(listed) > _NODES else ""
        where = f" in {gang.where}" if gang.where else ""
        text = f"{gang.name}: {gang.pods} pods fit{where}: {', '.join(listed[:_NODES])}{more}"
        return [Line(f"  ✓ {text}", Verdict.FINE)]
    verdict = Verdict.WAITING if gang.fits_empty_cluster is not False else Verdict.MANUAL_ACTION
    mark = "·" if gang.fits is None else "✗"
    lines = [Line(f"  {mark} {gang.name}", verdict)]
    if gang.shortage is not None:
        lines += [Line(f"    {sentence}") for sentence in shortage_sentences(gang.shortage)]
    if gang.fits_empty_cluster is False:
        lines.append(Line("    It does not fit even if no other pod runs.", verdict))
    return lines
