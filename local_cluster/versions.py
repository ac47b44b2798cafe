"""What differs between the Kubernetes minors: versions, feature gates, served APIs, controllers.

Gang scheduling changed its API with every minor and is off by default in all of them. A gate
that a minor does not know is a fatal error at start, so each minor lists its own.
"""

from dataclasses import dataclass

from local_cluster.errors import ClusterError

DEFAULT_MINOR = "1.36"

_CONTROLLERS = (
    "certificatesigningrequest-signing-controller",
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "validatingadmissionpolicy-status-controller",
)


@dataclass(frozen=True, slots=True)
class Minor:
    """One Kubernetes minor as this package runs it."""

    name: str
    release: str
    api_gates: tuple[str, ...]
    """Gates of kube-apiserver that gang scheduling needs."""
    scheduler_gates: tuple[str, ...]
    controller_gates: tuple[str, ...]
    served: tuple[str, ...]
    """API versions that are off by default and that gang scheduling needs."""
    gang_controllers: tuple[str, ...] = ()
    """Controllers that exist only in this minor, and only with the gates on."""

    def controllers(self, *, gang_scheduling: bool) -> tuple[str, ...]:
        """Return the controllers that kube-controller-manager runs."""
        return _CONTROLLERS + (self.gang_controllers if gang_scheduling else ())


MINORS = {
    minor.name: minor
    for minor in (
        Minor(
            name="1.35",
            release="1.35.8",
            api_gates=("GenericWorkload",),
            scheduler_gates=("GenericWorkload", "GangScheduling"),
            controller_gates=(),
            served=("scheduling.k8s.io/v1alpha1",),
        ),
        Minor(
            name="1.36",
            release="1.36.4",
            api_gates=(
                "GenericWorkload",
                "GangScheduling",
                "TopologyAwareWorkloadScheduling",
                "WorkloadAwarePreemption",
            ),
            scheduler_gates=(
                "GenericWorkload",
                "GangScheduling",
                "TopologyAwareWorkloadScheduling",
                "WorkloadAwarePreemption",
            ),
            controller_gates=("GenericWorkload",),
            served=("scheduling.k8s.io/v1alpha2",),
            gang_controllers=("podgroup-protection-controller",),
        ),
        Minor(
            name="1.37",
            release="1.37.0",
            api_gates=("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"),
            scheduler_gates=(
                "GenericWorkload",
                "TopologyAwareWorkloadScheduling",
                "CompositePodGroup",
            ),
            controller_gates=("GenericWorkload",),
            served=("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
            gang_controllers=("podgroup-protection-controller",),
        ),
    )
}


def minor_of(name: str) -> Minor:
    """Return a minor by its name (`1.36`), or raise an error that lists all."""
    try:
        return MINORS[name.removeprefix("v")]
    except KeyError:
        raise ClusterError(
            f"Kubernetes {name!r} is not one that can be built here",
            f"Choose one of {', '.join(MINORS)}",
        ) from None
