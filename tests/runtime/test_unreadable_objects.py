"""An object that cannot be read harms nobody else, keeps its last readable version, and heals."""

import asyncio

import msgspec
import pytest

from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.resources import PODS
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.clock import Clock
from shared_api.runtime.recording.event_objects import Reporter
from shared_api.runtime.recording.recorder import Recorder
from shared_api.runtime.recording.unreadable_reports import UnreadableReports
from shared_api.runtime.telemetry.metrics import Telemetry
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import (
    Changed,
    Delta,
    Reflector,
    Removed,
    Restarted,
    Source,
    Synced,
    Undecoded,
    WatchTiming,
)
from tests.faults.clients import scripted
from tests.faults.scripted import answer, failure, silence, stream
from tests.runtime.watch_scripts import Json, bookmark, collect
from tests.runtime.writes import ScriptedClient

A = ObjectKey("n", "a")
Told = list[tuple[str, str]]


class Sized(msgspec.Struct, frozen=True):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, int] = {}


def metadata(name: str, version: int, *, uid: str = "", going: bool = False) -> Metadata:
    return Metadata(
        name,
        "n",
        uid or f"uid-{name}",
        str(version),
        deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
    )


def good(name: str, version: int, *, uid: str = "") -> Changed[Sized]:
    return Changed(Sized(metadata(name, version, uid=uid), {"x": version}))


def bad(name: str, version: int, *, uid: str = "", going: bool = False) -> Undecoded:
    return Undecoded(Unreadable(metadata(name, version, uid=uid, going=going), "spec.x: int"))


def gone(name: str, version: int, *, uid: str = "") -> Removed[Sized]:
    return Removed(Unreadable(metadata(name, version, uid=uid), "spec.x: int"))


def event(kind: str, name: str, version: int, spec: object) -> Json:
    fields = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"type": kind, "object": {"kind": "Pod", "metadata": fields, "spec": spec}}


def version_of(value: Sized | Unreadable | None) -> str:
    return "" if value is None else value.metadata.resource_version


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def unread() -> Told:
    return []


@pytest.fixture
def cache(told: Told, unread: Told) -> Cache[Sized]:
    made: Cache[Sized] = Cache({"x": lambda value: map(str, value.spec.values())})
    made.subscribe(lambda old, new: told.append((version_of(old), version_of(new))))
    made.subscribe_unreadable(lambda old, new: unread.append((version_of(old), version_of(new))))
    return made


def fill(cache: Cache[Sized], *deltas: Delta[Sized], version: int = 9) -> None:
    for delta in (Restarted(), *deltas, Synced(str(version))):
        cache.take(delta)


@pytest.mark.virtual_time
async def test_a_watch_moves_past_an_object_that_cannot_be_read(clock: Clock) -> None:
    opened = stream(
        event("ADDED", "a", 5, {"x": 1}),
        event("ADDED", "b", 6, {"x": "y"}),
        bookmark(9, end=True),
        event("MODIFIED", "a", 10, {"x": "y"}),
        {"type": "ADDED", "object": 3},
        event("DELETED", "b", 11, {"x": "y"}),
    )
    again = stream(event("ADDED", "c", 12, {"x": 1}), then=silence)
    async with scripted(opened, again) as (server, client):
        timing = WatchTiming(random=lambda: 0.0)
        seen = await collect(Reflector(client, Source(PODS, Sized), timing=timing, clock=clock), 8)

    assert seen == ["restarted", "a@5", "?b@6", "synced@9", "?a@10", "?@", "-b@11", "c@12"]
    assert server.received[1].query["resourceVersion"] == "11"


@pytest.mark.virtual_time
async def test_a_list_gives_the_neighbours_of_an_object_that_cannot_be_read(clock: Clock) -> None:
    items = [event("", "a", 5, {"x": 1})["object"], event("", "b", 6, {"x": "y"})["object"]]
    listed = answer(200, {"metadata": {"resourceVersion": "9"}, "items": items})
    refused = failure(422, "Invalid", message="sendInitialEvents is forbidden for watch")
    async with scripted(refused, listed, stream(then=silence)) as (_, client):
        timing = WatchTiming(random=lambda: 0.0)
        seen = await collect(Reflector(client, Source(PODS, Sized), timing=timing, clock=clock), 5)

    assert seen == ["restarted", "restarted", "a@5", "?b@6", "synced@9"]


def test_an_object_that_was_never_readable_is_known_and_not_cached(
    cache: Cache[Sized], told: Told, unread: Told
) -> None:
    fill(cache, good("b", 4), bad("a", 5))

    assert cache.get(A) is None
    assert cache.knows(A)
    assert cache.unreadable[A].problem == "spec.x: int"
    assert told == [("", "4")]
    assert unread == [("", "5")]


def test_the_last_readable_version_stays_and_is_indexed(
    cache: Cache[Sized], told: Told, unread: Told
) -> None:
    fill(cache, good("a", 5))

    cache.take(bad("a", 10))

    assert version_of(cache.get(A)) == "5"
    assert version_of(cache.get_by_uid("uid-a")) == "5"
    assert [version_of(value) for value in cache.by_index("x", "5")] == ["5"]
    assert told == [("", "5")]
    assert unread == [("", "10")]


def test_what_is_readable_again_goes_on_from_the_last_readable_version(
    cache: Cache[Sized], told: Told, unread: Told
) -> None:
    fill(cache, good("a", 5), bad("b", 6))

    for delta in (bad("a", 10), good("a", 11), good("b", 12)):
        cache.take(delta)

    assert not cache.unreadable
    assert told == [("", "5"), ("5", "11"), ("", "12")]
    assert unread == [("", "6"), ("", "10"), ("10", ""), ("6", "")]


@pytest.mark.parametrize("removal", [gone("a", 11), Removed(Sized(metadata("a", 11)))])
def test_a_removal_removes_the_object_and_its_last_readable_version(
    cache: Cache[Sized], told: Told, unread: Told, removal: Removed[Sized]
) -> None:
    fill(cache, good("a", 5))
    cache.take(bad("a", 10))

    cache.take(removal)

    assert not cache.knows(A)
    assert told[-1] == ("5", "")
    assert unread[-1] == ("10", "")
    assert cache.by_index("x", "5") == []


def test_what_is_not_sent_again_is_gone_and_what_is_stays(cache: Cache[Sized], told: Told) -> None:
    fill(cache, good("a", 5), good("b", 6), bad("c", 7), bad("d", 8))
    cache.take(bad("a", 10))
    cache.take(bad("b", 11))

    fill(cache, bad("a", 10), bad("c", 7), version=20)

    assert version_of(cache.get(A)) == "5"
    assert {key.name for key in cache.unreadable} == {"a", "c"}
    assert ("6", "") in told


def test_an_object_that_took_over_a_name_is_another_one(cache: Cache[Sized], told: Told) -> None:
    fill(cache, good("a", 5, uid="first"))

    cache.take(bad("a", 10, uid="second"))
    assert told[-1] == ("5", "")
    assert cache.get(A) is None

    cache.take(good("a", 11, uid="third"))
    assert not cache.unreadable
    assert told[-1] == ("", "11")


def test_what_terminates_while_it_cannot_be_read_is_not_held_as_if_it_did_not(
    cache: Cache[Sized], told: Told
) -> None:
    fill(cache, good("a", 5))
    cache.note_deletion(A, "uid-a")

    cache.take(bad("a", 10, going=True))

    assert cache.get(A) is None
    assert told[-1] == ("5", "")
    assert cache.is_caught_up(A)


def test_a_write_after_which_an_object_cannot_be_read_has_been_seen(cache: Cache[Sized]) -> None:
    fill(cache, good("a", 5))
    cache.note_write(A, "10")
    assert not cache.is_caught_up(A)

    cache.take(bad("a", 10))

    assert cache.is_caught_up(A)


def test_a_line_that_is_no_event_is_reported_and_not_kept(
    cache: Cache[Sized], unread: Told
) -> None:
    fill(cache)

    cache.take(Undecoded(Unreadable(Metadata(), "no watch event")))

    assert not cache.unreadable
    assert unread == [("", "")]


def test_a_subscriber_that_raises_does_not_keep_others_from_being_called() -> None:
    defects: list[int] = []
    told: list[str] = []
    cache: Cache[Sized] = Cache(on_defect=lambda: defects.append(1))

    def fails(old: Sized | None, new: Sized | None) -> None:
        raise RecursionError

    cache.subscribe(fails)
    cache.subscribe(lambda _, new: told.append(version_of(new)))

    fill(cache, good("a", 5))
    cache.take(good("a", 10))

    assert told == ["5", "10"]
    assert len(defects) == 2


def test_an_indexer_that_raises_leaves_an_object_out_of_its_index_alone() -> None:
    def picky(value: Sized) -> list[str]:
        if value.spec["x"] == 5:
            raise ValueError("five")
        return [str(value.spec["x"])]

    cache: Cache[Sized] = Cache({"picky": picky, "all": lambda _: ["all"]})
    fill(cache, good("a", 5), good("b", 6))

    assert [version_of(value) for value in cache.by_index("all", "all")] == ["5", "6"]
    cache.take(good("a", 7))
    assert [version_of(value) for value in cache.by_index("picky", "7")] == ["7"]
    cache.take(good("a", 5))
    cache.take(gone("a", 9))
    assert [version_of(value) for value in cache.by_index("picky", "6")] == ["6"]


def test_cancellation_is_nobodys_defect() -> None:
    cache: Cache[Sized] = Cache()

    def cancelled(old: Sized | None, new: Sized | None) -> None:
        raise asyncio.CancelledError

    cache.subscribe(cancelled)
    with pytest.raises(asyncio.CancelledError):
        fill(cache, good("a", 5))


@pytest.mark.virtual_time
async def test_the_leader_records_an_event_for_each_unreadable_object_once(
    clock: Clock, cache: Cache[Sized]
) -> None:
    client = ScriptedClient()
    recorder = Recorder(client, Reporter("toy", "me"), Telemetry(), clock=clock)
    reports = UnreadableReports(recorder)
    reports.follow(PODS, cache)
    fill(cache, bad("a", 5))
    await recorder.flush()
    assert client.writes == []

    reports.lead(leads=True)
    cache.take(bad("a", 10))
    cache.take(bad("b", 11))
    await recorder.flush()

    bodies = [write.body for write in client.writes]
    notes = [(made["regarding"]["name"], made["reason"], made["note"]) for made in bodies]
    assert [name for name, _, _ in notes] == ["a", "b"]
    assert {reason for _, reason, _ in notes} == {"Unreadable"}
    assert "Pod a cannot be read: spec.x: int. Correct it" in notes[0][2]
