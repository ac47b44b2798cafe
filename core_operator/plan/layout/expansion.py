"""Which PodCliques, scaling groups and gangs a PodCliqueSet consists of.

Only this module decides that, from the set and the live sizes of its scaling groups, in Grove's
order. Every clique is in exactly one gang: the base gang of its replica, or, for a group replica
at or above the group's minAvailable, a gang of its own. A scaling group that is smaller than its
minAvailable has all its replicas in the base gang; a gang may have no clique at all.

An expansion is built once and looked up by name. It ends with the last replica within the limits,
because all of it is in memory. Pods and ResourceClaims are counted; the other objects belong to
a PodClique, which has at least one pod.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core_operator.plan.layout import naming
from core_operator.plan.layout.history import template_hashes
from shared_api.models import (
    MAX_CLAIMS,
    PodCliqueScalingGroupConfig,
    PodCliqueSet,
    PodCliqueTemplateSpec,
    ResourceSharingScope,
    ResourceSharingSpec,
)

MOST_PODS = 20_000
"""Pods of one set, by its templates and the live sizes of its scaling groups."""

MOST_CLAIMS = MAX_CLAIMS
"""ResourceClaims of one set, counted like its pods, and of one PodClique by its live size."""


@dataclass(frozen=True, slots=True)
class GroupInstance:
    """One PodCliqueScalingGroup that should exist."""

    name: str
    config: PodCliqueScalingGroupConfig
    pcs_index: int
    replicas: int

    @property
    def minimum(self) -> int:
        """Return how many replicas belong to the base gang."""
        return min(self.config.min_available, self.replicas)


@dataclass(frozen=True, slots=True)
class CliqueInstance:
    """One PodClique that should exist; it has a `base_gang` only if its gang is scaled."""

    name: str
    template: PodCliqueTemplateSpec
    pcs_index: int
    gang: str
    base_gang: str | None
    group: GroupInstance | None
    group_index: int | None
    template_hash: str


@dataclass(frozen=True, slots=True)
class GangInstance:
    """One PodGang that should exist; `base` is the gang that a scaled one waits for."""

    name: str
    pcs_index: int
    base: str | None
    cliques: tuple[CliqueInstance, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """All parts of a set: base gangs first, then the scaled ones."""

    cliques: tuple[CliqueInstance, ...]
    groups: tuple[GroupInstance, ...]
    gangs: tuple[GangInstance, ...]
    too_large: str = ""
    """Set if the expansion was cut: then nothing must be deleted because it is not in here."""
    # Indexes by name: a scan per object would be quadratic in the size of the set.
    _gangs: Mapping[str, GangInstance] = field(init=False, repr=False, compare=False)
    _cliques: Mapping[str, CliqueInstance] = field(init=False, repr=False, compare=False)
    _members: Mapping[str, tuple[CliqueInstance, ...]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        members: dict[str, list[CliqueInstance]] = {group.name: [] for group in self.groups}
        for clique in self.cliques:
            if clique.group is not None:
                members[clique.group.name].append(clique)
        object.__setattr__(self, "_gangs", {gang.name: gang for gang in self.gangs})
        object.__setattr__(self, "_cliques", {clique.name: clique for clique in self.cliques})
        object.__setattr__(self, "_members", {name: tuple(of) for name, of in members.items()})


def without_cliques(gang: GangInstance, names: Container[str]) -> GangInstance:
    """Return the gang without the cliques of these names."""
    kept = tuple(clique for clique in gang.cliques if clique.name not in names)
    return gang if len(kept) == len(gang.cliques) else replace(gang, cliques=kept)


def gang_named(expansion: Expansion, name: str) -> GangInstance | None:
    """Return the gang of this name, if it should exist."""
    return expansion._gangs.get(name)


def clique_named(expansion: Expansion, name: str) -> CliqueInstance | None:
    """Return the PodClique of this name, if it should exist."""
    return expansion._cliques.get(name)


def cliques_of_group(expansion: Expansion, group: str) -> tuple[CliqueInstance, ...]:
    """Return the PodCliques of a scaling group by its full name, replica by replica."""
    return expansion._members.get(group, ())


def standalone_cliques(expansion: Expansion) -> tuple[CliqueInstance, ...]:
    """Return the PodCliques that are in no scaling group."""
    return tuple(clique for clique in expansion.cliques if clique.group is None)


def clashing_names(expansion: Expansion) -> tuple[str, ...]:
    """Return names that two PodCliques would share, such as clique `g-0-a` and `a` of `g`."""
    counted = Counter(clique.name for clique in expansion.cliques)
    return tuple(sorted(name for name, count in counted.items() if count > 1))


def min_available(template: PodCliqueTemplateSpec) -> int:
    """Return the minAvailable of a clique; all its replicas by default."""
    return template.spec.min_available or template.spec.replicas


def claim_count(shared: Sequence[ResourceSharingSpec], replicas: int) -> int:
    """Count the ResourceClaims of a level with this many replicas."""
    each = sum(sharing.scope is ResourceSharingScope.PER_REPLICA for sharing in shared)
    return len(shared) - each + each * replicas


def expand(
    pcs: PodCliqueSet,
    group_replicas: Mapping[str, int],
    hashes: Mapping[str, str] | None = None,
) -> Expansion:
    """Return all parts of the set, or those before the first replica over the limits.

    `group_replicas` has the live sizes of existing scaling groups by full name; others have the
    size in the set. `hashes` are the cliques' template hashes, if stored revisions decide them.
    """
    templates = _Templates(pcs, template_hashes(pcs, ()) if hashes is None else hashes)
    cliques: list[CliqueInstance] = []
    groups: list[GroupInstance] = []
    base_gangs: list[GangInstance] = []
    scaled_gangs: list[GangInstance] = []
    pods, claims, too_large = 0, claim_count(pcs.spec.template.resource_sharing, 0), ""
    for index in range(pcs.spec.replicas):
        replica_groups = tuple(_groups(pcs, index, group_replicas))
        more_pods, more_claims = templates.sizes(replica_groups)
        # Checked before anything is built: a mistyped number must not cost memory.
        found = (MOST_PODS, "pods", pods, more_pods)
        if pods + more_pods <= MOST_PODS:
            found = (MOST_CLAIMS, "ResourceClaims", claims, more_claims)
        most, kind, so_far, more = found
        if so_far + more > most:
            too_large = (
                f"a set has at most {most} {kind}: {index} of {pcs.spec.replicas} replicas have"
                f" {so_far}, the next would have {more}. Lower replicas, or make several sets"
            )
            break
        pods, claims = pods + more_pods, claims + more_claims
        gangs = tuple(_gangs(templates, index, replica_groups))
        groups.extend(replica_groups)
        base_gangs.append(gangs[0])
        scaled_gangs.extend(gangs[1:])
        # Base before scaled, so that the cliques of a group are in the order of its replicas.
        cliques.extend(clique for gang in gangs for clique in gang.cliques)
    return Expansion(tuple(cliques), tuple(groups), (*base_gangs, *scaled_gangs), too_large)


class _Templates:
    """The cliques of a set, and sizes that are equal for all replicas."""

    def __init__(self, pcs: PodCliqueSet, hashes: Mapping[str, str]) -> None:
        template = pcs.spec.template
        grouped = {
            name for group in template.pod_clique_scaling_groups for name in group.clique_names
        }
        self.pcs = pcs.metadata.name
        self.standalone = tuple(c for c in template.cliques if c.name not in grouped)
        self._by_name = {clique.name: clique for clique in template.cliques}
        self._hashes = hashes
        shared = template.resource_sharing
        pods, claims = _sizes(self.standalone)
        self._own = pods, claims + claim_count(shared, 1) - claim_count(shared, 0)
        configs = template.pod_clique_scaling_groups
        self._of_replica = {config.name: _sizes(self.of_group(config)) for config in configs}

    def hash_of(self, template: PodCliqueTemplateSpec) -> str:
        """Return the template hash of a clique."""
        return self._hashes[template.name]

    def sizes(self, groups: Iterable[GroupInstance]) -> tuple[int, int]:
        """Count the pods and ResourceClaims of one replica with these groups."""
        pods, claims = self._own
        for group in groups:
            of_replica = self._of_replica[group.config.name]
            # A group that is scaled to zero still has objects, and it may return.
            pods += max(group.replicas, 1) * of_replica[0]
            claims += group.replicas * of_replica[1]
            claims += claim_count(group.config.resource_sharing, group.replicas)
        return pods, claims

    def of_group(self, config: PodCliqueScalingGroupConfig) -> Iterator[PodCliqueTemplateSpec]:
        """Yield the cliques of a group, in its order."""
        for name in config.clique_names:
            template = self._by_name.get(name)
            if template is not None:
                yield template


def _sizes(templates: Iterable[PodCliqueTemplateSpec]) -> tuple[int, int]:
    """Count the pods and ResourceClaims of one PodClique of each template."""
    pods = claims = 0
    for template in templates:
        pods += template.spec.replicas
        claims += claim_count(template.resource_sharing, template.spec.replicas)
    return pods, claims


def _groups(
    pcs: PodCliqueSet, index: int, group_replicas: Mapping[str, int]
) -> Iterator[GroupInstance]:
    for config in pcs.spec.template.pod_clique_scaling_groups:
        name = naming.group_name(pcs.metadata.name, index, config.name)
        replicas = group_replicas.get(name, config.replicas)
        yield GroupInstance(name, config, index, replicas)


def _gangs(
    templates: _Templates, index: int, groups: tuple[GroupInstance, ...]
) -> Iterator[GangInstance]:
    """Yield the base gang of one replica, then its scaled ones."""
    base = naming.base_gang_name(templates.pcs, index)
    members = [
        CliqueInstance(
            name=naming.podclique_name(templates.pcs, index, template.name),
            template=template,
            pcs_index=index,
            gang=base,
            base_gang=None,
            group=None,
            group_index=None,
            template_hash=templates.hash_of(template),
        )
        for template in templates.standalone
    ]
    for group in groups:
        for replica in range(group.minimum):
            members.extend(_replica(templates, group, replica, gang=base, base=None))
    yield GangInstance(base, index, None, tuple(members))
    for group in groups:
        for replica in range(group.config.min_available, group.replicas):
            name = naming.scaled_gang_name(group.name, replica - group.config.min_available)
            yield GangInstance(
                name, index, base, tuple(_replica(templates, group, replica, gang=name, base=base))
            )


def _replica(
    templates: _Templates, group: GroupInstance, replica: int, *, gang: str, base: str | None
) -> Iterator[CliqueInstance]:
    for template in templates.of_group(group.config):
        yield CliqueInstance(
            name=naming.group_podclique_name(group.name, replica, template.name),
            template=template,
            pcs_index=group.pcs_index,
            gang=gang,
            base_gang=base,
            group=group,
            group_index=replica,
            template_hash=templates.hash_of(template),
        )
