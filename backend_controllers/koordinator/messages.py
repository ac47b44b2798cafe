"""Koordinator's explanations, cleaned so that people can read them and this backend can compare them.

They are in the PodScheduled conditions of members, and contain names of pods and gangs that mean
nothing to people. What differs between attempts (which member does not fit, the order of domains)
is removed, otherwise every attempt would be a write. Numbers are kept. A text that is not
recognised stays as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable

from backend_controllers.contract.explanations import closest_domain
from shared_api.truncation import truncated

UNSCHEDULABLE = "Unschedulable"
TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
NO_TOPOLOGY = "NetworkTopologyUnknown"

_REJECTED = re.compile(
    r'GangGroup ".*?" gets rejected due to member Pod ".*?" is unschedulable with reason'
    r' "(?P<cause>.*)", alreadyWaitForBound: (?P<waiting>\d+)\.?'
)
_NO_CAPACITY = re.compile(
    r"no candidate topology nodes can accommodate job, desiredOfferSlot: (?P<needed>\d{1,18}),"
    r"(?P<domains>.*?),? ?(?:\d+/\d+ nodes are available.*)?$",
    re.DOTALL,
)
_DOMAIN = re.compile(r"topology topologyNode (?P<domain>[^:;]+): (?P<fitting>\d{1,18})")
_NO_TOPOLOGY = "no cluster network topology"
_PREEMPTION = re.compile(r"\s*preemption: .*$", re.DOTALL)
_FITS = "fits "
_LONGEST = 512


def explain(messages: Iterable[str], members: int) -> tuple[str, str]:
    """Return reason and message of a gang of so many members that was not scheduled."""
    found = Counter(_explanation(message, members) for message in messages)
    if not found:
        return "", ""
    # The member that does not fit reports less than the members that were rejected with it.
    rank = {TOPOLOGY_UNSATISFIED: 3, NO_TOPOLOGY: 2, UNSCHEDULABLE: 1}
    return max(
        found,
        key=lambda entry: (rank[entry[0]], entry[1].startswith(_FITS), found[entry], entry[1]),
    )


def _explanation(message: str, members: int) -> tuple[str, str]:
    text = " ".join(message.split())
    rejected = _REJECTED.search(text)
    cause = rejected["cause"].replace('\\"', '"') if rejected else text
    if _NO_TOPOLOGY in cause:
        return NO_TOPOLOGY, (
            "Koordinator has no network topology. Run koord-scheduler with"
            " --enable-network-topology-manager, and create ClusterNetworkTopology 'default'"
        )
    if (full := _NO_CAPACITY.search(cause)) is not None:
        matches = _DOMAIN.finditer(full["domains"])
        domains = [(match["domain"].strip(), int(match["fitting"])) for match in matches]
        return TOPOLOGY_UNSATISFIED, closest_domain(domains, int(full["needed"]))
    cleaned = truncated(_PREEMPTION.sub("", cause).rstrip(" ."), _LONGEST)
    if rejected is None:
        return UNSCHEDULABLE, cleaned
    return UNSCHEDULABLE, f"{_FITS}{rejected['waiting']} of {members}: {cleaned}"
