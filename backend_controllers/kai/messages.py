"""KAI's explanations, made fit to be read and compared.

KAI lists reasons in random order, repeats them, ends them with `..`, and gives one line per
topology domain. The same situation must give the same text here, or every cycle would be a
write; so lines are cleaned, merged and sorted. Numbers are kept. Texts are matched loosely:
one that is not recognised is passed on as it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from backend_controllers.kai.api import Explanation, QueueDetails
from shared_api.truncation import truncated

UNSCHEDULABLE = "Unschedulable"
TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
# Reasons of KAI that are passed on, the most telling first. Others are free text.
_KNOWN = ("QueueDoesNotExist", "OverLimit", "NonPreemptibleOverQuota", "PreemptionDelayNotElapsed")
_GENERIC = frozenset({"Unable to schedule podgroup", "Unable to schedule pod"})
_PREFIX = re.compile(
    r"(PodSchedulingErrors|Not enough resources for the workload|Unable to schedule podgroup|"
    + "|".join(_KNOWN)
    + r")(?::\s+|$)"
)
_GANG = re.compile(
    r"Resources were found for (?P<found>\d+) pods"
    r"(?: from all sub-groups while sub-group (?P<group>\S+) requires (?P<needed>\d+) pods"
    r"| while (?P<all>\d+) are required) for gang scheduling\."
    r" Additional pods cannot be scheduled.*? due to: (?P<cause>.*)"
)
_DOMAIN = re.compile(
    r"node-group (?P<domain>\S+) can allocate only (?P<room>\d{1,18}) of (?P<needed>\d{1,18}) required pods"
)
_REQUIREMENT = re.compile(
    r"topology (?P<topology>\S+), requirement (?P<level>\S*) couldn't be satisfied"
    r" for job <[^>]*>(?:, subgroup (?P<group>[^:\s]+))?(?P<rest>:.*)?"
)
# Counts of nodes, each on a line of its own, go on with the sentence before them.
_MORE_NODES = re.compile(r"\d+ node\(s\) ")
_MOST_LINES = 8
_LONGEST = 2048


def explain(explanations: Iterable[Explanation]) -> tuple[str, str]:
    """Reason and message of a gang that was not placed."""
    every = list(explanations)
    reasons = {explanation.reason for explanation in every}
    lines = {line for explanation in every for line in _lines(explanation)}
    message = _joined(lines)
    for known in _KNOWN:
        if known in reasons:
            return known, message
    if any("does not exist" in line and "topology" in line for line in lines):
        return "TopologyDoesNotExist", message
    if any(_DOMAIN.search(line) or _REQUIREMENT.search(line) for line in lines):
        return TOPOLOGY_UNSATISFIED, message
    return UNSCHEDULABLE, message


def explanation_of(text: str) -> Explanation:
    """A text in which the reason comes first, as in conditions of pods."""
    prefix = _PREFIX.match(text)
    if prefix is None:
        return Explanation(message=text)
    return Explanation(reason=prefix[1], message=text[prefix.end() :] or prefix[1])


def _lines(explanation: Explanation) -> Iterator[str]:
    details = explanation.details.queue_details if explanation.details else None
    lines: list[str] = []
    for part in explanation.message.splitlines():
        line = " ".join(part.split()).rstrip(" .")
        if lines and _MORE_NODES.match(line):
            lines[-1] += f", {line}"
        elif line:
            lines.append(line)
    yield from lines
    if details is not None and not any(map(str.isdigit, explanation.message)):
        yield _queue_numbers(details)


def _joined(lines: set[str]) -> str:
    telling = {line for line in lines if line not in _GENERIC}
    if not telling:
        return "KAI cannot place the gang and does not say why"
    rewritten = {_rewritten(line) for line in telling if not _DOMAIN.search(line)}
    rewritten |= set(_best_domains(telling))
    # The node message of one pod is a part of what is said about the gang.
    parts = sorted(
        line
        for line in rewritten
        if not any(line != other and line in other for other in rewritten)
    )
    shown = "; ".join(parts[:_MOST_LINES])
    if len(parts) > _MOST_LINES:
        shown += f"; and {len(parts) - _MOST_LINES} more"
    return truncated(shown, _LONGEST)


def _rewritten(line: str) -> str:
    gang = _GANG.fullmatch(line)
    if gang is not None:
        # KAI speaks of all sub-groups, but it counts within the one.
        whom = f"group '{gang['group']}'" if gang["group"] else "the gang"
        return f"{whom} fits {gang['found']} of {gang['needed'] or gang['all']}: {gang['cause']}"
    requirement = _REQUIREMENT.fullmatch(line)
    if requirement is not None:
        whom = f"'{requirement['group']}'" if requirement["group"] else "the gang"
        level = f"no domain of level {requirement['level']}" if requirement["level"] else "no place"
        return f"{level} in topology '{requirement['topology']}' has room for {whom}" + (
            requirement["rest"] or ""
        )
    return line


def _best_domains(lines: set[str]) -> Iterator[str]:
    """One line for what may be hundreds of racks: the domain that comes closest."""
    domains = [
        (int(match["needed"]), -int(match["room"]), match["domain"])
        for line in lines
        if (match := _DOMAIN.search(line))
    ]
    for needed in sorted({needed for needed, _, _ in domains}):
        of_needed = sorted(entry for entry in domains if entry[0] == needed)
        _, room, domain = of_needed[0]
        yield (
            f"fits {-room} of {needed} pods in {domain}, the best of {len(of_needed)} domains"
            if len(of_needed) > 1
            else f"fits {-room} of {needed} pods in {domain}"
        )


def _queue_numbers(details: QueueDetails) -> str:
    numbers = {
        "limit": details.queue_resource_limits,
        "quota": details.queue_deserved_resources,
        "allocated": details.queue_allocated_resources,
        "allocated to non-preemptible gangs": details.queue_allocated_non_preemptible_resources,
        "requested": details.pod_group_requested_resources,
        "requested non-preemptible": details.pod_group_requested_non_preemptible_resources,
    }
    told = ", ".join(f"{name} {_amounts(amounts)}" for name, amounts in numbers.items() if amounts)
    return f"queue '{details.name}': {told}"


def _amounts(amounts: Mapping[str, str | int | float]) -> str:
    return " ".join(f"{resource}={amounts[resource]}" for resource in sorted(amounts))
