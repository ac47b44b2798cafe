"""The cache against a dictionary: a server's history, seen through a watch that breaks at will."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey
from shared_api.kube.unreadable import Unreadable
from shared_api.runtime.watching.cache import Cache, key_of
from shared_api.runtime.watching.reflector import (
    Advanced,
    Changed,
    Delta,
    Removed,
    Restarted,
    Synced,
    Undecoded,
)

NAMES = st.sampled_from("abcd")
TEAMS = st.sampled_from(["", "red", "blue"])


class CacheMachine(RuleBasedStateMachine):
    """A server with a history of deltas, and a cache that has received a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 1
        self.serial = 0
        self.server: dict[ObjectKey, PartialObject | Unreadable] = {}
        self.sent: dict[ObjectKey, PartialObject | Unreadable] = {}
        """The server's state as of what the cache has received."""
        self.readable: dict[ObjectKey, PartialObject] = {}
        """The last readable versions of the objects of that state."""
        self.unread: dict[ObjectKey, Unreadable] = {}
        """What a subscriber makes of the unreadable objects that it is told."""
        self.pending: list[Delta[PartialObject]] = []
        self.writes: dict[ObjectKey, int] = {}
        self.mirror: dict[str, PartialObject] = {}
        """What a subscriber makes of the changes that it is told, by UID."""
        self.cache: Cache[PartialObject] = Cache(
            {"team": lambda value: value.metadata.labels.values()}
        )
        self.cache.subscribe(self.note)
        self.cache.subscribe_unreadable(self.note_unreadable)

    def note(self, old: PartialObject | None, new: PartialObject | None) -> None:
        assert old is not None or new is not None
        if old is not None:
            assert self.mirror.pop(old.metadata.uid) is old
        if new is not None:
            assert new.metadata.uid not in self.mirror
            assert old is None or old.metadata.uid == new.metadata.uid
            self.mirror[new.metadata.uid] = new

    def note_unreadable(self, old: Unreadable | None, new: Unreadable | None) -> None:
        if old is not None:
            assert self.unread.pop(old.metadata.key) is old
        if new is not None:
            assert new.metadata.key not in self.unread
            self.unread[new.metadata.key] = new

    @initialize()
    def first_state(self) -> None:
        self.relist(0)

    @rule(name=NAMES, team=TEAMS, ours=st.booleans(), fits=st.booleans())
    def write(self, name: str, team: str, ours: bool, fits: bool) -> None:
        self.version += 1
        key = ObjectKey("n", name)
        held = self.server.get(key)
        if held is None:
            self.serial += 1
        uid = held.metadata.uid if held is not None else f"uid-{self.serial}"
        labels = {"team": team} if team else {}
        metadata = Metadata(name, "n", uid, str(self.version), labels=labels)
        self.server[key] = PartialObject(metadata) if fits else Unreadable(metadata, "spec")
        self.pending.append(shown(self.server[key]))
        if ours:
            self.cache.note_write(key, str(self.version))
            self.writes[key] = self.version

    @precondition(lambda self: self.server)
    @rule(data=st.data(), ours=st.booleans())
    def delete(self, data: st.DataObject, ours: bool) -> None:
        self.version += 1
        key = data.draw(st.sampled_from(sorted(self.server)))
        held = self.server.pop(key)
        last = Metadata(held.metadata.name, "n", held.metadata.uid, str(self.version))
        if ours:
            self.cache.note_deletion(key, held.metadata.uid)
        self.pending.append(Removed(PartialObject(last)))

    @rule(count=st.integers(1, 5))
    def deliver(self, count: int) -> None:
        for delta in self.pending[:count]:
            self.receive(delta)
        del self.pending[:count]

    @rule()
    def bookmark(self) -> None:
        self.pending.append(Advanced(str(self.version)))

    @precondition(lambda self: self.sent)
    @rule()
    def say_again(self) -> None:
        """A server that repeats itself changes nothing."""
        for value in list(self.sent.values()):
            self.cache.take(shown(value))

    @rule(broken=st.integers(0, 3))
    def relist(self, broken: int) -> None:
        """Lose the rest of the stream; send the state again, perhaps in several tries."""
        self.pending.clear()
        for sent in range(broken):
            self.cache.take(Restarted())
            for value in list(self.server.values())[:sent]:
                self.take(value)
        self.cache.take(Restarted())
        for value in self.server.values():
            self.take(value)
        self.cache.take(Synced(str(self.version)))
        self.sent = dict(self.server)
        for key in self.readable.keys() - self.sent.keys():
            del self.readable[key]

    def receive(self, delta: Delta[PartialObject]) -> None:
        match delta:
            case Changed(object=value) | Undecoded(object=value):
                self.sent[key_of(value)] = value
                self.take(value)
            case Removed(object=value):
                del self.sent[key_of(value)]
                self.readable.pop(key_of(value), None)
                self.cache.take(delta)
            case _:
                self.cache.take(delta)

    def take(self, value: PartialObject | Unreadable) -> None:
        held = self.readable.get(key_of(value))
        if isinstance(value, PartialObject):
            self.readable[key_of(value)] = value
        elif held is not None and held.metadata.uid != value.metadata.uid:
            del self.readable[key_of(value)]
        self.cache.take(shown(value))

    @invariant()
    def the_cache_is_what_was_sent(self) -> None:
        assert {key_of(value): value for value in self.cache} == self.readable
        assert all(self.cache.knows(key) for key in self.sent)
        assert len(self.cache) == len(self.readable)
        assert self.cache.unreadable == {
            key: value for key, value in self.sent.items() if isinstance(value, Unreadable)
        }

    @invariant()
    def subscribers_know_the_same(self) -> None:
        assert self.mirror == {value.metadata.uid: value for value in self.cache}
        assert self.unread == self.cache.unreadable

    @invariant()
    def uids_and_indexes_agree(self) -> None:
        for value in self.readable.values():
            assert self.cache.get_by_uid(value.metadata.uid) == value
        for team in ("red", "blue"):
            found = {key_of(value) for value in self.cache.by_index("team", team)}
            wanted = {
                key
                for key, value in self.readable.items()
                if team in value.metadata.labels.values()
            }
            assert found == wanted

    @invariant()
    def a_caught_up_key_shows_our_last_write_or_something_later(self) -> None:
        for key, version in self.writes.items():
            if self.cache.is_caught_up(key):
                held = self.cache.get(key)
                unseen = [
                    d
                    for d in self.pending
                    if isinstance(d, Changed | Undecoded) and key_of(d.object) == key
                ]
                assert held is None or not any(
                    int(d.object.metadata.resource_version) == version for d in unseen
                )

    @invariant()
    def with_nothing_to_deliver_everything_is_caught_up(self) -> None:
        if not self.pending:
            assert len(self.cache.barrier) == 0


def shown(value: PartialObject | Unreadable) -> Delta[PartialObject]:
    return Undecoded(value) if isinstance(value, Unreadable) else Changed(value)


TestCacheAgainstADictionary = CacheMachine.TestCase
TestCacheAgainstADictionary.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None
)
