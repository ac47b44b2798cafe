"""The queue against a model that sorts everything afresh at every step."""

from dataclasses import dataclass
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.clock import Clock
from shared_api.runtime.queueing.backoff import Backoff
from shared_api.runtime.queueing.lanes import Priority
from shared_api.runtime.queueing.queue import Queue

keys = st.sampled_from([ObjectKey(namespace, name) for namespace in "abc" for name in "xy"])
priorities = st.sampled_from(list(Priority))
delays = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])


@dataclass
class Wish:
    """What the model remembers of a key that was added."""

    priority: int
    due: float
    tick: int
    """When the delay was set; of delays that end together the older one ends first."""
    arrival: int | None = None
    """When it became ready in its present priority."""


class QueueMachine(RuleBasedStateMachine):
    """Adds, takes, finishes and waits at random."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.queue: Queue[ObjectKey] = Queue(
            lambda key: key.namespace,
            clock=Clock(monotonic=lambda: self.now),
            backoff=Backoff(base=1, cap=4, jitter=0),
        )
        self.ticks = count()
        self.wishes: dict[ObjectKey, Wish] = {}
        self.again: dict[ObjectKey, Wish] = {}
        self.working: dict[ObjectKey, int] = {}
        self.failures: dict[ObjectKey, int] = {}
        self.turns: dict[tuple[int, str], int] = {}

    @rule(key=keys, priority=priorities, delay=delays)
    def add(self, key: ObjectKey, priority: Priority, delay: float) -> None:
        self.queue.add(key, priority=priority, delay=delay)
        self.wish(key, priority, self.now + delay)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.failures[key] = self.failures.get(key, 0) + 1
        delay = min(4, 2 ** (self.failures[key] - 1))
        assert self.queue.retry(key) == delay
        self.wish(key, self.working[key], self.now + delay)

    @rule(key=keys)
    def forget(self, key: ObjectKey) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule()
    def take(self) -> None:
        expected = min(self.ready(), key=self.rank, default=None)
        assert self.queue.take() == expected
        if expected is None:
            return
        wish = self.wishes.pop(expected)
        self.working[expected] = wish.priority
        self.turns.pop((wish.priority, expected.namespace))
        self.settle()

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        del self.working[key]
        self.queue.done(key)
        if wish := self.again.pop(key, None):
            self.wish(key, wish.priority, wish.due)

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.settle()

    def wish(self, key: ObjectKey, priority: int, due: float) -> None:
        book = self.again if key in self.working else self.wishes
        wish = book.setdefault(key, Wish(priority, due, next(self.ticks)))
        if priority > wish.priority:
            wish.priority, wish.arrival = priority, None
        if due < wish.due and wish.arrival is None:
            wish.due, wish.tick = due, next(self.ticks)
        self.settle()

    def ready(self) -> list[ObjectKey]:
        return [key for key, wish in self.wishes.items() if wish.due <= self.now]

    def rank(self, key: ObjectKey) -> tuple[int, int, int]:
        wish = self.wishes[key]
        assert wish.arrival is not None
        return -wish.priority, self.turns[wish.priority, key.namespace], wish.arrival

    def settle(self) -> None:
        """Let ready keys arrive, and their namespaces join or leave the round."""
        ready = self.ready()
        lines = {(self.wishes[key].priority, key.namespace) for key in ready}
        self.turns = {line: turn for line, turn in self.turns.items() if line in lines}
        for key in sorted(ready, key=lambda key: (self.wishes[key].due, self.wishes[key].tick)):
            wish = self.wishes[key]
            if wish.arrival is None:
                wish.arrival = next(self.ticks)
            self.turns.setdefault((wish.priority, key.namespace), next(self.ticks))

    @invariant()
    def the_sets_agree(self) -> None:
        ready = self.ready()
        assert sum(self.queue.depth().values()) == len(ready)
        assert self.queue.waiting() == len(self.wishes) - len(ready)
        assert self.queue.processing().keys() == self.working.keys()


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestQueueModel = QueueMachine.TestCase
