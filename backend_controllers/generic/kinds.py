"""The kinds of the contract as resources, and how what we write is labelled.

Objects that a backend writes carry two labels: who keeps them, which is also what our watches
select by, and which gang they are of, for people. Whether an object is ours is decided by its
owner reference alone; labels can be set by anybody.
"""

from collections.abc import Mapping

from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.resources import Resource
from shared_api.models import KubeObject, PodGang, SchedulerBackend


def _of(kind: type[KubeObject], plural: str, *, namespaced: bool = True) -> Resource:
    group, version = kind.API_VERSION.split("/")
    return Resource(group, version, plural, kind.KIND, namespaced)


GANGS = _of(PodGang, "podgangs")
BACKENDS = _of(SchedulerBackend, "schedulerbackends", namespaced=False)


def field_manager(backend: str) -> str:
    """Under which name a backend applies."""
    return f"{names.FIELD_MANAGER_BACKEND_PREFIX}{backend}"


def keeper_label(backend: str) -> Mapping[str, str]:
    """What every object carries that a backend keeps."""
    return {names.LABEL_MANAGED_BY: f"backend-{backend}"}


def kept_by(backend: str) -> Selector:
    """The objects that a backend keeps."""
    return Selector(",".join(f"{key}={value}" for key, value in keeper_label(backend).items()))


def given_to(backend: str) -> Selector:
    """The gangs, and their pods, that a backend is to serve."""
    return Selector(f"{names.LABEL_SCHEDULER_BACKEND}={backend}")


def named(name: str) -> Selector:
    """The one object of this name."""
    return Selector(fields=f"metadata.name={name}")
