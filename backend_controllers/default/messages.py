"""Takes the noise out of what kube-scheduler says, and keeps its numbers.

The scheduler chains the answers of all its plugins: what they tried in vain, that a group
which cannot be placed is unschedulable, which preemption was not attempted. What a person can
act on is which nodes were short of what, how many pods found room, and errors. A text that is
nothing but noise becomes empty. One such is that pods wait for the others: it is written
while the gates of a gang go one after the other, and says nothing about the gang.
"""

import re

_NOISE = re.compile(
    "|".join(
        (
            r"pod group is unschedulable",
            r"first placement status:",
            r"no new claims to deallocate",
            r"waiting for minCount pods from a gang to be scheduled",
            r"one or more plugins asked to wait and no plugin rejected pod",
            r"workload aware preemption is not supported for pod groups with scheduling constraints",
            r"No preemption victims found for incoming \w+",
            # Without topology there is one placement, the cluster.
            r"(?<!\d)0/1 placements are available",
            # To the end: it repeats the nodes, each with why nobody there can be preempted.
            r"(pod group )?preemption: (?!found a placement).*",
        )
    )
)
_FOUND_VICTIMS = re.compile(r"(pod group )?preemption: found a placement for \w+, ")
_MIN_COUNT = re.compile(r"minCount \((\d+)\) cannot be satisfied: (\d+) scheduled, (\d+) remaining")
_SEPARATORS = re.compile(r"\s*[,.;](?:\s*[,.;])+\s*")
_NODES = re.compile(r"\d+/\d+ nodes are available")
_PRIORITY = "should have the same priority"
_PRIORITY_HINT = (
    "set spec.template.priorityClassName of the PodCliqueSet, for all its pods to share it"
)


def cleaned(text: str) -> str:
    """What is worth telling of a text; empty if nothing is."""
    told = _MIN_COUNT.sub(_fitting, _NOISE.sub("", _FOUND_VICTIMS.sub("", text)))
    told = _SEPARATORS.sub(", ", " ".join(told.split())).strip(" ,.;")
    return f"{told}; {_PRIORITY_HINT}" if _PRIORITY in told else told


def names_nodes(text: str) -> bool:
    """Tell whether a text says which nodes were short of what."""
    return _NODES.search(text) is not None


def _fitting(counts: re.Match[str]) -> str:
    wanted, placed, untried = counts.groups()
    text = f"{placed} of {wanted} pods fit"
    return text if untried == "0" else f"{text}, {untried} not tried"
