"""What a pod of a clique asks for, as its scheduler will count it.

The containers together, or the largest step of the init containers if that is more; init
containers that go on running beside the others count with both; resources of the pod as a whole
win; overhead is added. A limit without a request is a request, as the API server makes it one.
The init container that core adds to pods which start after others counts too: a placeholder
smaller than its pod is of no use.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from backend_controllers.yunikorn.api import Amounts, Container, ObservedClique
from backend_controllers.yunikorn.quantities import parsed, written
from shared_api import names

Sums = dict[str, Fraction]

_WAITS = Container(resources=Amounts(requests=dict(names.STARTUP_REQUESTS)))
_STAYS = "Always"


class NoQuantityError(ValueError):
    """A text that should be a quantity and is none."""


def requests_of(clique: ObservedClique) -> dict[str, str]:
    """What each pod of a clique asks for, by resource."""
    template = clique.spec.pod_spec
    asking = [_asked(container) for container in template.containers]
    starting = list(_starting(clique))
    sums = _largest(_total(asking), starting)
    whole = _amounts("the pod", template.resources)
    sums |= whole
    overhead = _numbers("overhead", template.overhead)
    sums = _total([sums, overhead])
    return {name: written(sums[name]) for name in sorted(sums)}


def _starting(clique: ObservedClique) -> Iterator[tuple[Sums, bool]]:
    """Init containers in their order, and which of them stay."""
    template = clique.spec.pod_spec
    for container in template.init_containers:
        yield _asked(container), container.restart_policy == _STAYS
    every = (*template.containers, *template.init_containers)
    if clique.spec.starts_after and any(one.resources != Amounts() for one in every):
        yield _asked(_WAITS), False


def _largest(running: Sums, starting: list[tuple[Sums, bool]]) -> Sums:
    staying: Sums = {}
    peak: Sums = {}
    for asked, stays in starting:
        step = _total([staying, asked])
        peak = _maximum(peak, step)
        staying = step if stays else staying
    return _maximum(_total([running, staying]), peak)


def _asked(container: Container) -> Sums:
    return _amounts(f"container '{container.name}'", container.resources)


def _amounts(whose: str, amounts: Amounts) -> Sums:
    return _numbers(whose, {**amounts.limits, **amounts.requests})


def _numbers(whose: str, amounts: dict[str, str | int | float]) -> Sums:
    sums: Sums = {}
    for name, text in amounts.items():
        number = parsed(text)
        if number is None or number < 0:
            raise NoQuantityError(f"{whose} asks for {name} '{text}', which is no quantity")
        sums[name] = number
    return sums


def _total(sums: Iterable[Sums]) -> Sums:
    total: Sums = {}
    for one in sums:
        for name, number in one.items():
            total[name] = total.get(name, Fraction(0)) + number
    return total


def _maximum(one: Sums, other: Sums) -> Sums:
    return {
        name: max(one.get(name, Fraction(0)), other.get(name, Fraction(0)))
        for name in one.keys() | other.keys()
    }
