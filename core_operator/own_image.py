"""The image of the init container for start-up order: by default the image that core itself runs.

So one setting names the image: that of core's Deployment. It is read once, when the process starts, from the
pod of the process. It must not be guessed inside a cluster, where another name cannot be pulled.
"""

from collections.abc import Mapping

import msgspec

from core_operator.settings import IMAGE_OUTSIDE, CoreSettings, SettingsError
from shared_api.kube.client import Client
from shared_api.kube.errors import KubeError
from shared_api.kube.resources import PODS

_NAME, _NAMESPACE = "POD_NAME", "POD_NAMESPACE"
_CONTAINERS = ("core-operator", "all-in-one")


class _Container(msgspec.Struct, frozen=True):
    name: str
    image: str = ""


class _Spec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _OwnPod(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


async def with_own_image(
    settings: CoreSettings, client: Client, environment: Mapping[str, str]
) -> CoreSettings:
    """Return the settings with an image for start-up order."""
    if settings.startup_order.image is not None:
        return settings
    image = await _own_image(client, environment)
    order = settings.startup_order.model_copy(update={"image": image})
    return settings.model_copy(update={"startup_order": order})


async def _own_image(client: Client, environment: Mapping[str, str]) -> str:
    name, namespace = environment.get(_NAME), environment.get(_NAMESPACE)
    if not name or not namespace:
        return IMAGE_OUTSIDE
    try:
        pod = await client.get(PODS, name, namespace, into=_OwnPod)
    except KubeError as error:
        raise SettingsError(
            f"pod {namespace}/{name}, whose image pods with a start-up order run, cannot be read ({error})."
            f" Allow `get` of pods in {namespace}, or set startupOrder.image"
        ) from error
    # Others may have added containers of their own.
    return next(one.image for one in sorted(pod.spec.containers, key=_is_foreign))


def _is_foreign(container: _Container) -> bool:
    return container.name not in _CONTAINERS
