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
from shared_api.runtime.leading.elector import Elector, Terms, Timing
from shared_api.runtime.leading.fence import permitted
from shared_api.runtime.manager import Manager
from shared_api.runtime.reconciling.controller import Controller, Pace
from shared_api.runtime.reconciling.outcome import Result
from shared_api.runtime.telemetry.metrics import Telemetry

TIMING = Timing(duration=4.0, renew_deadline=2.5, retry=0.4, request=1.0)


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
            terms=Terms(TIMING, switch=DeadMansSwitch()),
        )

        async def write(key: ObjectKey) -> Result:
            async with permitted(elector):
                await client.patch(
                    CONFIGMAPS,
                    key.name,
                    key.namespace,
                    patch=Patch({"data": {"at": f"{SYSTEM.elapsed()}"}}),
                    field_manager=name,
                )
            return Result(requeue_after=0)

        controller = Controller("toy", write, telemetry, pace=Pace(workers=2))
        controller.queue.add(ObjectKey(namespace, f"{name}-1"))
        controller.queue.add(ObjectKey(namespace, f"{name}-2"))
        manager = Manager(client, telemetry, elector=elector)
        manager.add(controller)
        await manager.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
