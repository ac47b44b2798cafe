"""The resources that a pod requests, as schedulers count them.

A pod requests the sum of its containers, or the largest step of its init containers if that is
more. An init container that keeps running counts in all later steps. Requests of the pod as a whole
replace the sum, and overhead is added. A limit without a request counts as the request, as in the
API server.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from shared_api.kube.quantities import parsed

Amounts = Mapping[str, str | int | float]
Sums = dict[str, Fraction]

_GOES_ON = "Always"
_NOTHING = Fraction(0)


class NoQuantityError(ValueError):
    """A value that should be a quantity and is not."""


class Resources(msgspec.Struct, frozen=True):
    """Requests and limits, as the user wrote them."""

    requests: Amounts = {}
    limits: Amounts = {}


class ContainerResources(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a container that define its resources."""

    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""


class PodResources(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a pod's spec that define its resources."""

    containers: tuple[ContainerResources, ...] = ()
    init_containers: tuple[ContainerResources, ...] = ()
    resources: Resources = Resources()
    overhead: Amounts = {}


def requests_of(template: PodResources) -> Sums:
    """Return the requests of a pod by resource; raise NoQuantityError for a malformed quantity."""
    going_on: Sums = {}
    peak: Sums = {}
    for container in template.init_containers:
        step = total([going_on, _asked(container)])
        peak = _larger(peak, step)
        if container.restart_policy == _GOES_ON:
            going_on = step
    running = total([going_on, *map(_asked, template.containers)])
    whole = _numbers("the pod", template.resources)
    overhead = _numbers("overhead", Resources(requests=template.overhead))
    return total([{**_larger(peak, running), **whole}, overhead])


def total(sums: Iterable[Sums]) -> Sums:
    """Return the sum of resource lists."""
    found: Sums = {}
    for one in sums:
        for name, number in one.items():
            found[name] = found.get(name, _NOTHING) + number
    return found


def _asked(container: ContainerResources) -> Sums:
    return _numbers(f"container '{container.name}'", container.resources)


def _numbers(whose: str, resources: Resources) -> Sums:
    sums: Sums = {}
    for name, text in {**resources.limits, **resources.requests}.items():
        number = parsed(text)
        if number is None or number < 0:
            raise NoQuantityError(f"{whose} asks for {name} '{text}', which is not a quantity")
        sums[name] = number
    return sums


def _larger(one: Sums, other: Sums) -> Sums:
    return {
        name: max(one.get(name, _NOTHING), other.get(name, _NOTHING))
        for name in one.keys() | other.keys()
    }
