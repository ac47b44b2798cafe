"""Packs the pods of a gang onto hosts: all of them or none. It is a pure function.

Pods are packed in decreasing size onto the emptiest host that they fit on, so that a
gang uses few hosts. With a required topology level all pods go to hosts with one value of that label;
with a preferred level this is tried first. The search does not go back on a choice, so in rare cases
it refuses a gang that another arrangement would fit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from backend_controllers.contract.declaration import PackLevels
from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.executor import ExecutorError, HostOffer, Outcome
from shared_api.kube.pod_resources import NoQuantityError, requests_of
from shared_api.kube.quantities import written

_CPU = "cpu"
_SCARCE_LAST = ("cpu", "memory", "ephemeral-storage")
_BYTES = ("memory", "ephemeral-storage")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class HostDemand:
    """What one pod needs."""

    name: str
    requests: Mapping[str, int]
    selector: Mapping[str, str] = field(default_factory=dict)


def demand_of(pod: RemotePod) -> HostDemand:
    """Return what a pod needs; raise ExecutorError for a malformed quantity."""
    try:
        sums = requests_of(pod.spec.resources)
    except NoQuantityError as error:
        raise ExecutorError(Outcome.INVALID, f"pod {pod.metadata.name}: {error}") from error
    requests = {
        resource: int(-(-amount * (1000 if resource == _CPU else 1) // 1))
        for resource, amount in sums.items()
    }
    return HostDemand(pod.metadata.name, requests, pod.spec.node_selector)


def pack(
    demands: Sequence[HostDemand], hosts: Sequence[HostOffer], levels: PackLevels
) -> dict[str, HostOffer]:
    """Return the host of each pod; raise ExecutorError with the numbers if they do not fit."""
    reached = [host for host in hosts if not host.problem]
    for domain in _domains(reached, levels):
        found = _packed(demands, domain)
        if found is not None:
            return found
    raise ExecutorError(Outcome.CAPACITY, _explained(demands, hosts, levels))


def _domains(hosts: Sequence[HostOffer], levels: PackLevels) -> Iterable[Sequence[HostOffer]]:
    for level in filter(None, (levels.required, levels.preferred)):
        by_value: dict[str, list[HostOffer]] = {}
        for host in hosts:
            if level in host.labels:
                by_value.setdefault(host.labels[level], []).append(host)
        yield from (by_value[value] for value in sorted(by_value))
    if not levels.required:
        yield hosts


def _packed(
    demands: Sequence[HostDemand], hosts: Sequence[HostOffer]
) -> dict[str, HostOffer] | None:
    free = {host.name: dict(host.free) for host in hosts}
    chosen: dict[str, HostOffer] = {}
    used: list[HostOffer] = []
    for demand in sorted(demands, key=_size, reverse=True):
        # Hosts of this gang first, then the emptiest one: few hosts, and few fragments.
        others = sorted(
            (host for host in hosts if host not in used),
            key=lambda host: _amounts(free[host.name]),
            reverse=True,
        )
        fitting = (host for host in (*used, *others) if _fits(demand, free[host.name], host.labels))
        host = next(fitting, None)
        if host is None:
            return None
        for resource, amount in demand.requests.items():
            free[host.name][resource] -= amount
        chosen[demand.name] = host
        if host not in used:
            used.append(host)
    return chosen


def _fits(demand: HostDemand, free: Mapping[str, int], labels: Mapping[str, str]) -> bool:
    return all(
        free.get(name, 0) >= amount for name, amount in demand.requests.items() if amount
    ) and all(labels.get(key) == value for key, value in demand.selector.items())


def _size(demand: HostDemand) -> tuple[tuple[int, ...], str]:
    return _amounts(demand.requests), demand.name


def _amounts(amounts: Mapping[str, int]) -> tuple[int, ...]:
    """Amounts for comparison: devices count before memory, memory before CPU."""
    devices = sum(amount for name, amount in amounts.items() if name not in _SCARCE_LAST)
    return devices, amounts.get("memory", 0), amounts.get(_CPU, 0)


def _explained(
    demands: Sequence[HostDemand], hosts: Sequence[HostOffer], levels: PackLevels
) -> str:
    reached = [host for host in hosts if not host.problem]
    if not reached:
        problems = "; ".join(f"{host.name}: {host.problem}" for host in hosts[:_SHOWN])
        return f"0 of {len(hosts)} hosts can be reached: {problems}. Check the engines"
    fitting = _how_many(demands, reached)
    needs, free = _total(demand.requests for demand in demands), _total(h.free for h in reached)
    listed = ", ".join(
        f"{_quantity(name, amount)} {name} ({_quantity(name, free.get(name, 0))} free)"
        for name, amount in sorted(needs.items())
        if amount
    )
    where = (
        f"{len(reached)} of {len(hosts)} hosts"
        if len(reached) < len(hosts)
        else f"{len(hosts)} hosts"
    )
    level = f" with one value of {levels.required}" if levels.required else ""
    selectors = sorted({f"{k}={v}" for demand in demands for k, v in demand.selector.items()})
    selected = f" and the labels {', '.join(selectors)}" if selectors else ""
    return (
        f"does not fit: needs {listed or 'nothing but a host'} for {len(demands)} pods on"
        f" {where}{level}{selected}; {fitting} of {len(demands)} pods fit."
        " Free capacity, add hosts, or lower minAvailable"
    )


def _how_many(demands: Sequence[HostDemand], hosts: Sequence[HostOffer]) -> int:
    fitting: list[HostDemand] = []
    for demand in sorted(demands, key=_size):
        if _packed([*fitting, demand], hosts) is not None:
            fitting.append(demand)
    return len(fitting)


def _total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _quantity(resource: str, amount: int) -> str:
    if resource == _CPU:
        return written(Fraction(amount, 1000))
    if resource in _BYTES:
        return f"{amount / 2**30:.3g}Gi" if amount >= 2**30 else f"{amount / 2**20:.3g}Mi"
    return str(amount)
