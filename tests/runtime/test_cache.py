"""A cache holds what the server said last, tells of each change once, and knows our own writes."""

import asyncio

import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Advanced, Changed, Removed, Restarted, Synced
from tests.faults.clients import scripted
from tests.faults.scripted import failure, silence, stream
from tests.runtime.watch_scripts import added, bookmark, modified, reflector

Told = list[tuple[str | None, str | None]]
A = ObjectKey("n", "a")


def thing(
    name: str, version: int, *, uid: str = "", team: str = "", going: bool = False
) -> PartialObject:
    return PartialObject(
        Metadata(
            name=name,
            namespace="n",
            uid=uid or f"uid-{name}",
            resource_version=str(version),
            labels={"team": team} if team else {},
            deletion_timestamp="2026-01-01T00:00:00Z" if going else None,
        )
    )


def name_of(value: PartialObject | None) -> str | None:
    if value is None:
        return None
    return f"{value.metadata.uid}@{value.metadata.resource_version}"


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def cache(told: Told) -> Cache[PartialObject]:
    made: Cache[PartialObject] = Cache({"team": lambda value: value.metadata.labels.values()})
    made.subscribe(lambda old, new: told.append((name_of(old), name_of(new))))
    return made


def fill(cache: Cache[PartialObject], *values: PartialObject, version: int = 100) -> None:
    cache.take(Restarted())
    for value in values:
        cache.take(Changed(value))
    cache.take(Synced(str(version)))


def test_the_state_is_complete_only_when_it_is_reported_to_be(cache: Cache[PartialObject]) -> None:
    cache.take(Restarted())
    cache.take(Changed(thing("a", 1)))

    assert not cache.is_synced
    cache.take(Synced("1"))
    assert cache.is_synced


def test_objects_are_found_by_key_uid_and_index(cache: Cache[PartialObject]) -> None:
    value = thing("a", 1, team="red")
    fill(cache, value, thing("b", 2, team="red"), thing("c", 3))

    assert cache.get(A) is value
    assert A in cache
    assert cache.get_by_uid("uid-a") is value
    assert [found.metadata.name for found in cache.by_index("team", "red")] == ["a", "b"]
    assert cache.by_index("team", "blue") == []
    assert len(cache) == len(list(cache)) == 3


def test_each_change_is_reported_with_what_was_before(
    cache: Cache[PartialObject], told: Told
) -> None:
    fill(cache, thing("a", 1))
    cache.take(Changed(thing("a", 101)))
    cache.take(Removed(thing("a", 102)))

    assert told == [(None, "uid-a@1"), ("uid-a@1", "uid-a@101"), ("uid-a@101", None)]
    assert len(cache) == 0
    assert cache.get_by_uid("uid-a") is None


def test_an_index_follows_its_objects(cache: Cache[PartialObject]) -> None:
    fill(cache, thing("a", 1, team="red"))
    cache.take(Changed(thing("a", 101, team="blue")))

    assert cache.by_index("team", "red") == []
    assert cache.by_index("team", "blue") == [cache.get(A)]
    cache.take(Removed(thing("a", 102, team="blue")))
    assert cache.by_index("team", "blue") == []


def test_what_is_reported_twice_is_reported_once(cache: Cache[PartialObject], told: Told) -> None:
    fill(cache, thing("a", 1))
    fill(cache, thing("a", 1))
    cache.take(Changed(thing("a", 1)))

    assert told == [(None, "uid-a@1")]


def test_what_vanished_during_a_gap_is_removed_when_the_state_is_complete(
    cache: Cache[PartialObject], told: Told
) -> None:
    fill(cache, thing("a", 1, team="red"), thing("b", 2))
    told.clear()
    cache.take(Restarted())
    cache.take(Changed(thing("b", 2)))
    assert told == []
    cache.take(Synced("200"))

    assert told == [("uid-a@1", None)]
    assert cache.by_index("team", "red") == []


def test_a_state_that_broke_off_removes_nothing(cache: Cache[PartialObject], told: Told) -> None:
    fill(cache, thing("a", 1), thing("b", 2))
    cache.take(Restarted())
    cache.take(Changed(thing("a", 1)))
    cache.take(Restarted())
    told.clear()
    cache.take(Changed(thing("b", 2)))
    cache.take(Synced("200"))

    assert told == [("uid-a@1", None)], "what the broken state had sent does not count"


def test_a_name_that_changed_hands_is_a_removal_and_an_addition(
    cache: Cache[PartialObject], told: Told
) -> None:
    fill(cache, thing("a", 1, uid="old"))
    told.clear()
    fill(cache, thing("a", 150, uid="new"))

    assert told == [("old@1", None), (None, "new@150")]
    assert cache.get_by_uid("old") is None
    cache.take(Removed(thing("a", 160, uid="old")))
    assert cache.get_by_uid("new") is cache.get(A)


def test_the_removal_of_something_unknown_is_ignored(
    cache: Cache[PartialObject], told: Told
) -> None:
    fill(cache)
    cache.take(Removed(thing("x", 101)))

    assert told == []


def test_time_does_not_run_backwards(cache: Cache[PartialObject], told: Told) -> None:
    fill(cache, thing("a", 99))
    cache.take(Changed(thing("a", 100)))
    told.clear()
    cache.take(Changed(thing("a", 99)))

    assert told == []
    assert name_of(cache.get(A)) == "uid-a@100"


def test_a_restored_etcd_may_turn_versions_back(cache: Cache[PartialObject]) -> None:
    fill(cache, thing("a", 99))
    fill(cache, thing("a", 9), version=10)

    assert name_of(cache.get(A)) == "uid-a@9"


def test_a_write_is_pending_until_the_watch_has_passed_it(cache: Cache[PartialObject]) -> None:
    fill(cache, thing("a", 99))
    cache.note_write(A, "105")

    assert not cache.is_caught_up(A)
    cache.take(Changed(thing("b", 104)))
    assert not cache.is_caught_up(A)
    cache.take(Changed(thing("a", 105)))
    assert cache.is_caught_up(A)


@pytest.mark.parametrize(
    "later", [Advanced("105"), Changed(thing("b", 106)), Removed(thing("a", 107))]
)
def test_anything_later_proves_that_a_write_was_seen(
    cache: Cache[PartialObject], later: Advanced | Changed[PartialObject] | Removed[PartialObject]
) -> None:
    fill(cache, thing("a", 99))
    cache.note_write(A, "105")
    cache.take(later)

    assert cache.is_caught_up(A)


def test_a_write_that_the_watch_has_overtaken_is_not_pending(cache: Cache[PartialObject]) -> None:
    fill(cache)
    cache.take(Changed(thing("a", 105)))
    cache.note_write(A, "105")

    assert cache.is_caught_up(A)


def test_only_the_last_of_several_writes_counts(cache: Cache[PartialObject]) -> None:
    fill(cache)
    cache.note_write(A, "105")
    cache.note_write(A, "110")
    cache.note_write(A, "107")
    cache.take(Changed(thing("a", 107)))

    assert not cache.is_caught_up(A)
    cache.take(Changed(thing("a", 110)))
    assert cache.is_caught_up(A)


def test_the_state_proves_writes_only_when_it_is_complete(cache: Cache[PartialObject]) -> None:
    fill(cache)
    cache.note_write(A, "105")
    cache.take(Restarted())
    cache.take(Changed(thing("b", 190)))
    assert not cache.is_caught_up(A)
    cache.take(Synced("200"))

    assert cache.is_caught_up(A)


@pytest.mark.parametrize("seen", [Removed(thing("a", 106)), Changed(thing("a", 106, going=True))])
def test_a_deletion_is_pending_until_the_object_is_gone_or_going(
    cache: Cache[PartialObject], seen: Removed[PartialObject] | Changed[PartialObject]
) -> None:
    fill(cache, thing("a", 99))
    cache.note_deletion(A, "uid-a")
    cache.take(Advanced("105"))
    assert not cache.is_caught_up(A)
    cache.take(seen)

    assert cache.is_caught_up(A)


def test_the_deletion_of_what_is_gone_or_going_is_not_pending(cache: Cache[PartialObject]) -> None:
    fill(cache, thing("a", 99, going=True))
    cache.note_deletion(A, "uid-a")
    cache.note_deletion(A, "uid-of-nobody")

    assert cache.is_caught_up(A)


def test_a_new_object_of_the_name_settles_the_deletion_of_the_old_one(
    cache: Cache[PartialObject],
) -> None:
    fill(cache, thing("a", 99, uid="old"))
    cache.note_deletion(A, "old")
    cache.take(Changed(thing("a", 106, uid="new")))

    assert cache.is_caught_up(A)


async def test_waiting_ends_when_the_write_is_seen(cache: Cache[PartialObject]) -> None:
    fill(cache)
    cache.note_write(A, "105")
    cache.note_write(ObjectKey("n", "b"), "106")
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        both = [group.create_task(cache.caught_up(A)) for _ in range(2)]
        await asyncio.sleep(0)
        cache.take(Advanced("104"))
        await asyncio.sleep(0)
        assert not any(task.done() for task in both)
        cache.take(Changed(thing("a", 105)))

    assert len(cache.barrier) == 1


@pytest.mark.virtual_time
async def test_nothing_is_lost_or_invented_over_a_gap(
    cache: Cache[PartialObject], told: Told, clock: Clock
) -> None:
    before = stream(added("a", 5), added("b", 3), added("c", 4, "first"), bookmark(9, end=True))
    after = stream(added("a", 5), added("b", 30), added("c", 31, "second"), bookmark(40, end=True),
                   modified("a", 41), then=silence)  # fmt: skip
    async with (
        scripted(before, failure(410, "Expired"), after) as (_, client),
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(cache.run(reflector(client, clock)))
        await cache.wait_synced()
        cache.note_write(A, "41")
        await cache.caught_up(A)
        running.cancel()

    assert told == [
        (None, "uid-a@5"),
        (None, "uid-b@3"),
        (None, "first@4"),
        ("uid-b@3", "uid-b@30"),
        ("first@4", None),
        (None, "second@31"),
        ("uid-a@5", "uid-a@41"),
    ]
