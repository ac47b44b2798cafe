"""Which form of the API this cluster serves; found by discovery, never from the server's version.

A version of the group is served only if the API server has the feature gate and the runtime
configuration. Fields with their own gates are dropped without an error, so those are probed. The
gates of kube-scheduler cannot be read; `mirroring` notices some that are missing.
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
from backend_controllers.contract.detecting import GANG
from backend_controllers.contract.manifests import manifest
from backend_controllers.default import membership, merged, mirroring, plain, tree
from backend_controllers.default.gang_form import GangApiFeatures
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
    Workload,
    WorkloadPodGroup,
)
from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.models import JsonObject

TOPOLOGY = "TopologyAwareWorkloadScheduling"
PRIORITY = "WorkloadAwarePreemption"

_GANG = GANG | {names.CAPABILITY_GROUP_MINIMUMS}
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
    """Return the probes for fields with their own gates."""
    if served.has(POD_GROUPS_V1BETA1):
        return (_probe_topology(POD_GROUPS_V1BETA1),)
    if served.has(POD_GROUPS_V1ALPHA2):
        # If the gate is on, admission sets the priority of every PodGroup.
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
    """Choose the newest form that the cluster serves."""
    chosen = options if isinstance(options, DefaultOptions) else DefaultOptions()
    if served.has(WORKLOADS_V1BETA1) and served.has(POD_GROUPS_V1BETA1):
        if served.has(COMPOSITE_POD_GROUPS) and TOPOLOGY in served.kept:
            return _tree(chosen)
        features = GangApiFeatures(topology=TOPOLOGY in served.kept, priority=True)
        return _merged(chosen, POD_GROUPS_V1BETA1, merged.POD_GROUP_V1BETA1, features)
    if served.has(WORKLOADS_V1ALPHA2) and served.has(POD_GROUPS_V1ALPHA2):
        kept = served.kept
        features = GangApiFeatures(topology=TOPOLOGY in kept, priority=PRIORITY in kept)
        return _merged(chosen, POD_GROUPS_V1ALPHA2, merged.POD_GROUP_V1ALPHA2, features)
    if served.has(WORKLOADS_V1ALPHA1):
        return _workload_only(chosen)
    advice = remedy(served.kubernetes)
    if chosen.without_gang_support is WithoutGangSupport.REFUSE:
        advice = f"{advice}; or set withoutGangSupport: GangByTimeout or PlainScheduling"
        return Absent(_MISSING, advice, membership.in_gang(chosen.scheduler_name), _GANG)
    return plain.dialect(chosen, f"missing: {_MISSING}; for gang scheduling {advice}")


def remedy(kubernetes: str) -> str:
    """Return what an administrator must do, given the server's version."""
    found = _MINOR.match(kubernetes)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    flags = _FLAGS.get(f"{version[0]}.{version[1]}")
    if flags is not None:
        return f"set {flags}"
    if (0, 0) < version < (1, 35):
        return "upgrade to Kubernetes 1.35 or later, where it exists behind feature gates"
    listed = "; ".join(f"Kubernetes {minor}: {flags}" for minor, flags in _FLAGS.items())
    return f"set, according to the version, {listed}"


def _merged(
    options: DefaultOptions, pod_groups: Resource, form: merged.Form, features: GangApiFeatures
) -> Dialect:
    resize = {names.CAPABILITY_RESIZE_IN_PLACE} if pod_groups == POD_GROUPS_V1BETA1 else set()
    return Dialect(
        name=pod_groups.api_version,
        capabilities=_GANG | _found(features) | resize,
        preparation=membership.in_gang(options.scheduler_name),
        translate=functools.partial(merged.translate, form, features),
        mirror=functools.partial(mirroring.mirror_groups, pod_groups),
        writes=_writes(pod_groups),
        heeds_gated_pods=False,
    )


def _workload_only(options: DefaultOptions) -> Dialect:
    return Dialect(
        name=WORKLOADS_V1ALPHA1.api_version,
        capabilities=_GANG,
        preparation=membership.in_workload(options.scheduler_name),
        translate=functools.partial(merged.translate, merged.WORKLOAD_ONLY, GangApiFeatures()),
        mirror=mirroring.mirror_pods,
        writes=(Writes(WORKLOADS_V1ALPHA1, Workload, mirrored=False),),
        heeds_gated_pods=False,
    )


def _tree(options: DefaultOptions) -> Dialect:
    workloads, pod_groups = _writes(POD_GROUPS_V1BETA1)
    nested = {
        names.CAPABILITY_HIERARCHY,
        names.CAPABILITY_RESIZE_IN_PLACE,
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP,
        names.CAPABILITY_TOPOLOGY_REQUIRED_GROUP_SET,
    }
    return Dialect(
        name=f"{POD_GROUPS_V1BETA1.api_version}+{COMPOSITE_POD_GROUPS.version}",
        capabilities=_GANG | _found(GangApiFeatures(topology=True, priority=True)) | nested,
        preparation=membership.in_leaf(options.scheduler_name),
        translate=tree.translate,
        mirror=functools.partial(
            mirroring.mirror_groups, POD_GROUPS_V1BETA1, surplus_stands_in=True
        ),
        writes=(
            workloads,
            Writes(COMPOSITE_POD_GROUPS, CompositePodGroup, mirrored=False),
            pod_groups,
        ),
        heeds_gated_pods=False,
        surplus_stands_in=True,
    )


def _found(features: GangApiFeatures) -> frozenset[str]:
    found = {
        names.CAPABILITY_TOPOLOGY_REQUIRED_GANG: features.topology,
        names.CAPABILITY_PRIORITY: features.priority,
    }
    return frozenset(name for name, is_found in found.items() if is_found)


def _writes(pod_groups: Resource) -> tuple[Writes, Writes]:
    is_beta = pod_groups == POD_GROUPS_V1BETA1
    return (
        Writes(WORKLOADS_V1BETA1 if is_beta else WORKLOADS_V1ALPHA2, Workload, mirrored=False),
        Writes(
            pod_groups,
            WorkloadPodGroup,
            finalizers=(PROTECTION,),
            mirrored_part=mirroring.failures_of,
        ),
    )


def _probe_topology(resource: Resource) -> Probe:
    spec: JsonObject = {
        "schedulingPolicy": {"basic": {}},
        "schedulingConstraints": {"topology": [{"key": "kubernetes.io/hostname"}]},
    }
    return Probe(TOPOLOGY, resource, _group(resource, spec), ("spec", "schedulingConstraints"))


def _group(resource: Resource, spec: JsonObject) -> JsonObject:
    return manifest(resource, "podgang-probe", "default", spec)
