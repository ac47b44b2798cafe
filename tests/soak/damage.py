"""Changes that users make to the objects of a running set: delete, wipe, overwrite, limit.

It owns the damage, not the verdict: what a deletion takes with it is announced to the judge, and
whether everything heals is judged at the end.
"""

import random
from typing import Any

from core_operator.state.caches import CLIQUES, GANGS, GROUPS
from shared_api.kube.codec import LooseObject, PartialObject
from shared_api.kube.errors import NotFound
from shared_api.kube.resources import CONTROLLER_REVISIONS, PODS, SERVICES, Resource
from tests.core.kit import Onlooker
from tests.soak.healing import FORGED, WITH_STATUS
from tests.soak.judge import Judge

_CHILDREN = (CLIQUES, GROUPS, GANGS, PODS, SERVICES, CONTROLLER_REVISIONS)
_MOST = 4
_QUOTA = "chaos"
_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota", namespaced=True)


class Damage:
    """What is done, and to whom."""

    def __init__(self, person: Onlooker, judge: Judge, chance: random.Random) -> None:
        self._person = person
        self._judge = judge
        self._chance = chance

    async def delete_children(self) -> None:
        """Delete a few children of any kind, in any order."""
        for _ in range(self._chance.randint(1, _MOST)):
            kind = self._chance.choice(_CHILDREN)
            found = [one for one in self._person.all(kind) if one.metadata.controller is not None]
            if not found:
                continue
            chosen = self._chance.choice(found)
            for pod in self._person.pods:
                if chosen.metadata.name in (pod.metadata.name, *pod.metadata.labels.values()):
                    self._judge.expect(pod)
            await self._person.delete(chosen, kind)

    async def wipe_status(self) -> None:
        """Remove the status of an object."""
        kind, chosen = self._with_status()
        await self._person.change_status(kind, chosen.metadata.name, None)

    async def forge_status(self) -> None:
        """Write the opposite of what is true into the status of an object."""
        kind, chosen = self._with_status()
        numbers: dict[str, Any] = {
            key: value + 7
            for key, value in chosen.status.items()
            if isinstance(value, int) and key.endswith("eplicas")
        }
        conditions = [
            {**one, "status": "False" if one["status"] == "True" else "True", "reason": FORGED}
            for one in chosen.status.get("conditions", [])
        ]
        body = {**numbers, "conditions": conditions}
        await self._person.change_status(kind, chosen.metadata.name, body)

    async def set_quota(self) -> None:
        """Allow about as many pods as there are; the last quota is replaced."""
        await self.remove_quota()
        allowed = max(0, len(self._person.pods) + self._chance.randint(-2, 2))
        manifest = {
            "apiVersion": _QUOTAS.api_version,
            "kind": _QUOTAS.kind,
            "metadata": {"name": _QUOTA, "namespace": self._person.namespace},
            "spec": {"hard": {"pods": str(allowed)}},
        }
        await self._person.client.create(
            _QUOTAS, manifest, field_manager="person", into=PartialObject
        )

    async def remove_quota(self) -> None:
        """Allow any number of pods."""
        client, namespace = self._person.client, self._person.namespace
        try:
            found = await client.get(_QUOTAS, _QUOTA, namespace, into=PartialObject)
            await client.delete(_QUOTAS, _QUOTA, namespace, uid=found.metadata.uid)
        except NotFound:
            pass

    def _with_status(self) -> tuple[Resource, LooseObject]:
        """An object with a status; there always is the set."""
        objects = [(kind, one) for kind in WITH_STATUS for one in self._person.all(kind)]
        return self._chance.choice(objects)
