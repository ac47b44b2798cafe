"""Who schedules the pods of life-cycle tests: a stand-in, or a real backend with its scheduler."""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from backend_controllers.contract.declaration import Backend
from backend_controllers.default import BACKEND as DEFAULT_BACKEND
from backend_controllers.kai import BACKEND as KAI_BACKEND
from core_operator.state.caches import BACKENDS
from local_cluster.cluster import Cluster
from local_cluster.schedulers.kai import QUEUE
from shared_api import names
from shared_api.kube.client import Client
from shared_api.kube.codec import PartialObject
from shared_api.kube.errors import NotFound
from tests.backends.kit import running_backend
from tests.core.kit import Object, Onlooker
from tests.core.stand_in import StandIn


@dataclass(frozen=True)
class Scheduled:
    """One way to have pods scheduled."""

    backend: Backend | None
    """None for the stand-in."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """That sets need to come to it."""

    @contextlib.asynccontextmanager
    async def serving(self, cluster: Cluster, client: Client) -> AsyncIterator[None]:
        """The backend, until the block ends."""
        if self.backend is None:
            async with StandIn(client, "default").serving():
                yield
            return
        async with running_backend(cluster, self.backend) as running:
            await running.until_serving()
            yield
        # The stand-in of another test registers under this name, as another manager.
        with contextlib.suppress(NotFound):
            left = await client.get(BACKENDS, self.backend.name, into=PartialObject)
            await client.delete(BACKENDS, self.backend.name, uid=left.metadata.uid)


STAND_IN = Scheduled(None)
KAI = Scheduled(
    KAI_BACKEND,
    {names.ANNOTATION_SCHEDULER_BACKEND: KAI_BACKEND.name, "kai.scheduler/queue": QUEUE},
)
DEFAULT = STAND_IN if os.environ.get("STAGE_BACKEND") == "stand-in" else Scheduled(DEFAULT_BACKEND)
"""Kubernetes' own scheduler, which schedules gangs whole; `STAGE_BACKEND=stand-in` takes that away."""


class Chooser(Onlooker):
    """A person whose sets all come to one backend."""

    chosen: Scheduled = STAND_IN

    async def create(self, manifest: Object) -> PartialObject:
        metadata = manifest["metadata"]
        annotations = {**metadata.get("annotations", {}), **self.chosen.annotations}
        if manifest["kind"] == "PodCliqueSet" and self.chosen.annotations:
            metadata = {**metadata, "annotations": annotations}
        return await super().create({**manifest, "metadata": metadata})
