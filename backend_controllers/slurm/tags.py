"""What a job of ours reports: its comment and its name. Pure.

The comment has the gang, its pods and one letter for each pod, and only this backend changes it: `.`
waits, `g` go, `d` dropped before its start, `x` to be ended. The name starts as `namespace/gang#attempt`; the job's script appends what the
pods do, `R` running or `E` ended with exit code, and restarts. So each field has one writer, and both
fields are read by everyone who may list jobs. Slurm limits each to 1024 characters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from backend_controllers.contract.remote.executor import GangTag, pod_digest, unresolved

MARK = "podgang1"
MOST_PODS = 100
"""Pods of one job; more do not fit into a comment."""
WAIT, GO, DROP, END = ".", "g", "d", "x"
_DROPPED = DROP + END
_LONGEST = 1000
_STATE = re.compile(r"^(?:(-)|R(\d+)|E(\d+)\.(\d+))(?:\*(\d+))?$")


@dataclass(frozen=True, slots=True)
class JobTag:
    """The comment of a job."""

    cluster: str
    backend: str
    gang: GangTag
    attempt: int
    policies: str
    """One letter for each pod: A(lways), O(nFailure), N(ever)."""
    sizes: tuple[int, ...]
    """Pods of each component of the job."""
    pods: tuple[str, ...]
    """Name and UID of each pod with a colon, or only a digest of the UID where that is too long."""
    commands: str
    """One letter for each pod."""

    @property
    def title(self) -> str:
        """The name with which the job is submitted."""
        return f"{self.gang.namespace}/{self.gang.name}#{self.attempt}"

    @property
    def is_waiting(self) -> bool:
        """Tell whether no pod was started."""
        return GO not in self.commands and END not in self.commands

    @property
    def digests(self) -> tuple[str, ...]:
        """Six characters for the UID of each pod."""
        return tuple(
            pod_digest(uid) if colon else name
            for name, colon, uid in (pod.partition(":") for pod in self.pods)
        )

    def identity(self, slot: int) -> tuple[str, str]:
        """Return name and UID of a pod, or what stands for them."""
        name, colon, uid = self.pods[slot].partition(":")
        return (name, uid) if colon else ("", unresolved(name))

    def text(self) -> str:
        """Return the comment."""
        return " ".join(
            (
                *(MARK, self.cluster, self.backend, self.title, self.gang.uid),
                *(self.policies, ",".join(map(str, self.sizes)), ",".join(self.pods)),
                self.commands,
            )
        )

    def shortened(self) -> "JobTag":
        """Return this tag with digests instead of names if its text is too long for a comment."""
        if len(self.text()) <= _LONGEST:
            return self
        return replace(self, pods=self.digests)

    @property
    def live(self) -> frozenset[int]:
        """The pods that are not dropped."""
        return frozenset(
            slot for slot, letter in enumerate(self.commands) if letter not in _DROPPED
        )

    def started(self, slots: Sequence[int]) -> "JobTag":
        """Return this tag with "go" for some pods; a dropped pod stays dropped."""
        return self._commanded(slots, {WAIT: GO})

    def dropped(self, slots: Sequence[int]) -> "JobTag":
        """Return this tag without some pods."""
        return self._commanded(slots, {WAIT: DROP, GO: END})

    def _commanded(self, slots: Sequence[int], letters: Mapping[str, str]) -> "JobTag":
        chosen = set(slots)
        commands = (
            letters.get(letter, letter) if place in chosen else letter
            for place, letter in enumerate(self.commands)
        )
        return replace(self, commands="".join(commands))


def tag_of(comment: str) -> JobTag | None:
    """Return what a comment contains; None for a foreign job."""
    words = comment.split(" ")
    if len(words) != 9 or words[0] != MARK:
        return None
    _, cluster, backend, title, uid, policies, sizes, listed, commands = words
    path, _, attempt = title.rpartition("#")
    namespace, _, gang = path.partition("/")
    count = len(policies)
    counts, pods = sizes.split(","), tuple(listed.split(","))
    if (
        not attempt.isdecimal()
        or not all(size.isdecimal() for size in counts)
        or len(pods) != count
        or len(commands) != count
    ):
        return None
    found = tuple(map(int, counts))
    if sum(found) != count:
        return None
    tag = GangTag(namespace, gang, uid)
    return JobTag(cluster, backend, tag, int(attempt), policies, found, pods, commands)


@dataclass(frozen=True, slots=True)
class PodReport:
    """What a job's script reports about one pod."""

    exit_code: int | None = None
    restarts: int = 0
    has_begun: bool = True


_NOTHING = PodReport(has_begun=False)


def reports_of(name: str, count: int) -> tuple[PodReport, ...]:
    """Return what the name of a job reports about each pod."""
    _, _, text = name.partition(" ")
    found: list[PodReport] = []
    for part in filter(None, text.split(",")):
        match = _STATE.match(part)
        if match is None:
            break
        waits, running, code, restarts, times = match.groups()
        if waits:
            report = _NOTHING
        elif running is not None:
            report = PodReport(None, int(running))
        else:
            report = PodReport(int(code), int(restarts))
        found += [report] * min(int(times or 1), count)
    found = found[:count]
    return (*found, *[_NOTHING] * (count - len(found)))
