"""Messages of kube-scheduler without noise, with their numbers.

The scheduler joins the messages of all its plugins: failed attempts, that an unschedulable group
is unschedulable, preemptions that were not tried. People need the nodes that lack a resource, how
many pods fit, and errors. A message with only noise becomes empty. One example is that pods wait
for the others: it is written while a gang is ungated pod by pod, and means nothing for the gang.
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
            # Without topology the cluster is the only placement.
            r"(?<!\d)0/1 placements are available",
            # To the end: it repeats the nodes, each with why no pod there can be preempted.
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
    "Set spec.template.priorityClassName of the PodCliqueSet, so that all its pods have the same"
)


def cleaned(text: str) -> str:
    """Return a message without noise; empty if it has nothing else."""
    kept = _MIN_COUNT.sub(_fitting, _NOISE.sub("", _FOUND_VICTIMS.sub("", text)))
    kept = _SEPARATORS.sub(", ", " ".join(kept.split())).strip(" ,.;")
    return f"{kept}. {_PRIORITY_HINT}" if _PRIORITY in kept else kept


def names_nodes(text: str) -> bool:
    """Tell whether a message names the nodes and what they lack."""
    return _NODES.search(text) is not None


def _fitting(counts: re.Match[str]) -> str:
    needed, fitting, untried = counts.groups()
    text = f"{fitting} of {needed} pods fit"
    return text if untried == "0" else f"{text}, {untried} not tried"
