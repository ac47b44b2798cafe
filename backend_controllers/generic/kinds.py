"""The kinds of the contract as resources, and the labels and selectors of a backend.

Objects that a backend writes carry two labels: the backend, by which our watches select, and the
gang, for people. Only the owner reference decides whether an object is ours; any client can set
labels.
"""

from collections.abc import Mapping

from shared_api import names
from shared_api.kube.client import Selector
from shared_api.kube.resources import Resource
from shared_api.models import BackendInventory, KubeObject, PodGang, SchedulerBackend


def _of(kind: type[KubeObject], plural: str, *, namespaced: bool = True) -> Resource:
    group, version = kind.API_VERSION.split("/")
    return Resource(group, version, plural, kind.KIND, namespaced)


GANGS = _of(PodGang, "podgangs")
BACKENDS = _of(SchedulerBackend, "schedulerbackends", namespaced=False)
INVENTORIES = _of(BackendInventory, "backendinventories", namespaced=False)


def field_manager(backend: str) -> str:
    """The name under which a backend applies."""
    return f"{names.FIELD_MANAGER_BACKEND_PREFIX}{backend}"


def managed_by_label(backend: str) -> Mapping[str, str]:
    """The label of every object that a backend writes."""
    return {names.LABEL_MANAGED_BY: f"backend-{backend}"}


def managed_by(backend: str) -> Selector:
    """Select the objects that a backend writes."""
    return Selector(",".join(f"{key}={value}" for key, value in managed_by_label(backend).items()))


def served_by(backend: str) -> Selector:
    """Select the gangs, and their pods, that a backend serves."""
    return Selector(f"{names.LABEL_SCHEDULER_BACKEND}={backend}")


def named(name: str) -> Selector:
    """Select the one object of this name."""
    return Selector(fields=f"metadata.name={name}")
