"""The few writes of the command line, each on behalf of the user and with the user's rights.

It owns the requests of `fit`, `scale` and `rollout`. A dry run stores nothing. A patch of a set
names the version that was read, so a foreign change in between is never overwritten.
"""

from collections.abc import Mapping
from typing import Any

from gangctl.reports.fit import Admission
from gangctl.snapshot import SETS
from shared_api.kube.client import Client, Patch, PatchType
from shared_api.kube.codec import LooseObject
from shared_api.kube.errors import AlreadyExists, Forbidden, Invalid, NotFound
from shared_api.kube.resources import Resource

FIELD_MANAGER = "kubectl-gang"


async def dry_run(client: Client, manifest: Mapping[str, Any]) -> Admission:
    """Ask the API server what it would store for a set, new or changed."""
    metadata = manifest["metadata"]
    try:
        try:
            stored = await client.create(
                SETS, manifest, field_manager=FIELD_MANAGER, dry_run=True, into=LooseObject
            )
        except AlreadyExists:
            # As `kubectl apply` does: lists are replaced as a whole.
            key = metadata["namespace"], metadata["name"]
            stored = await client.try_patch(SETS, key, manifest, into=LooseObject)
    except Invalid as error:
        return Admission(manifest, refusal=str(error))
    except Forbidden as error:
        return Admission(manifest, unknown=f"you may not apply the set: {error}")
    except NotFound as error:
        return Admission(manifest, refusal=f"{error}. Are the CRDs and the namespace there?")
    # Of the metadata, what is in the file decides: the answer has fields of the server.
    return Admission({**manifest, "spec": stored.spec})


async def patch_set(
    client: Client, item: LooseObject, operations: list[Mapping[str, object]]
) -> None:
    """Change a set by a JSON patch, only if it still has the version that was read."""
    path = "/metadata/resourceVersion"
    unchanged = {"op": "test", "path": path, "value": item.metadata.resource_version}
    await client.patch(
        SETS,
        item.metadata.name,
        item.metadata.namespace,
        patch=Patch([unchanged, *operations], PatchType.JSON),
        field_manager=FIELD_MANAGER,
    )


async def scale(client: Client, resource: Resource, key: tuple[str, str], replicas: int) -> None:
    """Set the replicas of an object by its scale subresource, as `kubectl scale` does."""
    namespace, name = key
    await client.patch(
        resource,
        name,
        namespace,
        patch=Patch({"spec": {"replicas": replicas}}),
        field_manager=FIELD_MANAGER,
        subresource="scale",
    )
