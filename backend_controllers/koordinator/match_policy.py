"""On which terms the members of a gang wait for each other.

Users set them with Koordinator's own annotations on the PodCliqueSet, administrators with
the options. Koordinator only logs what it does not understand and takes its defaults, so a
value that it would not understand refuses the gang here.
"""

import enum
import math
from typing import TypeVar

from backend_controllers.contract.findings import Findings
from backend_controllers.koordinator.api import KEY_MATCH_POLICY, KEY_MODE, KEY_WAITING_TIME
from backend_controllers.koordinator.options import LONGEST_WAIT, KoordinatorInstallation
from shared_api.durations import duration_of
from shared_api.kube.podgangs import PodGang
from shared_api.models import JsonObject

C = TypeVar("C", bound=enum.StrEnum)


def annotations_of(
    installation: KoordinatorInstallation, gang: PodGang, findings: Findings
) -> JsonObject:
    """The terms that PodGroups carry as annotations."""
    options = installation.options
    return {
        KEY_MODE: _chosen(gang, KEY_MODE, options.mode, findings),
        KEY_MATCH_POLICY: _chosen(gang, KEY_MATCH_POLICY, options.match_policy, findings),
    }


def timeout_of(
    installation: KoordinatorInstallation, gang: PodGang, findings: Findings
) -> int | None:
    """How many seconds members wait for each other; None for Koordinator's own setting."""
    asked = gang.metadata.annotations.get(KEY_WAITING_TIME)
    seconds = installation.options.waiting_seconds if asked is None else _seconds(asked)
    if asked is not None and (seconds is None or not 1 <= seconds <= LONGEST_WAIT):
        findings.refusals.append(
            f"{KEY_WAITING_TIME} is '{asked}': it can be a duration such as 90s or 5m, from 1s to"
            f" {LONGEST_WAIT}s"
        )
        return None
    if seconds is not None and not installation.features.waiting_time:
        findings.remarks.append(
            f"the waiting time of {seconds} s is left to Koordinator's own setting: the installed"
            " PodGroup has no field spec.scheduleTimeoutSeconds; install the CRDs of v1.0 or newer"
        )
        return None
    return seconds


def _chosen(gang: PodGang, key: str, default: C, findings: Findings) -> str:
    asked = gang.metadata.annotations.get(key)
    known = [entry.value for entry in type(default)]
    if asked is None or asked in known:
        return asked or default.value
    findings.refusals.append(f"{key} is '{asked}': it can be {' or '.join(sorted(known))}")
    return default.value


def _seconds(text: str) -> int | None:
    """Return whole seconds of a Go duration, rounded up; None if it is none."""
    found = duration_of(text)
    return None if found is None else math.ceil(found.total_seconds())
