"""DNS for pods: names of headless Services and of the pods behind them. Pure.

It has A records only, by the EndpointSlices of headless Services. That is what the pods of a gang need
to find each other, and less than a DNS server of a real cluster has.
"""

import ipaddress
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from local_cluster.container_node.addresses import API_SERVICE, CLUSTER_DOMAIN

_A, _AAAA, _INTERNET = 1, 28, 1
_TTL_SECONDS = 1
_NO_SUCH_NAME, _FORMAT_ERROR = 3, 1
_ANSWER, _AUTHORITATIVE, _RECURSION_WANTED = 0x8000, 0x0400, 0x0100
_POINTER_TO_QUESTION = 0xC00C
_HEADER = struct.Struct(">HHHHHH")

Records = dict[str, list[str]]


def records(slices: Iterable[Mapping[str, Any]]) -> Records:
    """Return the addresses of each name, in lower case and without the last dot."""
    found: dict[str, set[str]] = {f"kubernetes.default.svc.{CLUSTER_DOMAIN}": {API_SERVICE}}
    for entry in slices:
        metadata = entry["metadata"]
        labels = metadata.get("labels") or {}
        service = labels.get("kubernetes.io/service-name")
        if service is None or "service.kubernetes.io/headless" not in labels:
            continue
        name = f"{service}.{metadata['namespace']}.svc.{CLUSTER_DOMAIN}"
        for endpoint in entry.get("endpoints") or []:
            if endpoint.get("conditions", {}).get("ready") is False:
                continue
            addresses = endpoint["addresses"]
            found.setdefault(name, set()).update(addresses)
            if hostname := endpoint.get("hostname"):
                found.setdefault(f"{hostname}.{name}", set()).update(addresses)
    return {name: sorted(addresses) for name, addresses in found.items()}


def answer(query: bytes, known: Records) -> bytes | None:
    """Return the response to a query, or None if there is nothing to respond to."""
    if len(query) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(query)
    if flags & _ANSWER:
        return None
    head = _ANSWER | _AUTHORITATIVE | (flags & _RECURSION_WANTED)
    parsed = _question(query) if questions == 1 else None
    if parsed is None:
        return _HEADER.pack(number, head | _FORMAT_ERROR, 0, 0, 0, 0)
    name, kind, end = parsed
    question = query[_HEADER.size : end]
    addresses = known.get(name)
    if addresses is None:
        return _HEADER.pack(number, head | _NO_SUCH_NAME, 1, 0, 0, 0) + question
    given = addresses if kind == _A else []
    body = b"".join(
        struct.pack(">HHHIH", _POINTER_TO_QUESTION, _A, _INTERNET, _TTL_SECONDS, 4)
        + ipaddress.IPv4Address(address).packed
        for address in given
    )
    return _HEADER.pack(number, head, 1, len(given), 0, 0) + question + body


def _question(query: bytes) -> tuple[str, int, int] | None:
    """Return name, type and end of the only question."""
    labels: list[str] = []
    at = _HEADER.size
    try:
        while length := query[at]:
            if length > 63:
                return None
            labels.append(query[at + 1 : at + 1 + length].decode("ascii").lower())
            at += 1 + length
        kind, _ = struct.unpack_from(">HH", query, at + 1)
    except (IndexError, struct.error, UnicodeDecodeError):
        return None
    return ".".join(labels), kind, at + 5
