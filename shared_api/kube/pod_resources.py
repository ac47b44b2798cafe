"""What a pod asks for, as schedulers count it.

All containers together, or the largest step of the init containers if that is more; an init
container that goes on running counts with what comes after it. What is stated for the pod as
a whole wins, and overhead is added. A limit without a request is a request, as the API server
makes it one.
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
    """A text that should be a quantity and is none."""


class Resources(msgspec.Struct, frozen=True):
    """Quantities as their writer spelt them."""

    requests: Amounts = {}
    limits: Amounts = {}


class Container(msgspec.Struct, frozen=True, rename="camel"):
    """A container, as far as it takes room."""

    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""


class PodResources(msgspec.Struct, frozen=True, rename="camel"):
    """A pod's spec, as far as it takes room."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources = Resources()
    overhead: Amounts = {}


def requests_of(template: PodResources) -> Sums:
    """What each pod of a template asks for, by resource; NoQuantityError if a text is none."""
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
    """All of it together."""
    found: Sums = {}
    for one in sums:
        for name, number in one.items():
            found[name] = found.get(name, _NOTHING) + number
    return found


def _asked(container: Container) -> Sums:
    return _numbers(f"container '{container.name}'", container.resources)


def _numbers(whose: str, resources: Resources) -> Sums:
    sums: Sums = {}
    for name, text in {**resources.limits, **resources.requests}.items():
        number = parsed(text)
        if number is None or number < 0:
            raise NoQuantityError(f"{whose} asks for {name} '{text}', which is no quantity")
        sums[name] = number
    return sums


def _larger(one: Sums, other: Sums) -> Sums:
    return {
        name: max(one.get(name, _NOTHING), other.get(name, _NOTHING))
        for name in one.keys() | other.keys()
    }
