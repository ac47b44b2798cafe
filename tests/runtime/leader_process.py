"""A process that writes as fast as it can while it leads: `KUBECONFIG NAMESPACE NAME`."""

import asyncio
import sys

from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client, Patch
from shared_api.kube.metadata import ObjectKey
from shared_api.kube.resources import CONFIGMAPS
from shared_api.runtime import logs
from shared_api.runtime.clock import SYSTEM
from shared_api.runtime.leading.deadman import DeadMansSwitch
from shared_api.runtime.leading.elector import ElectionOptions, ElectionTiming, Elector
from shared_api.runtime.leading.fence import permitted
from shared_api.runtime.manager import Manager
from shared_api.runtime.reconciling.controller import Controller, ControllerOptions
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.reconciling.pending_writes import PendingWrites
from shared_api.runtime.telemetry.metrics import Telemetry

TIMING = ElectionTiming(duration=4.0, renew_deadline=2.5, retry=0.4, request=1.0)


class Writer:
    """Writes an object, again and again."""

    def __init__(self, client: Client, elector: Elector, name: str) -> None:
        self._client = client
        self._elector = elector
        self._name = name

    async def reconcile(self, key: ObjectKey) -> Result:
        async with permitted(self._elector):
            await self._client.patch(
                CONFIGMAPS,
                key.name,
                key.namespace,
                patch=Patch({"data": {"at": f"{SYSTEM.elapsed()}"}}),
                field_manager=self._name,
            )
        return Result(requeue_after=0)


async def main(kubeconfig: str, namespace: str, name: str) -> None:
    logs.configure("human")
    telemetry = Telemetry()
    async with (
        Client(from_kubeconfig(kubeconfig)) as client,
        Client(from_kubeconfig(kubeconfig)) as lease_client,
    ):
        elector = Elector(
            lease_client,
            ObjectKey(namespace, "toy"),
            name,
            telemetry,
            options=ElectionOptions(TIMING, switch=DeadMansSwitch()),
        )

        writer = Writer(client, elector, name)
        options = ControllerOptions(workers=2)
        controller = Controller("toy", writer, PendingWrites(), telemetry, options=options)
        controller.queue.add(ObjectKey(namespace, f"{name}-1"))
        controller.queue.add(ObjectKey(namespace, f"{name}-2"))
        manager = Manager(client, telemetry, elector=elector)
        manager.add(controller)
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
