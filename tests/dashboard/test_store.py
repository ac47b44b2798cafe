"""The store: a reader gets the latest version of what changed, whatever it missed."""

import asyncio

import msgspec

from gangctl.dashboard.store import DocumentStore


class Doc(msgspec.Struct):
    value: int = 0


def read_all(store: DocumentStore, cursor: int = 0) -> tuple[dict[str, int], set[str], int]:
    """Read chunk by chunk, as a stream does."""
    put: dict[str, int] = {}
    deleted: set[str] = set()
    while True:
        found = store.since(cursor)
        if found.is_reset:
            put.clear()
            deleted.clear()
        put |= {key: msgspec.json.decode(raw)["value"] for key, raw in found.put.items()}
        deleted |= set(found.deleted)
        cursor = found.cursor
        if found.is_complete:
            return put, deleted, cursor


def test_a_new_reader_gets_everything_in_chunks() -> None:
    store = DocumentStore(chunk=3)
    for index in range(10):
        store.replace(f"g{index}", {f"d{index}": Doc(index)})
    assert store.since(0).is_reset
    assert len(store.since(0).put) == 3
    assert read_all(store)[0] == {f"d{index}": index for index in range(10)}


def test_a_reader_gets_only_the_latest_version_of_what_changed() -> None:
    store = DocumentStore()
    store.replace("g", {"a": Doc(1), "b": Doc(1)})
    *_, cursor = read_all(store)
    store.replace("g", {"a": Doc(2), "b": Doc(1)})
    store.replace("g", {"a": Doc(3), "b": Doc(1)})
    assert read_all(store, cursor)[0] == {"a": 3}


def test_an_equal_document_is_no_change() -> None:
    store = DocumentStore()
    store.replace("g", {"a": Doc(1)})
    before = store.revision
    store.replace("g", {"a": Doc(1)})
    assert store.revision == before


def test_a_document_that_left_its_group_is_deleted() -> None:
    store = DocumentStore()
    store.replace("g", {"a": Doc(1), "b": Doc(1)})
    *_, cursor = read_all(store)
    store.replace("g", {"b": Doc(1)})
    put, deleted, _ = read_all(store, cursor)
    assert (put, deleted) == ({}, {"a"})
    assert read_all(store)[0] == {"b": 1}


def test_a_document_can_come_back() -> None:
    store = DocumentStore()
    store.replace("g", {"a": Doc(1)})
    store.replace("g", {})
    *_, cursor = read_all(store)
    store.replace("g", {"a": Doc(2)})
    assert read_all(store, cursor)[:2] == ({"a": 2}, set())


def test_a_reader_that_missed_forgotten_deletions_starts_over() -> None:
    store = DocumentStore(tombstones=2)
    store.replace("keep", {"keep": Doc(1)})
    *_, cursor = read_all(store)
    for index in range(4):
        store.replace("g", {f"d{index}": Doc(index)})
    store.replace("g", {})
    found = store.since(cursor)
    assert found.is_reset
    assert set(found.put) == {"keep"}


def test_a_cursor_of_another_process_starts_over() -> None:
    store = DocumentStore()
    store.replace("g", {"a": Doc(1)})
    assert store.since(999).is_reset


async def test_readers_are_notified_of_the_next_change() -> None:
    store = DocumentStore()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        waiting = group.create_task(store.changed_since(0))
        await asyncio.sleep(0)
        assert not waiting.done()
        store.replace("g", {"a": Doc(1)})
