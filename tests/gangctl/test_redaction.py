"""No value of an environment variable is left in an object, wherever it is."""

import json
from typing import Any

from gangctl.reports.redaction import redacted

SECRET = "hunter2"
ENV = [
    {"name": "TOKEN", "value": SECRET},
    {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}},
]


def test_names_and_references_stay_and_values_go() -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "app:1", "env": ENV}]}}
    assert redacted(pod)["spec"]["containers"][0] == {
        "name": "main",
        "image": "app:1",
        "env": [
            {"name": "TOKEN", "value": "(removed)"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a"}}},
        ],
    }


def test_values_go_from_every_place_in_which_a_pod_spec_can_be() -> None:
    spec = {"containers": [{"env": ENV}], "initContainers": [{"env": ENV}]}
    objects: list[dict[str, Any]] = [
        {"spec": {"template": {"cliques": [{"spec": {"podSpec": spec}}]}}},
        {"data": {"cliques": {"a": {"podSpec": spec}}}},
        {"spec": {"template": {"spec": spec}}},
        {"spec": {"ephemeralContainers": [{"env": ENV}]}},
        {"spec": {"env": {"TOKEN": SECRET}}},
        {"spec": {"env": [SECRET]}},
        {"probe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}}},
    ]
    assert SECRET not in json.dumps([redacted(item) for item in objects])


def test_kubectls_copy_of_the_manifest_and_managed_fields_are_dropped() -> None:
    copy = "kubectl.kubernetes.io/last-applied-configuration"
    metadata = {"name": "w", "annotations": {copy: SECRET, "a": "b"}, "managedFields": [{}]}
    assert redacted({"metadata": metadata}) == {
        "metadata": {"name": "w", "annotations": {"a": "b"}}
    }
