"""The canonical form of a pod spec: one form for all spellings that produce the same pod.

A client that reads a PodCliqueSet and writes it back may change its spelling: `0.5` becomes
`"500m"`, `resources: {}` appears, null fields disappear, and so do defaults of the API server. This
module owns the rules for what is only spelling. It must not merge two specs whose pods differ:
a value is only dropped where its field is known. The result is hashed, never written.
"""

import math
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from shared_api.kube import quantities
from shared_api.models import JsonObject

# Maps with keys of the user: only nulls are dropped from them.
_USER_MAPS = frozenset({"nodeSelector", "matchLabels", "labels", "annotations"})
_USER_MAPS |= {"volumeAttributes", "options"}
_QUANTITY_MAPS = frozenset({"requests", "limits", "overhead"})
_QUANTITIES = frozenset({"sizeLimit", "divisor"})
# An empty selector selects everything, an absent one nothing or the own namespace.
_MEANINGFUL_WHEN_EMPTY = frozenset({"labelSelector", "namespaceSelector"})

# Fields that Go clients leave out when they have this value.
_FALSE = frozenset({"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly"})
_ZERO = frozenset({"initialDelaySeconds", "hostPort"})
_NO_TEXT = frozenset({"value", "operator", "effect", "key", "subPath", "subPathExpr", "workingDir"})
_NO_TEXT |= {"hostname", "subdomain", "nodeName", "schedulerName", "priorityClassName", "medium"}
_NO_TEXT |= {"serviceAccountName", "serviceAccount", "hostIP", "prefix"}

# Defaults of the API server. schedulerName is missing on purpose: without one, core selects the
# backend's scheduler and not default-scheduler.
_POD_DEFAULTS: JsonObject = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "restartPolicy": "Always",
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
}
_CONTAINER_DEFAULTS: JsonObject = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE_DEFAULTS: JsonObject = {
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
}
_FILE_MODE: JsonObject = {"defaultMode": 0o644}
# By the key of the object that has the field, or of the list that has the object.
_DEFAULTS: dict[str, JsonObject] = {
    "containers": _CONTAINER_DEFAULTS,
    "initContainers": _CONTAINER_DEFAULTS,
    "ports": {"protocol": "TCP"},
    "livenessProbe": _PROBE_DEFAULTS,
    "readinessProbe": _PROBE_DEFAULTS,
    "startupProbe": _PROBE_DEFAULTS,
    "httpGet": {"path": "/", "scheme": "HTTP"},
    "grpc": {"service": ""},
    "fieldRef": {"apiVersion": "v1"},
    "resourceFieldRef": {"divisor": "0"},
    "secret": _FILE_MODE,
    "configMap": _FILE_MODE,
    "downwardAPI": _FILE_MODE,
    "projected": _FILE_MODE,
    "serviceAccountToken": {"expirationSeconds": 3600},
    "hostPath": {"type": ""},
}
_CONTAINER_LISTS = ("initContainers", "containers")
_BILLION = 10**9


def canonical_pod_spec(pod_spec: Mapping[str, JsonValue]) -> JsonObject:
    """Return the canonical form of a pod spec."""
    found = _canonical_object(pod_spec, _POD_DEFAULTS)
    for field in _CONTAINER_LISTS:
        containers = found.get(field)
        if isinstance(containers, list):
            found[field] = [
                _without_container_defaults(each) if isinstance(each, dict) else each
                for each in containers
            ]
    return found


def _canonical_object(
    fields: Mapping[str, JsonValue], defaults: Mapping[str, JsonValue]
) -> JsonObject:
    found: JsonObject = {}
    for key, value in fields.items():
        new = _canonical_field(key, value)
        if new is None or _is_unset(key, new) or (key in defaults and new == defaults[key]):
            continue
        found[key] = new
    return found


def _canonical_field(key: str, value: JsonValue) -> JsonValue:
    if key in _QUANTITIES:
        return _quantity(value)
    if isinstance(value, dict):
        if key in _QUANTITY_MAPS:
            return _each(value, _quantity)
        if key in _USER_MAPS:
            return _each(value, lambda part: part)
        return _canonical_object(value, _DEFAULTS.get(key, {}))
    if isinstance(value, list):
        return [_canonical_item(key, item) for item in value]
    return _whole(value)


def _canonical_item(key: str, item: JsonValue) -> JsonValue:
    if isinstance(item, dict):
        return _canonical_object(item, _DEFAULTS.get(key, {}))
    if isinstance(item, list):
        return [_canonical_item(key, part) for part in item]
    return _whole(item)


def _is_unset(key: str, value: JsonValue) -> bool:
    if isinstance(value, dict | list):
        return not value and key not in _MEANINGFUL_WHEN_EMPTY
    if isinstance(value, bool):
        return not value and key in _FALSE
    if isinstance(value, str):
        return not value and key in _NO_TEXT
    return value == 0 and key in _ZERO


def _without_container_defaults(container: JsonObject) -> JsonObject:
    found = dict(container)
    image = found.get("image")
    if isinstance(image, str) and found.get("imagePullPolicy") == _pull_policy(image):
        del found["imagePullPolicy"]
    resources = found.get("resources")
    if isinstance(resources, dict):
        found["resources"] = resources = _without_implied_requests(resources)
        if not resources:
            del found["resources"]
    return found


def _without_implied_requests(resources: JsonObject) -> JsonObject:
    """Drop the requests that equal the limit: the server adds them."""
    requests, limits = resources.get("requests"), resources.get("limits")
    if not isinstance(requests, dict) or not isinstance(limits, dict):
        return resources
    kept: JsonObject = {k: v for k, v in requests.items() if k not in limits or limits[k] != v}
    others = {key: value for key, value in resources.items() if key != "requests"}
    return {**others, "requests": kept} if kept else others


def _pull_policy(image: str) -> str:
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _each(values: Mapping[str, JsonValue], convert: Callable[[JsonValue], JsonValue]) -> JsonObject:
    return {key: convert(value) for key, value in values.items() if value is not None}


def _quantity(value: JsonValue) -> JsonValue:
    """Return a quantity as billionths, the finest unit of the server, or zero as "0"."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    number = quantities.parsed(value)
    if number is None:
        return value
    billionths = math.ceil(number * _BILLION)
    return f"{billionths}n" if billionths else "0"


def _whole(value: JsonValue) -> JsonValue:
    # JSON has one kind of number: 30.0 is 30.
    return int(value) if isinstance(value, float) and value.is_integer() else value
