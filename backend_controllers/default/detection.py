"""Which form of the API this cluster serves; found by asking, never from its version.

A version of the group is served only if the API server has the feature gate as well as the
runtime configuration, and fields with gates of their own are dropped without a word, so those
are probed. The gates of kube-scheduler cannot be seen from here; `mirroring` notices some.
"""

import functools
import re

from backend_controllers.contract.declaration import (
    Absent,
    Dialect,
    Options,
    Probe,
    Questions,
    Served,
    Writes,
)
from backend_controllers.default import membership, merged, mirroring, plain, tree
from backend_controllers.default.gang_form import Features
from backend_controllers.default.options import DefaultOptions, WithoutGangSupport
from backend_controllers.default.served import (
    COMPOSITE_POD_GROUPS,
    GROUP,
    POD_GROUPS_V1ALPHA2,
    POD_GROUPS_V1BETA1,
    PROTECTION,
    WORKLOADS_V1ALPHA1,
    WORKLOADS_V1ALPHA2,
    WORKLOADS_V1BETA1,
    CompositePodGroup,
    PodGroup,
    Workload,
)
from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

TOPOLOGY = "TopologyAwareWorkloadScheduling"
PRIORITY = "WorkloadAwarePreemption"

_GANG = frozenset(
    {names.CAPABILITY_GANG, names.CAPABILITY_GROUP_MINIMUMS, names.CAPABILITY_ELASTIC_SURPLUS}
)
_WORKLOAD = "kube-apiserver --feature-gates={api} --runtime-config={served}, kube-scheduler --feature-gates={scheduler}"
_CONTROLLERS = ", kube-controller-manager --feature-gates=GenericWorkload=true"
_FLAGS = {
    "1.35": _WORKLOAD.format(
        api="GenericWorkload=true",
        served="scheduling.k8s.io/v1alpha1=true",
        scheduler="GenericWorkload=true,GangScheduling=true",
    ),
    "1.36": _WORKLOAD.format(
        api=f"GenericWorkload=true,GangScheduling=true,{TOPOLOGY}=true,{PRIORITY}=true",
        served="scheduling.k8s.io/v1alpha2=true",
        scheduler=f"GenericWorkload=true,GangScheduling=true,{TOPOLOGY}=true,{PRIORITY}=true",
    )
    + _CONTROLLERS,
    "1.37": _WORKLOAD.format(
        api=f"GenericWorkload=true,{TOPOLOGY}=true,CompositePodGroup=true",
        served="scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
        scheduler=f"GenericWorkload=true,{TOPOLOGY}=true,CompositePodGroup=true",
    )
    + _CONTROLLERS,
}
_MISSING = "an API for gang scheduling (scheduling.k8s.io Workload)"
_MINOR = re.compile(r"v?(\d+)\.(\d+)")


def probes(served: Served) -> tuple[Probe, ...]:
    """Ask whether the fields of further gates are kept."""
    if served.has(POD_GROUPS_V1BETA1):
        return (_probe_topology(POD_GROUPS_V1BETA1),)
    if served.has(POD_GROUPS_V1ALPHA2):
        # With the gate on, admission works out the priority of every PodGroup.
        priority = Probe(
            PRIORITY,
            POD_GROUPS_V1ALPHA2,
            _group(POD_GROUPS_V1ALPHA2, {"schedulingPolicy": {"basic": {}}}),
            ("spec", "priority"),
        )
        return (_probe_topology(POD_GROUPS_V1ALPHA2), priority)
    return ()


QUESTIONS = Questions(groups=(GROUP,), probes=probes)


def detect(served: Served, options: Options) -> Dialect | Absent:
    """Choose the newest form that is served."""
    chosen = options if isinstance(options, DefaultOptions) else DefaultOptions()
    if served.has(WORKLOADS_V1BETA1) and served.has(POD_GROUPS_V1BETA1):
        if served.has(COMPOSITE_POD_GROUPS) and TOPOLOGY in served.kept:
            return _tree(chosen)
        return _merged_v1beta1(chosen, served)
    if served.has(WORKLOADS_V1ALPHA2) and served.has(POD_GROUPS_V1ALPHA2):
        return _merged_v1alpha2(chosen, served)
    if served.has(WORKLOADS_V1ALPHA1):
        return _workload_only(chosen)
    if chosen.without_gang_support is WithoutGangSupport.PLAIN_SCHEDULING:
        return plain.dialect(chosen, f"missing: {_MISSING}; {remedy(served.kubernetes)}")
    likely = membership.in_gang(chosen.scheduler_name)
    return Absent(_MISSING, remedy(served.kubernetes), likely, _GANG)


def remedy(kubernetes: str) -> str:
    """What an administrator does, for the version that the server says it has."""
    found = _MINOR.match(kubernetes)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    flags = _FLAGS.get(f"{version[0]}.{version[1]}")
    if flags is not None:
        advice = f"set {flags}"
    elif (0, 0) < version < (1, 35):
        advice = "upgrade to Kubernetes 1.35 or later, where it exists behind feature gates"
    else:
        listed = "; ".join(f"Kubernetes {minor}: {flags}" for minor, flags in _FLAGS.items())
        advice = f"set, according to the version, {listed}"
    return f"{advice}; or set withoutGangSupport: PlainScheduling to run gangs without a guarantee"


def _workload_only(options: DefaultOptions) -> Dialect:
    return Dialect(
        name=WORKLOADS_V1ALPHA1.api_version,
        capabilities=_GANG,
        preparation=membership.in_workload(options.scheduler_name),
        translate=functools.partial(merged.translate, merged.WORKLOAD_ONLY, Features()),
        mirror=mirroring.mirror_pods,
        writes=(Writes(WORKLOADS_V1ALPHA1, Workload, news=False),),
        heeds_held_pods=False,
    )


def _merged_v1alpha2(options: DefaultOptions, served: Served) -> Dialect:
    features = Features(topology=TOPOLOGY in served.kept, priority=PRIORITY in served.kept)
    return Dialect(
        name=POD_GROUPS_V1ALPHA2.api_version,
        capabilities=_GANG | _found(features),
        preparation=membership.in_gang(options.scheduler_name),
        translate=functools.partial(merged.translate, merged.POD_GROUP_V1ALPHA2, features),
        mirror=functools.partial(mirroring.mirror_groups, POD_GROUPS_V1ALPHA2),
        writes=_writes(WORKLOADS_V1ALPHA2, POD_GROUPS_V1ALPHA2),
        heeds_held_pods=False,
    )


def _merged_v1beta1(options: DefaultOptions, served: Served) -> Dialect:
    features = Features(topology=TOPOLOGY in served.kept, priority=True)
    return Dialect(
        name=POD_GROUPS_V1BETA1.api_version,
        capabilities=_GANG | _found(features) | {names.CAPABILITY_RESIZE_IN_PLACE},
        preparation=membership.in_gang(options.scheduler_name),
        translate=functools.partial(merged.translate, merged.POD_GROUP_V1BETA1, features),
        mirror=functools.partial(mirroring.mirror_groups, POD_GROUPS_V1BETA1),
        writes=_writes(WORKLOADS_V1BETA1, POD_GROUPS_V1BETA1),
        heeds_held_pods=False,
    )


def _tree(options: DefaultOptions) -> Dialect:
    whole = _found(Features(topology=True, priority=True))
    composites = Writes(COMPOSITE_POD_GROUPS, CompositePodGroup, news=False)
    workloads, pod_groups = _writes(WORKLOADS_V1BETA1, POD_GROUPS_V1BETA1)
    return Dialect(
        name=f"{POD_GROUPS_V1BETA1.api_version}+{COMPOSITE_POD_GROUPS.version}",
        capabilities=_GANG
        | whole
        | {
            names.CAPABILITY_HIERARCHY,
            names.CAPABILITY_RESIZE_IN_PLACE,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
            names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
        },
        preparation=membership.in_leaf(options.scheduler_name),
        translate=tree.translate,
        mirror=functools.partial(
            mirroring.mirror_groups, POD_GROUPS_V1BETA1, surplus_stands_in=True
        ),
        writes=(workloads, composites, pod_groups),
        heeds_held_pods=False,
        surplus_stands_in=True,
    )


def _found(features: Features) -> frozenset[str]:
    found = set()
    if features.topology:
        found.add(names.CAPABILITY_TOPOLOGY_REQUIRED_GANG)
    if features.priority:
        found.add(names.CAPABILITY_PRIORITY)
    return frozenset(found)


def _writes(workloads: Resource, pod_groups: Resource) -> tuple[Writes, Writes]:
    return (
        Writes(workloads, Workload, news=False),
        Writes(pod_groups, PodGroup, finalizers=(PROTECTION,), tells=mirroring.failures_of),
    )


def _probe_topology(resource: Resource) -> Probe:
    spec: JsonObject = {
        "schedulingPolicy": {"basic": {}},
        "schedulingConstraints": {"topology": [{"key": "kubernetes.io/hostname"}]},
    }
    return Probe(TOPOLOGY, resource, _group(resource, spec), ("spec", "schedulingConstraints"))


def _group(resource: Resource, spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "podgang-probe", "namespace": "default"},
        "spec": spec,
    }
