"""Reads the metadata of objects that cannot be decoded.

This module finds metadata in JSON text without building values and without recursion, so it works
on text of any depth. It must not fail for valid JSON whose metadata the API server has validated.
It never quotes a value, since values may be secret.
"""

import re
from collections.abc import Iterator

import msgspec

from shared_api.kube.metadata import Metadata
from shared_api.truncation import truncated

PROBLEM_LIMIT = 300
TOO_DEEP = "nested too deeply; at most 150 levels are always read"
_MANAGED = b'"managedFields"'
_STATUS = b',"status":{'

# Possessive: no input makes them backtrack.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(_STRING + rb'|[\[\]{},:"]', re.DOTALL)
# Strings and flat values with the separators between them, or brackets: one match for many values,
# because a megabyte may have very many.
_BETWEEN = rb'[^\[\]{}"]*+'
_FLAT = rb"(?:" + _STRING + rb"|\[" + _BETWEEN + rb"\]|\{" + _BETWEEN + rb"\})"
_RUN = re.compile(
    rb"(?:" + _FLAT + _BETWEEN + rb")++|(?P<open>[\[{])|(?P<close>[\]}]++)|\"", re.DOTALL
)
_PLACE = re.compile(r"^(?P<expected>.*?)(?: - at `(?P<place>.*)`)?$", re.DOTALL)
_QUOTED = re.compile(r" (?:'.*'|\".*\")", re.DOTALL)
_CUT = "JSON is malformed: it ends too early"
_METADATA = msgspec.json.Decoder(Metadata)


class Unreadable(msgspec.Struct, frozen=True):
    """The metadata of an object that cannot be decoded, and what is wrong with it."""

    metadata: Metadata
    problem: str
    """The path of the field and what is expected there, such as "spec.replicas: Expected `int`"."""
    status: bytes = b""
    """The JSON text of the object's status; empty if it has none."""

    def explained(self, kind: str) -> str:
        """Return what is wrong and what to do about it, for conditions and Events."""
        return (
            f"{kind} {self.metadata.name} cannot be read: {self.problem}."
            " Correct it or delete the object; until then its changes are ignored."
        )


def unreadable(text: bytes, error: Exception) -> Unreadable:
    """Return the metadata of an object; raise msgspec.DecodeError if that cannot be read."""
    metadata = b"{}"
    for key, value in members(text):
        if key == b'"metadata"':
            kept = (b"%b:%b" % pair for pair in members(value) if pair[0] != _MANAGED)
            metadata = b"{%b}" % b",".join(kept)
            break
    return Unreadable(_METADATA.decode(metadata), problem_of(error), _status(text))


def members(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of an object, or the values of a list with empty keys.

    Text after the last requested value is not read.
    """
    opening = _TOKEN.search(text)
    if opening is None or text[opening.start()] not in b"[{":
        raise msgspec.DecodeError("JSON is malformed: neither an object nor a list")
    begin = at = opening.end()
    key = b""
    while token := _TOKEN.search(text, at):
        kind, at = text[token.start()], token.end()
        if kind in b"[{":
            at = _end(text, token.start())
        elif kind in b":":
            key, begin = text[begin : token.start()].strip(), at
        elif kind in b",":
            yield key, text[begin : token.start()].strip()
            key, begin = b"", at
        elif kind in b"]}":
            if last := text[begin : token.start()].strip():
                yield key, last
            return
        elif token[0] == b'"':
            break
    raise msgspec.DecodeError(_CUT)


def _end(text: bytes, begin: int) -> int:
    """Return the end of the list or object that begins here."""
    depth = 1
    for run in _RUN.finditer(text, begin + 1):
        if run["open"]:
            depth += 1
        elif closed := run["close"]:
            if len(closed) >= depth:
                return run.start() + depth
            depth -= len(closed)
        elif run[0] == b'"':
            break
    raise msgspec.DecodeError(_CUT)


def problem_of(error: Exception) -> str:
    """Return the field that cannot be decoded and its expected type, without the value."""
    if isinstance(error, RecursionError) or "recursion limit" in str(error):
        return TOO_DEEP
    if isinstance(error, msgspec.MsgspecError):
        found = _PLACE.match(str(error))
        assert found is not None
        place = (found["place"] or "$").removeprefix("$").removeprefix(".")
        return _put(place, _QUOTED.sub("", found["expected"]))
    # Pydantic's messages quote the value; its list of errors can be read without it.
    errors = getattr(error, "errors", None)
    if errors is None:
        return type(error).__name__
    first, *others = errors(include_url=False, include_context=False, include_input=False)
    expected = first["msg"] if first["type"] != "value_error" else "a valid value"
    rest = f" (and {len(others)} more)" if others else ""
    return _put(".".join(map(str, first["loc"])), expected) + rest


def _put(place: str, expected: str) -> str:
    return truncated(f"{place}: {expected}" if place else expected, PROBLEM_LIMIT)


def _status(text: bytes) -> bytes:
    """Return the status, which the server writes last; empty if there is none.

    Text inside the object that is one complete value up to the last brace must be a member.
    """
    begin = text.rfind(_STATUS)
    found = text[begin + len(_STATUS) - 1 : text.rfind(b"}")] if begin >= 0 else b""
    try:
        msgspec.json.decode(found, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        return b""
    return found
