"""KAI's explanations, cleaned so that people can read them and this backend can compare them.

KAI lists reasons in random order, repeats them, ends them with `..`, and has one line per topology
domain. The same situation must give the same message here, otherwise every cycle would be a write.
So lines are cleaned, merged and sorted, and numbers are kept. A line that is not recognised stays
as it is.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from backend_controllers.contract.explanations import closest_domain, first_lines
from backend_controllers.kai.api import Explanation, QueueDetails
from shared_api.truncation import truncated

UNSCHEDULABLE = "Unschedulable"
TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
# Reasons of KAI that are passed on, the most specific first. Other reasons are free text.
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
    r"node-group (?P<domain>\S+) can allocate only (?P<fitting>\d{1,18}) of (?P<needed>\d{1,18}) required pods"
)
_REQUIREMENT = re.compile(
    r"topology (?P<topology>\S+), requirement (?P<level>\S*) couldn't be satisfied"
    r" for job <[^>]*>(?:, subgroup (?P<group>[^:\s]+))?(?P<rest>:.*)?"
)
# Counts of nodes, each on its own line, continue the sentence before them.
_MORE_NODES = re.compile(r"\d+ node\(s\) ")
_LONGEST = 2048


def explain(explanations: Iterable[Explanation]) -> tuple[str, str]:
    """Return reason and message of a gang that was not scheduled."""
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
    """Parse a text that begins with its reason, as conditions of pods do."""
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
    specific = lines - _GENERIC
    if not specific:
        return "KAI cannot schedule the gang and gives no reason"
    rewritten = {_rewritten(line) for line in specific if not _DOMAIN.search(line)}
    rewritten |= set(_closest_domains(specific))
    # The node message of one pod is often part of the message about the gang.
    parts = sorted(
        line
        for line in rewritten
        if not any(line != other and line in other for other in rewritten)
    )
    return truncated(first_lines(parts), _LONGEST)


def _rewritten(line: str) -> str:
    gang = _GANG.fullmatch(line)
    if gang is not None:
        # KAI writes "from all sub-groups", but it counts pods of this one.
        title = f"group '{gang['group']}'" if gang["group"] else "the gang"
        return f"{title} fits {gang['found']} of {gang['needed'] or gang['all']}: {gang['cause']}"
    requirement = _REQUIREMENT.fullmatch(line)
    if requirement is not None:
        title = f"'{requirement['group']}'" if requirement["group"] else "the gang"
        level = f"domain of level {requirement['level']}" if requirement["level"] else "domain"
        rest = requirement["rest"] or ""
        return f"no {level} in topology '{requirement['topology']}' has capacity for {title}{rest}"
    return line


def _closest_domains(lines: set[str]) -> Iterator[str]:
    """Yield one line for each number of needed pods, instead of one for each domain."""
    by_needed: dict[int, list[tuple[str, int]]] = {}
    for line in lines:
        if match := _DOMAIN.search(line):
            domain = (match["domain"], int(match["fitting"]))
            by_needed.setdefault(int(match["needed"]), []).append(domain)
    for needed, domains in sorted(by_needed.items()):
        yield closest_domain(domains, needed)


def _queue_numbers(details: QueueDetails) -> str:
    numbers = {
        "limit": details.queue_resource_limits,
        "quota": details.queue_deserved_resources,
        "allocated": details.queue_allocated_resources,
        "allocated to non-preemptible gangs": details.queue_allocated_non_preemptible_resources,
        "requested": details.pod_group_requested_resources,
        "requested non-preemptible": details.pod_group_requested_non_preemptible_resources,
    }
    known = ", ".join(f"{name} {_amounts(amounts)}" for name, amounts in numbers.items() if amounts)
    return f"queue '{details.name}': {known}"


def _amounts(amounts: Mapping[str, str | int | float]) -> str:
    return " ".join(f"{resource}={amounts[resource]}" for resource in sorted(amounts))
