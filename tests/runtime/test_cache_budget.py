"""What a cached pod may cost in memory, measured by the allocator and not by the machine."""

import gc
import json
import tracemalloc

from shared_api.kube.codec import Event, codec_for
from shared_api.kube.pods import Pod
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.reflector import Changed, Restarted, Synced
from tests.kube.samples import pod

PODS = 1_000
BUDGET = 1.5 * 1024


def test_a_cached_pod_costs_at_most_one_and_a_half_kilobytes() -> None:
    lines = [
        json.dumps({"type": "ADDED", "object": pod(number)}).encode() for number in range(PODS)
    ]
    codec = codec_for(Pod)
    cache: Cache[Pod] = Cache({"node": lambda value: (value.spec.node_name,)})
    gc.collect()
    tracemalloc.start()
    try:
        cache.take(Restarted())
        for line in lines:
            event = codec.event(line)
            assert isinstance(event, Event)
            cache.take(Changed(event.object))
        cache.take(Synced("1"))
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(cache) == PODS
    assert used / PODS <= BUDGET
