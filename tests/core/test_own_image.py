"""Which image pods with a start-up order run: that of core's own pod, unless a setting names another."""

from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from core_operator.own_image import with_own_image
from core_operator.settings import IMAGE_OUTSIDE, CoreSettings, SettingsError, StartupOrder
from shared_api.kube.errors import Forbidden, Status

if TYPE_CHECKING:
    from shared_api.kube.client import Client

POD = {"POD_NAME": "core-operator-1", "POD_NAMESPACE": "system"}


class Server:
    """Answers with one pod, or refuses."""

    def __init__(self, *containers: tuple[str, str]) -> None:
        self._containers = containers

    async def get(self, _: object, name: str, namespace: str, *, into: type[Any]) -> Any:
        if not self._containers:
            raise Forbidden(Status(code=403, message="may not"))
        assert (namespace, name) == ("system", "core-operator-1")
        listed = [{"name": name, "image": image} for name, image in self._containers]
        return msgspec.convert({"spec": {"containers": listed}}, into)


async def chosen(
    server: Server, environment: dict[str, str], settings: CoreSettings | None = None
) -> str | None:
    found = await with_own_image(settings or CoreSettings(), cast("Client", server), environment)
    return found.startup_order.image


@pytest.mark.parametrize("name", ["core-operator", "all-in-one"])
async def test_it_is_the_image_of_cores_container_and_not_that_of_a_sidecar(name: str) -> None:
    server = Server(("proxy", "proxy:1"), (name, "mirror/podgang@sha256:0"))
    assert await chosen(server, POD) == "mirror/podgang@sha256:0"


async def test_the_only_container_may_have_any_name() -> None:
    assert await chosen(Server(("main", "mirror/podgang:1")), POD) == "mirror/podgang:1"


async def test_a_setting_names_another_and_nothing_is_read() -> None:
    settings = CoreSettings(startup_order=StartupOrder(image="busybox:1"))
    assert await chosen(Server(), POD, settings) == "busybox:1"


async def test_a_process_without_a_pod_has_the_image_of_its_version() -> None:
    assert await chosen(Server(), {"POD_NAME": "laptop"}) == IMAGE_OUTSIDE


async def test_a_missing_right_is_named_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match="Allow `get` of pods in system, or set startupOrder"):
        await chosen(Server(), POD)
