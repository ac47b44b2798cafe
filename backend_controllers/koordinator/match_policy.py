"""Mode, match policy and waiting time of a gang: how its members wait for each other.

Users set them with Koordinator's own annotations on the PodCliqueSet, administrators with the
options. Koordinator only logs an invalid value and uses its defaults, so an invalid value rejects
the gang here.
"""

import enum
import math
from typing import TypeVar

from backend_controllers.contract.findings import Findings
from backend_controllers.koordinator.api import KEY_MATCH_POLICY, KEY_MODE, KEY_WAITING_TIME
from backend_controllers.koordinator.installation import LONGEST_WAIT, KoordinatorInstallation
from shared_api.durations import duration_of
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.models import JsonObject

C = TypeVar("C", bound=enum.StrEnum)


def annotations_of(
    installation: KoordinatorInstallation, gang: ObservedPodGang, findings: Findings
) -> JsonObject:
    """Return mode and match policy, as annotations of the PodGroups."""
    options = installation.options
    return {
        KEY_MODE: _chosen(gang, KEY_MODE, options.mode, findings),
        KEY_MATCH_POLICY: _chosen(gang, KEY_MATCH_POLICY, options.match_policy, findings),
    }


def timeout_of(
    installation: KoordinatorInstallation, gang: ObservedPodGang, findings: Findings
) -> int | None:
    """Return how many seconds members wait for each other; None for Koordinator's own setting."""
    requested = gang.metadata.annotations.get(KEY_WAITING_TIME)
    seconds = installation.options.waiting_seconds if requested is None else _seconds(requested)
    if requested is not None and (seconds is None or not 1 <= seconds <= LONGEST_WAIT):
        findings.refusals.append(
            f"{KEY_WAITING_TIME} has the invalid value '{requested}'. Set it to a duration such as"
            f" 90s or 5m, from 1s to {LONGEST_WAIT}s"
        )
        return None
    if seconds is not None and not installation.features.waiting_time:
        findings.remarks.append(
            f"the waiting time of {seconds} s is ignored: the installed PodGroup has no field"
            " spec.scheduleTimeoutSeconds. Install the CRDs of Koordinator v1.0 or newer"
        )
        return None
    return seconds


def _chosen(gang: ObservedPodGang, key: str, default: C, findings: Findings) -> str:
    requested = gang.metadata.annotations.get(key)
    known = [entry.value for entry in type(default)]
    if requested is None or requested in known:
        return requested or default.value
    findings.refusals.append(
        f"{key} has the invalid value '{requested}'. Set it to {' or '.join(sorted(known))}"
    )
    return default.value


def _seconds(text: str) -> int | None:
    """Return the whole seconds of a Go duration, rounded up; None if it is invalid."""
    found = duration_of(text)
    return None if found is None else math.ceil(found.total_seconds())
