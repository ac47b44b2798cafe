"""On which terms the members of a gang wait for each other.

Users set them with Koordinator's own annotations on the PodCliqueSet, administrators with
the options. Koordinator only logs what it does not understand and takes its defaults, so a
value that it would not understand refuses the gang here.
"""

import enum
import math
import re
from typing import TypeVar

from backend_controllers.koordinator.api import KEY_MATCH_POLICY, KEY_MODE, KEY_WAITING_TIME
from backend_controllers.koordinator.options import LONGEST_WAIT, Notes, Speech
from shared_api.kube.podgangs import PodGang
from shared_api.models import JsonObject

C = TypeVar("C", bound=enum.StrEnum)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def annotations_of(speech: Speech, gang: PodGang, notes: Notes) -> JsonObject:
    """The terms that PodGroups carry as annotations."""
    options = speech.options
    return {
        KEY_MODE: _chosen(gang, KEY_MODE, options.mode, notes),
        KEY_MATCH_POLICY: _chosen(gang, KEY_MATCH_POLICY, options.match_policy, notes),
    }


def timeout_of(speech: Speech, gang: PodGang, notes: Notes) -> int | None:
    """How many seconds members wait for each other; None for Koordinator's own setting."""
    asked = gang.metadata.annotations.get(KEY_WAITING_TIME)
    seconds = speech.options.waiting_seconds if asked is None else _seconds(asked)
    if asked is not None and (seconds is None or not 1 <= seconds <= LONGEST_WAIT):
        notes.refusals.append(
            f"{KEY_WAITING_TIME} is '{asked}': it can be a duration such as 90s or 5m, from 1s to"
            f" {LONGEST_WAIT}s"
        )
        return None
    if seconds is not None and not speech.features.waiting_time:
        notes.remarks.append(
            f"the waiting time of {seconds} s is left to Koordinator's own setting: the installed"
            " PodGroup has no field spec.scheduleTimeoutSeconds; install the CRDs of v1.0 or newer"
        )
        return None
    return seconds


def _chosen(gang: PodGang, key: str, default: C, notes: Notes) -> str:
    asked = gang.metadata.annotations.get(key)
    known = [entry.value for entry in type(default)]
    if asked is None or asked in known:
        return asked or default.value
    notes.refusals.append(f"{key} is '{asked}': it can be {' or '.join(sorted(known))}")
    return default.value


def _seconds(text: str) -> int | None:
    """Whole seconds of a Go duration, rounded up; None if it is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return math.ceil(seconds) if math.isfinite(seconds) else None
