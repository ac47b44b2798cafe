"""The topology key of a gang that is one group object.

Kubernetes has only required constraints, and one key for each group object. A constraint of all
groups means the same on the gang and on a set of groups: the gang of one scaling group replica, for
example, has its constraint on the set of its groups.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend_controllers.contract.pack_requests import PackRequest, Scope, pack_requests
from shared_api.kube.podgangs import ObservedPodGang

NEEDS_GATE = (
    "is not supported: this cluster has no topology for gangs. Use Kubernetes 1.36 or later with the"
    " feature gate TopologyAwareWorkloadScheduling on kube-apiserver and kube-scheduler"
)
NEEDS_TREE = (
    "is not supported: here a gang has one topology key for all its groups. Request the key on the"
    " gang, or use Kubernetes 1.37 with the feature gate CompositePodGroup"
)


@dataclass(frozen=True, slots=True)
class Key:
    """The key of one group object, or why there is none."""

    key: str | None = None
    refusals: tuple[str, ...] = ()


def required_keys(gang: ObservedPodGang, *scopes: Scope) -> list[PackRequest]:
    """Return the requests of these scopes that require a key; sets of unknown groups have none."""
    return [
        request
        for request in pack_requests(gang)
        if request.scope in scopes
        and request.pack.required
        and (request.groups or request.scope is Scope.GANG)
    ]


def field_of(request: PackRequest) -> str:
    """Return the field and the key that a request requires, for messages."""
    return f"{request.path}.required={request.pack.required}"


def one_key(gang: ObservedPodGang, *, supported: bool) -> Key:
    """Return the key of a gang that is one group object."""
    requests = required_keys(gang, *Scope)
    if not supported:
        return Key(refusals=tuple(f"{field_of(request)} {NEEDS_GATE}" for request in requests))
    everyone = frozenset(group.name for group in gang.spec.podgroups)
    covering = [request for request in requests if request.groups == everyone]
    key = covering[0].pack.required if covering else None
    refusals = [
        f"{field_of(request)} {NEEDS_TREE}" for request in requests if request.groups != everyone
    ]
    refusals += [
        f"{field_of(request)} contradicts {field_of(covering[0])}, and {NEEDS_TREE}"
        for request in covering
        if request.pack.required != key
    ]
    return Key(key, tuple(refusals))


def ignored_preferences(gang: ObservedPodGang) -> Iterator[str]:
    """Yield a remark for each preferred key, which kube-scheduler cannot express."""
    for request in pack_requests(gang):
        if request.pack.preferred:
            yield (
                f"{request.path}.preferred={request.pack.preferred} is ignored: kube-scheduler has"
                " no preferred topology"
            )
