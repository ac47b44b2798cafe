"""The topology requests of a gang: for all its pods, for a set of groups, or for one group.

Every backend reads them here, so that each names the same field of the PodGang in its messages.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.declaration import PackLevels, pack_of
from shared_api.kube.podgangs import ObservedPodGang


class Scope(enum.Enum):
    """Which pods a request is about."""

    GANG = "gang"
    GROUP_SET = "group set"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class PackRequest:
    """The levels in which some pods of a gang are packed; at least one level is set."""

    scope: Scope
    name: str
    """The name of the set of groups or of the group; empty for the gang."""
    groups: frozenset[str]
    """The groups of the gang that it is about. Unknown names are left out."""
    pack: PackLevels

    @property
    def title(self) -> str:
        """The pods, for messages."""
        if self.scope is Scope.GANG:
            return "the gang"
        return f"{'group' if self.scope is Scope.GROUP else 'group set'} '{self.name}'"

    @property
    def path(self) -> str:
        """The field of the PodGang that makes the request, without the level."""
        part = {
            Scope.GANG: "spec",
            Scope.GROUP_SET: f"spec.topologyConstraintGroupConfigs[{self.name}]",
            Scope.GROUP: f"spec.podgroups[{self.name}]",
        }
        return f"{part[self.scope]}.topologyConstraint.packConstraint"


def pack_requests(gang: ObservedPodGang) -> Iterator[PackRequest]:
    """Yield the requests of a gang: those of the gang, of sets of groups, then of groups."""
    known = frozenset(group.name for group in gang.spec.podgroups)
    rows = [(Scope.GANG, "", known, gang.spec.topology_constraint)]
    rows += [
        (
            Scope.GROUP_SET,
            one.name,
            known.intersection(one.pod_group_names),
            one.topology_constraint,
        )
        for one in gang.spec.topology_constraint_group_configs
    ]
    rows += [
        (Scope.GROUP, group.name, frozenset((group.name,)), group.topology_constraint)
        for group in gang.spec.podgroups
    ]
    for scope, name, groups, constraint in rows:
        pack = pack_of(constraint)
        if not pack.is_empty:
            yield PackRequest(scope, name, groups, pack)


def levels_of(gang: ObservedPodGang) -> set[str]:
    """Return all levels that a gang requests."""
    packs = (request.pack for request in pack_requests(gang))
    return {level for pack in packs for level in (pack.required, pack.preferred) if level}
