"""The pod template of a clique, stored exactly as the user wrote it.

Python passes it on as JSON: key order, unknown fields and nulls stay. For the API server it is an
open object. The schema declares fields that rules or plans read, and fields that have the same type
in every version of Kubernetes. It must not refuse a spec that a pod can be created from, and must
not change one: so it has no enumerations and no defaults. Lists that were added later are atomic,
because the server treats undeclared lists so and another type would change their field owners.
"""

from typing import Annotated

from pydantic import JsonValue

from shared_api.models.schema import JsonObject, Structural

_OPEN = "x-kubernetes-preserve-unknown-fields"

MAX_FIELDS = 128
"""Maximum of fields of a pod spec and of a container. Kubernetes has fewer than 50."""
MAX_ENTRIES = 4096
"""Maximum of entries of one list in a pod spec."""

_QUANTITY = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"


def _text(description: str, **more: JsonValue) -> JsonObject:
    return {"description": description, "type": "string", **more}


def _flag(description: str) -> JsonObject:
    return {"description": description, "type": "boolean"}


def _whole(description: str, width: str = "int64") -> JsonObject:
    return {"description": description, "type": "integer", "format": width}


def _open_object(description: str, **more: JsonValue) -> JsonObject:
    return {"description": description, "type": "object", _OPEN: True, **more}


def _string_map(description: str) -> JsonObject:
    return {
        "description": description,
        "type": "object",
        "maxProperties": MAX_ENTRIES,
        "additionalProperties": {"type": "string"},
    }


def _list(description: str, items: JsonObject, **more: JsonValue) -> JsonObject:
    return {
        "description": description,
        "type": "array",
        "maxItems": MAX_ENTRIES,
        "items": items,
        "x-kubernetes-list-type": "atomic",
        **more,
    }


def _by_name(description: str, items: JsonObject, **more: JsonValue) -> JsonObject:
    merged: JsonObject = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    return _list(description, items, **merged, **more)


def _named(description: str, **properties: JsonValue) -> JsonObject:
    return _open_object(
        description,
        required=["name"],
        properties={"name": _text("Name of the entry."), **properties},
    )


def _quantities(description: str) -> JsonObject:
    # A quantity may be a string, an integer or a float. No structural type covers these three, so
    # every other type is given bounds that no value can meet.
    return {
        "description": description,
        "type": "object",
        "maxProperties": MAX_FIELDS,
        "additionalProperties": {
            _OPEN: True,
            "maxLength": 64,
            "pattern": _QUANTITY,
            "minItems": 1,
            "maxItems": 0,
            "minProperties": 1,
            "maxProperties": 0,
            "not": {"enum": [True, False]},
        },
    }


_RESOURCES = _open_object(
    "Requested resources and their limits.",
    properties={
        "requests": _quantities("Requested amounts by resource."),
        "limits": _quantities("Upper limits by resource."),
        "claims": _list(
            "Claims of the pod that the container uses.", _named("A claim of the pod.")
        ),
    },
)

_ENV = _open_object(
    "A variable, as in a Pod.",
    required=["name"],
    properties={
        "name": _text(
            "Name of the variable: printable ASCII without '='.",
            minLength=1,
            pattern="^[ -<>-~]+$",
        ),
        "value": _text("Value of the variable. Quote numbers and booleans."),
        "valueFrom": _open_object("Source of the value."),
    },
)

_PORT = _open_object(
    "A port, as in a Pod.",
    properties={
        "containerPort": _whole("Number of the port.", "int32"),
        "hostPort": _whole("Port of the node.", "int32"),
        "name": _text("Name of the port."),
        "protocol": _text("Protocol of the port."),
    },
)

_CONTAINER = _open_object(
    "A container, as in a Pod.",
    required=["name"],
    maxProperties=MAX_FIELDS,
    properties={
        "name": _text("Name of the container, unique in the pod.", minLength=1, maxLength=63),
        "image": _text("Image of the container."),
        "command": _list("Entrypoint.", {"type": "string"}),
        "args": _list("Arguments of the entrypoint.", {"type": "string"}),
        "workingDir": _text("Working directory."),
        "env": _by_name("Environment variables. Names must be unique.", _ENV),
        "envFrom": _list("Sources of variables.", _open_object("A source of variables.")),
        "ports": _list("Ports that the container opens.", _PORT),
        "resources": _RESOURCES,
        "restartPolicy": _text("Restart policy of an init container."),
        "imagePullPolicy": _text("When the image is pulled."),
        "volumeMounts": _list("Volume mounts.", _named("A mounted volume.")),
        "securityContext": _open_object("Security options of the container."),
        "livenessProbe": _open_object("Liveness probe."),
        "readinessProbe": _open_object("Readiness probe."),
        "startupProbe": _open_object("Startup probe."),
        "lifecycle": _open_object("Lifecycle hooks."),
    },
)

_TOLERATION = _open_object(
    "A toleration, as in a Pod.",
    properties={
        "key": _text("Key of the taint."),
        "operator": _text("Relation of key and value."),
        "value": _text("Value of the taint. Quote numbers and booleans."),
        "effect": _text("Effect of the taint."),
        "tolerationSeconds": _whole("Seconds for which the taint is tolerated."),
    },
)

_AFFINITY = _open_object(
    "Scheduling constraints of the pods.",
    properties={
        "nodeAffinity": _open_object("Node affinity."),
        "podAffinity": _open_object("Pod affinity."),
        "podAntiAffinity": _open_object("Pod anti-affinity."),
    },
)

# No description: each field of this type has its own.
_POD_SPEC: JsonObject = {
    "type": "object",
    _OPEN: True,
    "required": ["containers"],
    "maxProperties": MAX_FIELDS,
    "properties": {
        "containers": _by_name("The pod's containers.", _CONTAINER, minItems=1),
        "initContainers": _by_name("The pod's init containers.", _CONTAINER),
        "schedulerName": _text(
            "Scheduler of the pods. It selects the backend unless the PodCliqueSet names one, and"
            " must be the same in all cliques.",
            maxLength=253,
        ),
        "nodeName": _text(
            "Must be empty: a pod that is bound by hand is no member of a gang.", maxLength=253
        ),
        "topologySpreadConstraints": {
            "description": "Must be empty: use topologyConstraint, which gang schedulers support.",
            "type": "array",
            "items": _open_object("A spread constraint, as in a Pod."),
            "x-kubernetes-list-type": "atomic",
        },
        "nodeSelector": _string_map("Labels that a node must have. Quote numbers and booleans."),
        "tolerations": _list("Taints that the pods tolerate.", _TOLERATION),
        "affinity": _AFFINITY,
        "resources": _RESOURCES,
        "overhead": _quantities("Resource overhead of the runtime class."),
        "resourceClaims": _list("Claims of the pod.", _named("A claim of the pod.")),
        "priorityClassName": _text("PriorityClass of the pods.", maxLength=253),
        "priority": _whole("Priority of the pods.", "int32"),
        "preemptionPolicy": _text("Whether the pods may preempt other pods."),
        "runtimeClassName": _text("RuntimeClass of the pods.", maxLength=253),
        "serviceAccountName": _text("ServiceAccount of the pods.", maxLength=253),
        "automountServiceAccountToken": _flag("Whether the ServiceAccount token is mounted."),
        "schedulingGates": _list("Scheduling gates of the user.", _named("A scheduling gate.")),
        "volumes": _list("Volumes of the pods.", _named("A volume, as in a Pod.")),
        "imagePullSecrets": _list(
            "Secrets for pulling images.",
            _open_object("A Secret.", properties={"name": _text("Name of the Secret.")}),
        ),
        "restartPolicy": _text(
            "Restart policy of the containers. With Always the pods serve, with OnFailure or Never they"
            " run to completion.",
            maxLength=63,
        ),
        "hostname": _text("Overwritten: core sets the name of the PodClique and an index."),
        "subdomain": _text("Overwritten: core sets the headless Service of the replica."),
        "dnsPolicy": _text("DNS policy of the pods."),
        "hostNetwork": _flag("Whether the pods use the network of the node."),
        "terminationGracePeriodSeconds": _whole("Seconds that a pod has to terminate."),
        "activeDeadlineSeconds": _whole("Seconds after which the pod is terminated."),
        "securityContext": _open_object("Security options of the pods."),
    },
}

PodSpec = Annotated[JsonObject, Structural(_POD_SPEC)]
