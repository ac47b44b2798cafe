"""A name that the PodGang refers to is used again only if the server still has the pod."""

from types import SimpleNamespace
from typing import Any

import pytest

from core_operator.plan.pods.pod_plan import plan_pods
from core_operator.writes.used_names import UsedNames
from shared_api.kube.metadata import ObjectKey
from shared_api.runtime.watching.cache import Cache
from tests.plan.pod_samples import podclique
from tests.plan.test_pods import MADE_WITH

CLIQUE = podclique(replicas=2)


class Server:
    """Has some pods, and keeps what it was asked."""

    def __init__(self, *has: str) -> None:
        self.has = has
        self.asked: list[str] = []

    async def hidden(self, _: Any, key: ObjectKey) -> str | None:
        self.asked.append(key.name)
        return key.name if key.name in self.has else None


def used_names(server: Server) -> UsedNames:
    cliques = SimpleNamespace(subscribe=lambda _: None, get_by_uid=lambda _: CLIQUE)
    view = SimpleNamespace(
        caches=SimpleNamespace(cliques=cliques, pods=Cache()), pod_names=lambda _: ()
    )
    settings = SimpleNamespace(concurrency=SimpleNamespace(writes=8))
    context: Any = SimpleNamespace(view=view, settings=settings)
    applier: Any = server
    return UsedNames(context, applier)


def gang(*referenced: str) -> Any:
    references = tuple(SimpleNamespace(name=name) for name in referenced)
    group = SimpleNamespace(name=CLIQUE.metadata.name, pod_references=references)
    other = SimpleNamespace(name="other", pod_references=(SimpleNamespace(name="else"),))
    return SimpleNamespace(spec=SimpleNamespace(podgroups=(group, other)))


def plan(names: UsedNames) -> Any:
    return plan_pods(CLIQUE, (), 1, MADE_WITH, names.taken(CLIQUE))


FIRST, SECOND = (new.name for new in plan_pods(CLIQUE, (), 1, MADE_WITH).create)


async def planned(names: UsedNames, *referenced: str) -> list[str]:
    first = plan(names)
    found = await names.replanned(first, CLIQUE, gang(*referenced), lambda: plan(names))
    return [new.name for new in found.create]


async def test_the_name_of_a_pod_that_is_gone_is_not_used_again() -> None:
    server = Server()
    names = used_names(server)
    found = await planned(names, FIRST)
    assert FIRST not in found
    assert found[1] == SECOND, "the other pod has no predecessor"
    assert await planned(names, FIRST) == found
    assert await planned(names) == found, "also once the gang does not refer to it any more"
    assert server.asked == [FIRST]


@pytest.mark.parametrize(
    ("referenced", "asked"), [((FIRST, SECOND), [FIRST, SECOND]), ((), []), (("old",), [])]
)
async def test_a_pod_that_only_the_cache_lacks_keeps_its_name(
    referenced: tuple[str, ...], asked: list[str]
) -> None:
    server = Server(FIRST, SECOND)
    assert await planned(used_names(server), *referenced) == [FIRST, SECOND]
    assert sorted(server.asked) == sorted(asked)
