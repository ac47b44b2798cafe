"""Which cliques run to completion: those whose pods have the restartPolicy OnFailure or Never."""

from core_operator.plan.layout.expansion import GroupInstance
from shared_api.models import (
    JOB_RESTART_POLICIES,
    JsonObject,
    PodClique,
    PodCliqueScalingGroupConfig,
    PodCliqueSet,
    SetWorkloadPolicy,
)

_NO_POLICY = SetWorkloadPolicy()


def ends(pod_spec: JsonObject) -> bool:
    """Return whether pods of this template run to completion."""
    return pod_spec.get("restartPolicy") in JOB_RESTART_POLICIES


def is_job(clique: PodClique) -> bool:
    """Return whether the pods of a PodClique run to completion."""
    return ends(clique.spec.pod_spec)


def has_jobs(pcs: PodCliqueSet) -> bool:
    """Return whether a clique of the set runs to completion."""
    return any(ends(clique.spec.pod_spec) for clique in pcs.spec.template.cliques)


def policy_of(pcs: PodCliqueSet) -> SetWorkloadPolicy:
    """Return the policy of a set, or the defaults."""
    return pcs.spec.policy or _NO_POLICY


def required_of_replica(pcs: PodCliqueSet) -> frozenset[str]:
    """Return the cliques and scaling groups that a replica needs to be Completed, by name."""
    named = policy_of(pcs).completed_names
    return frozenset(named) if named else jobs_of_replica(pcs)


def jobs_of_replica(pcs: PodCliqueSet) -> frozenset[str]:
    """Return the standalone cliques and the scaling groups that run to completion, by name."""
    template = pcs.spec.template
    grouped = {name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    jobs = {clique.name for clique in template.cliques if ends(clique.spec.pod_spec)}
    groups = {
        group.name
        for group in template.pod_clique_scaling_groups
        if not jobs.isdisjoint(group.clique_names)
    }
    return frozenset((jobs - grouped) | groups)


def jobs_of_group(pcs: PodCliqueSet, config: PodCliqueScalingGroupConfig) -> frozenset[str]:
    """Return the cliques of a scaling group that run to completion, by name."""
    return frozenset(
        clique.name
        for clique in pcs.spec.template.cliques
        if clique.name in config.clique_names and ends(clique.spec.pod_spec)
    )


def required_of_group(pcs: PodCliqueSet, group: GroupInstance) -> frozenset[str]:
    """Return the cliques that a replica of a scaling group needs to be Completed, by name."""
    policy = group.config.policy
    named = policy.completed_names if policy is not None else ()
    return frozenset(named) if named else jobs_of_group(pcs, group.config)


def group_restarts(group: GroupInstance) -> int:
    """Return how often a replica of a scaling group may be restarted alone."""
    return group.config.policy.max_restarts if group.config.policy is not None else 0
