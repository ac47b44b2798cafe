"""YuniKorn's keys and words, and the few fields that are read of other objects.

Group sizes are in the gang, what a pod of a group asks for is in its PodClique: YuniKorn wants
both before the first pod is created. Placeholders are told by a label of ours, which YuniKorn
copies from the table of groups; none of the labels by which members are found is on them.
"""

import msgspec

from shared_api import names
from shared_api.kube import pod_resources as requests
from shared_api.kube.metadata import Metadata
from shared_api.kube.podgangs import PodGang
from shared_api.kube.pods import Pod
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.predicates import Watched

CLIQUES = Resource(names.GROVE_GROUP, names.VERSION, "podcliques", "PodClique")
# The old group: only there can events be selected by what they are about.
EVENTS = Resource("", "v1", "events", "Event")

BACKEND_NAME = "yunikorn"
SCHEDULER_NAME = "yunikorn"

# What users put on a PodCliqueSet; its gangs inherit it, and pods carry it too.
KEY_QUEUE = "yunikorn.apache.org/queue"

# What pods carry.
KEY_APPLICATION = "yunikorn.apache.org/app-id"
KEY_GROUP = "yunikorn.apache.org/task-group-name"
KEY_GROUPS = "yunikorn.apache.org/task-groups"
KEY_POLICY = "yunikorn.apache.org/schedulingPolicyParameters"

# What placeholders carry: the gang that they hold room for.
KEY_PLACEHOLDER_OF = "grove.io/placeholder-of"

_NAME_SHOWN = 40
_UID_SHOWN = 8

Json = dict[str, object]


def application(gang: PodGang) -> str:
    """The application of a gang; core puts in how often its members were made anew.

    YuniKorn knows applications by this name alone, in all namespaces, remembers them for days,
    and reserves nothing for one that it has met before.
    """
    name = gang.metadata.name[:_NAME_SHOWN].rstrip("-.")
    return f"{name}-{gang.metadata.uid[:_UID_SHOWN]}-{{incarnation}}"


def is_of(gang: PodGang, application_id: str) -> bool:
    """Tell whether this is the gang's application as it is now."""
    incarnation = (gang.status.incarnation or 0) if gang.status is not None else 0
    return application_id == application(gang).replace("{incarnation}", str(incarnation))


def gang_of_placeholder(value: Watched) -> tuple[str, str] | None:
    """Namespace and name of the gang that a placeholder holds room for."""
    gang = value.metadata.labels.get(KEY_PLACEHOLDER_OF)
    return (value.metadata.namespace or "", gang) if gang and isinstance(value, Pod) else None


def pod_of_event(value: Watched) -> tuple[str, str] | None:
    """Namespace and name of the pod that an event is about."""
    if not isinstance(value, ObservedEvent):
        return None
    return value.involved_object.namespace, value.involved_object.name


def clique_of_event(value: Watched) -> tuple[str, str] | None:
    """Namespace and name of the PodClique of that pod, going by its name, if it is a member."""
    found = pod_of_event(value)
    return (found[0], found[1].rpartition("-")[0]) if found is not None else None


class Template(requests.Template, frozen=True):
    """A pod's template, as far as it decides where there is room for the pod."""

    runtime_class_name: str = ""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: tuple[Json, ...] = ()
    affinity: Json = msgspec.field(default_factory=dict)
    topology_spread_constraints: tuple[Json, ...] = ()


class _CliqueSpec(msgspec.Struct, frozen=True, rename="camel"):
    pod_spec: Template = Template()
    starts_after: tuple[str, ...] = ()


class ObservedClique(msgspec.Struct, frozen=True):
    """A PodClique: what its pods are made from."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _CliqueSpec = _CliqueSpec()


class Involved(msgspec.Struct, frozen=True):
    """What an event is about."""

    namespace: str = ""
    name: str = ""


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    last_observed_time: str = ""


class ObservedEvent(msgspec.Struct, frozen=True, rename="camel"):
    """What YuniKorn tells about a pod."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    involved_object: Involved = Involved()
    reason: str = ""
    action: str = ""
    message: str = ""
    event_time: str | None = None
    last_timestamp: str | None = None
    series: _Series | None = None

    @property
    def at(self) -> str:
        """When it was last recorded."""
        repeated = self.series.last_observed_time if self.series is not None else ""
        return (
            repeated or self.last_timestamp or self.event_time or self.metadata.creation_timestamp
        )
