"""Whatever happens to a set, our own deletions leave its minimum, and it converges.

`PROMISE_EXAMPLES=10000` tries that many sequences.
"""

import os
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan.lifecycle_world import Shape, World
from tests.plan.pod_samples import BOUND, FAILED, READY, RELEASED, PodState

EXAMPLES = int(os.environ.get("PROMISE_EXAMPLES", "200"))
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

Event = Callable[[World], object]

SICK = PodState(gates=(), node="n1", phase="Running", started=True)


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.integers(0, 3).map(lambda version: lambda world: world.update(version)),
    st.booleans().map(lambda automatic: lambda world: world.choose(automatic=automatic)),
    st.tuples(st.integers(0, 2), st.integers(1, 3)).map(
        lambda drawn: lambda world: world.scale(*drawn)
    ),
    st.tuples(st.integers(0, 20), st.sampled_from([RELEASED, BOUND, READY, SICK, FAILED])).map(
        lambda drawn: lambda world: world.become(*drawn)
    ),
    st.tuples(st.integers(0, 20), st.booleans()).map(
        lambda drawn: lambda world: world.take(drawn[0], at_once=drawn[1])
    ),
    st.integers(1, 90).map(lambda seconds: lambda world: world.pass_time(seconds)),
    st.just(lambda world: world.settle()),
    st.just(lambda world: world.settle()),
    # A part of the controllers runs, then the process ends: what is known is in the world.
    st.just(lambda world: world.orchestrate()),
    st.just(lambda world: world.make_children()),
)


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    pods, copies = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    return Shape(
        replicas=draw(st.integers(1, 2)),
        pods=pods,
        minimum=draw(st.integers(1, pods)),
        copies=copies,
        min_copies=draw(st.integers(1, copies)),
    )


@pytest.mark.timeout(max(120, EXAMPLES))
@MANY
@given(shapes(), st.lists(st.lists(EVENTS, max_size=3), max_size=8))
def test_no_sequence_of_events_makes_us_break_the_minimum(
    shape: Shape, rounds: list[list[Event]]
) -> None:
    world = World(shape)
    world.step()
    world.settle()
    for events in rounds:
        for happens in events:
            happens(world)
        world.step()
    # From here on nothing bad happens: all must get current and whole.
    world.choose(automatic=True)
    world.update(9)
    for _ in range(60):
        world.step()
        world.settle()
        if world.is_converged and not world.is_updating:
            break
    assert world.is_converged
    assert not world.is_updating
