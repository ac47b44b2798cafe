"""The pod template of a clique, kept exactly as the user wrote it.

To Python it is JSON that is passed through: key order, unknown fields and nulls survive. To
the API server it is an open object in which only what the contract must judge is declared:
the two fields that would bypass a gang, the scheduler's name, and the lists whose merge keys
every Kubernetes user expects.
"""

from typing import Annotated

from pydantic import JsonValue

from shared_api.models.schema import JsonObject, Structural

_OPEN = "x-kubernetes-preserve-unknown-fields"


def _open_object(description: str, **more: JsonValue) -> JsonObject:
    return {"description": description, "type": "object", _OPEN: True, **more}


def _by_name(description: str, items: JsonObject, **more: JsonValue) -> JsonObject:
    return {
        "description": description,
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        **more,
    }


_ENV = _open_object(
    "A variable, as in a Pod.",
    required=["name"],
    properties={
        "name": {
            "description": "Printable ASCII without '='.",
            "type": "string",
            "minLength": 1,
            "pattern": "^[ -<>-~]+$",
        }
    },
)

_CONTAINER = _open_object(
    "A container, as in a Pod.",
    required=["name"],
    properties={
        "name": {
            "description": "Name of the container, unique in the pod.",
            "type": "string",
            "minLength": 1,
            "maxLength": 63,
        },
        "env": _by_name("Environment variables; each name once.", _ENV),
    },
)

# Without a description: the field that has this type brings its own.
_POD_SPEC: JsonObject = {
    "type": "object",
    _OPEN: True,
    "required": ["containers"],
    "properties": {
        "containers": _by_name("The pod's containers.", _CONTAINER, minItems=1),
        "initContainers": _by_name("The pod's init containers.", _CONTAINER),
        "schedulerName": {
            "description": "Scheduler of the pods. It selects the backend unless the PodCliqueSet"
            " names one, and must be the same in all cliques.",
            "type": "string",
            "maxLength": 253,
        },
        "nodeName": {
            "description": "Must be empty: a pod that is bound by hand is no member of a gang.",
            "type": "string",
            "maxLength": 253,
        },
        "topologySpreadConstraints": {
            "description": "Must be empty: use topologyConstraint, which schedulers of gangs honour.",
            "type": "array",
            "items": _open_object("A spread constraint, as in a Pod."),
            "x-kubernetes-list-type": "atomic",
        },
    },
}

PodSpec = Annotated[JsonObject, Structural(_POD_SPEC)]
