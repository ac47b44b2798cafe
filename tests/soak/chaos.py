"""Changes and failures of a workload, at random, for long; the minimum is watched meanwhile.

One set of two replicas: four `a` of which two must be ready, and three replicas of one `b` with one
`c` of which two must be ready. What happens is drawn from a seed that is printed: sizes, updates and
lost pods, children that are deleted in any order, statuses that are wiped or overwritten, quotas.
At the end nothing more happens, no quota is left, and all must heal.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from core_operator.state.caches import CLIQUES, GROUPS, SETS
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import KubeError
from shared_api.kube.resources import PODS
from tests.core.kit import clique, holds, is_ready, pcs
from tests.core.stage import set_mark
from tests.soak.bed import Bed, say
from tests.soak.damage import Damage
from tests.soak.healing import unhealed
from tests.soak.judge import Judge

NAME = "chaos"
REPLICAS, MIN_REPLICAS = 3, 2
A, MIN_A = 4, 2
_PAUSE = (0.1, 3.0)
_REST_SECONDS = 300.0
_REPORTED_EVERY = 60.0

Happening = Callable[[], Awaitable[None]]


def templates(mark: str) -> list[dict[str, Any]]:
    """The cliques, of one version."""
    made = [clique("a", A, minAvailable=MIN_A), clique("b"), clique("c")]
    return [set_mark(one, mark) for one in made]


class Chaos:
    """The changes, and what they change."""

    def __init__(self, bed: Bed, judge: Judge, chance: random.Random) -> None:
        self._bed = bed
        self._person = bed.person
        self._judge = judge
        self._chance = chance
        self.happened: Counter[str] = Counter()
        self._replicas = 2
        self._damage = Damage(bed.person, judge, chance)

    async def happen(self) -> None:
        """Do one of them, chosen at random."""
        happenings: dict[Happening, int] = {
            self.scale_set: 1,
            self.scale_group: 3,
            self.scale_clique: 3,
            self.update: 2,
            self.kill: 4,
            self.fail: 3,
            self.evict: 3,
            self.sicken: 3,
            self.restart: 1,
            self._damage.delete_children: 3,
            self._damage.wipe_status: 3,
            self._damage.forge_status: 3,
            self._damage.set_quota: 1,
            self._damage.remove_quota: 1,
        }
        (chosen,) = self._chance.choices([*happenings], [*happenings.values()])
        self.happened[chosen.__name__] += 1
        try:
            await chosen()
        except KubeError as error:
            # Gone meanwhile, refused by a policy or not answered in time, as for any client.
            self.happened[f"{chosen.__name__} refused ({type(error).__name__})"] += 1

    async def scale_set(self) -> None:
        self._replicas = self._chance.choice([1, 2, 3])
        await self._person.scale(SETS, NAME, self._replicas)

    async def scale_group(self) -> None:
        group = self._one(self._person.all(GROUPS))
        if group is not None:
            size = self._chance.randint(MIN_REPLICAS, REPLICAS + 1)
            self._judge.expect_scaling(group.metadata.name)
            await self._person.scale(GROUPS, group.metadata.name, size)

    async def scale_clique(self) -> None:
        found = [one for one in self._person.all(CLIQUES) if one.metadata.name.endswith("-a")]
        chosen = self._one(found)
        if chosen is not None:
            await self._person.scale(CLIQUES, chosen.metadata.name, self._chance.randint(MIN_A, 6))

    async def update(self) -> None:
        cliques = templates(str(self._chance.randint(1, 9)))
        await self._person.change(SETS, NAME, {"spec": {"template": {"cliques": cliques}}})

    async def kill(self) -> None:
        if (pod := self._victim()) is not None:
            await self._person.delete(pod, PODS)

    async def fail(self) -> None:
        if (pod := self._victim()) is not None:
            body = {"phase": "Failed", "reason": "Evicted", "containerStatuses": []}
            await self._person.change_status(PODS, pod.metadata.name, body)

    async def sicken(self) -> None:
        if (pod := self._victim()) is not None:
            conditions = [
                {**entry, "status": "False"} if entry["type"] == "Ready" else entry
                for entry in pod.status.get("conditions", [])
            ]
            body = {"conditions": conditions}
            await self._person.change_status(PODS, pod.metadata.name, body)

    async def evict(self) -> None:
        if (pod := self._victim()) is not None:
            name, namespace = pod.metadata.name, self._person.namespace
            eviction = {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": name, "namespace": namespace},
            }
            path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
            await asyncio.to_thread(
                self._bed.cluster.kubectl,
                "create", "--raw", path, "-f", "-",
                input=json.dumps(eviction), check=False,
            )  # fmt: skip

    async def restart(self) -> None:
        await self._bed.restart()

    def _victim(self) -> LooseObject | None:
        pod = self._one(self._person.pods)
        if pod is not None:
            self._judge.expect(pod)
        return pod

    def _one(self, found: list[LooseObject]) -> LooseObject | None:
        return self._chance.choice(found) if found else None

    async def calm(self) -> list[str]:
        """Repair what was damaged, wait until all is as requested, and return what is not."""
        await self._damage.remove_quota()
        for pod in self._person.pods:
            if not is_ready(pod) and pod.spec.get("nodeName"):
                await self._person.delete(pod, PODS)
        await self._person.scale(SETS, NAME, self._replicas)

        def is_whole() -> bool:
            found = self._person.get(SETS, NAME)
            available = found.status.get("availableReplicas") if found is not None else None
            return (
                holds(found, "Ready")
                and available == self._replicas
                and all(map(is_ready, self._person.pods))
                and not holds(found, "Updating")
                and not holds(found, "Reconciling")
                and not unhealed(self._person)
            )

        try:
            await self._person.until(is_whole, _REST_SECONDS)
        except AssertionError as error:
            return [f"not healed: {one}" for one in (*unhealed(self._person), str(error))]
        return []


async def chaos(bed: Bed, seconds: float, seed: int) -> list[str]:
    """Change things for so many seconds; return what is wrong at the end."""
    # Not for security: the seed makes a run repeatable.
    chance = random.Random(seed)
    group = {
        "name": "sg",
        "cliqueNames": ["b", "c"],
        "replicas": REPLICAS,
        "minAvailable": MIN_REPLICAS,
    }
    judge = Judge(bed.person, MIN_A, MIN_REPLICAS)
    storm = Chaos(bed, judge, chance)
    await bed.person.create(pcs(NAME, *templates("1"), replicas=2, podCliqueScalingGroups=[group]))
    await bed.person.until_ready(2 * (A + 2 * REPLICAS), 120)
    judge.begin()
    loop = asyncio.get_running_loop()
    began = reported = loop.time()
    while loop.time() - began < seconds:
        await storm.happen()
        if loop.time() - reported >= _REPORTED_EVERY:
            reported = loop.time()
            say(
                f"after {reported - began:.0f} s: {storm.happened.total()} changes; deletions"
                f" of ready pods by the operator: {judge.deletions}; below a minimum by them:"
                f" {len(judge.violations)}{''.join(f'; {one}' for one in judge.violations[-1:])}"
            )
        # Chaos has no event to wait for.
        await asyncio.sleep(chance.uniform(*_PAUSE))
    problems = await storm.calm()
    judge.end()
    await bed.stop()
    await bed.start()
    happened = ", ".join(f"{name} {count}" for name, count in sorted(storm.happened.items()))
    say(
        f"seed {seed}: {happened}\ndeletions of ready pods by the operator: {judge.deletions}; "
        f"below a minimum by them: {len(judge.violations)}; refused by its check of minAvailable: "
        f"{bed.violations:g}; error lines: {len(bed.complaints())}"
    )
    problems += [*judge.violations, *(f"logged: {line}" for line in bed.complaints())]
    if bed.violations:
        problems.append(
            f"the operator's check of minAvailable refused {bed.violations:g} deletions"
        )
    return problems
