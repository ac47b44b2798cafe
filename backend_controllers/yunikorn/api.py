"""YuniKorn's label and annotation keys, and projections of the objects that are read.

The gang has the sizes of its groups, and the PodCliques have the requests of their pods: YuniKorn
needs both before the first pod is created. Placeholders have a label of ours, which YuniKorn takes
from the table of groups. They have none of the labels that select members.
"""

import msgspec

from backend_controllers.contract.events import SchedulerEvent
from shared_api.kube import pod_resources as requests
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import ObservedPodGang
from shared_api.kube.pods import Pod
from shared_api.runtime.watching.predicates import Watched

BACKEND_NAME = "yunikorn"
SCHEDULER_NAME = "yunikorn"
SERVICE = "yunikorn-service"
"""The Service that YuniKorn's chart creates."""

# Users set it on a PodCliqueSet or on its cliques, and pods carry it, too.
KEY_QUEUE = "yunikorn.apache.org/queue"

# Set on pods.
KEY_APPLICATION = "yunikorn.apache.org/app-id"
KEY_GROUP = "yunikorn.apache.org/task-group-name"
KEY_GROUPS = "yunikorn.apache.org/task-groups"
KEY_POLICY = "yunikorn.apache.org/schedulingPolicyParameters"

# Set on placeholders: the gang that they reserve capacity for.
KEY_PLACEHOLDER_OF = "grove.io/placeholder-of"

_NAME_SHOWN = 40
_UID_SHOWN = 8

Json = dict[str, object]


def application(gang: ObservedPodGang) -> str:
    """Return the application of a gang; core fills in how often its members were recreated.

    YuniKorn identifies applications by this name in all namespaces, and remembers them for days. It
    reserves nothing for an application that it has seen before.
    """
    name = gang.metadata.name[:_NAME_SHOWN].rstrip("-.")
    return f"{name}-{gang.metadata.uid[:_UID_SHOWN]}-{{incarnation}}"


def is_of(gang: ObservedPodGang, application_id: str) -> bool:
    """Tell whether this is the gang's current application."""
    incarnation = (gang.status.incarnation or 0) if gang.status is not None else 0
    return application_id == application(gang).replace("{incarnation}", str(incarnation))


def gang_of_placeholder(value: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the gang that a placeholder reserves capacity for."""
    gang = value.metadata.labels.get(KEY_PLACEHOLDER_OF)
    return (value.metadata.namespace or "", gang) if gang and isinstance(value, Pod) else None


def pod_of_event(value: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the pod that an event is about."""
    if not isinstance(value, SchedulerEvent):
        return None
    return value.involved_object.namespace, value.involved_object.name


def clique_of_event(value: Watched) -> tuple[str, str] | None:
    """Return namespace and name of the PodClique of that pod, taken from the pod's name."""
    found = pod_of_event(value)
    return (found[0], found[1].rpartition("-")[0]) if found is not None else None


class YunikornPodTemplate(requests.PodResources, frozen=True):
    """The fields of a pod template that decide where the pod fits."""

    runtime_class_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()
    affinity: Json = msgspec.field(default_factory=dict)
    topology_spread_constraints: tuple[Json, ...] = ()


class _CliqueSpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_spec: YunikornPodTemplate = YunikornPodTemplate()
    starts_after: tuple[str, ...] = ()


class YunikornClique(msgspec.Struct, frozen=True):
    """A PodClique: the template of its pods."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _CliqueSpec = _CliqueSpec()
