"""Koordinator's explanations, made fit to be read and compared.

They are in the PodScheduled conditions of members, and name a pod and a gang of which both
names mean nothing to people. What differs from one attempt to the next (which member found
no room, in which order domains are listed) is left out, or every attempt would be a write.
Numbers are kept. Texts are matched loosely: one that is not recognised is passed on as it is.
"""

import re
from collections import Counter
from collections.abc import Iterable

from shared_api.truncation import truncated

UNSCHEDULABLE = "Unschedulable"
TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
NO_TOPOLOGY = "NetworkTopologyUnknown"

_REJECTED = re.compile(
    r'GangGroup ".*?" gets rejected due to member Pod ".*?" is unschedulable with reason'
    r' "(?P<cause>.*)", alreadyWaitForBound: (?P<waiting>\d+)\.?'
)
_CRAMPED = re.compile(
    r"no candidate topology nodes can accommodate job, desiredOfferSlot: (?P<needed>\d{1,18}),"
    r"(?P<domains>.*?),? ?(?:\d+/\d+ nodes are available.*)?$",
    re.DOTALL,
)
_DOMAIN = re.compile(r"topology topologyNode (?P<domain>[^:;]+): (?P<room>\d{1,18})")
_NO_TOPOLOGY = "no cluster network topology"
_PREEMPTION = re.compile(r"\s*preemption: .*$", re.DOTALL)
_FITS = "fits "
_LONGEST = 512


def explain(messages: Iterable[str], members: int) -> tuple[str, str]:
    """Reason and message of a gang of so many members that was not placed."""
    told = Counter(_told(message, members) for message in messages)
    if not told:
        return "", ""
    # The member that found no room says less than those that were turned away with it.
    rank = {TOPOLOGY_UNSATISFIED: 3, NO_TOPOLOGY: 2, UNSCHEDULABLE: 1}
    return max(
        told,
        key=lambda entry: (rank[entry[0]], entry[1].startswith(_FITS), told[entry], entry[1]),
    )


def _told(message: str, members: int) -> tuple[str, str]:
    text = " ".join(message.split())
    rejected = _REJECTED.search(text)
    cause = rejected["cause"].replace('\\"', '"') if rejected else text
    if _NO_TOPOLOGY in cause:
        return NO_TOPOLOGY, (
            "Koordinator knows nothing about the network: run koord-scheduler with"
            " --enable-network-topology-manager, and create ClusterNetworkTopology 'default'"
        )
    if (cramped := _CRAMPED.search(cause)) is not None:
        return TOPOLOGY_UNSATISFIED, _domains(cramped["domains"], int(cramped["needed"]))
    cleaned = truncated(_PREEMPTION.sub("", cause).rstrip(" ."), _LONGEST)
    if rejected is None:
        return UNSCHEDULABLE, cleaned
    return UNSCHEDULABLE, f"{_FITS}{rejected['waiting']} of {members}: {cleaned}"


def _domains(text: str, needed: int) -> str:
    """One line for what may be hundreds of racks: the domain that comes closest."""
    found = sorted(
        (-int(match["room"]), match["domain"].strip()) for match in _DOMAIN.finditer(text)
    )
    if not found:
        return f"no domain has room for {needed} pods"
    room, domain = found[0]
    best = f", the best of {len(found)} domains" if len(found) > 1 else ""
    return f"fits {-room} of {needed} pods in {domain}{best}"
