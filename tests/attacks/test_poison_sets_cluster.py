"""Fifty sets that nobody should have to expect, stored between fifty that are fine.

The policies are not in force, so that the server stores as much as it ever would.
"""

import json
from typing import Any

import pytest

from core_operator.state.caches import SETS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.attacks.kit import Attacker
from tests.core.kit import Object, Onlooker, clique, holds, pcs
from tests.deploy.kit import NAMESPACE as PRODUCT

pytestmark = pytest.mark.cluster

EACH = 50
DEADLINE = 240.0
_DEEP = "@deep:"
"""Followed by a number: so many nested lists, which Python's own encoder could not write."""


def _template(**pod_spec: Any) -> Object:
    return {"cliques": [clique("a", podSpec=pod_spec)]}


def _container(**fields: Any) -> Object:
    return _template(containers=[{"name": "main", "image": "registry.example.com/app:1", **fields}])


def _claims(request: Any) -> Object:
    devices = {"requests": [{"name": "gpu", "unknown": request}]}
    own = {"name": "own", "templateSpec": {"spec": {"devices": devices}}}
    return {
        **_template(),
        "resourceClaimTemplates": [own],
        "resourceSharing": [{"name": "own", "scope": "PerReplica"}],
    }


POISON: tuple[Object, ...] = (
    _template(future=f"{_DEEP}200"),
    _template(future=f"{_DEEP}300", other=None),
    _template(future=f"{_DEEP}1200"),
    _template(future=f"{_DEEP}9000"),
    _template(affinity={"podAffinity": {"a": f"{_DEEP}900"}}),
    _template(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": "x"}}),
    _template(securityContext={"runAsUser": "root", "fsGroup": [None]}),
    _template(volumes=[{"name": "v", "emptyDir": 5}, {"name": "v", "hostPath": None}]),
    _template(tolerations=[{"key": "k", "unknown": {"a": [1e300, -1, True, None]}}]),
    _template(schedulingGates=[{"name": "example.com/x", "more": 1}], readinessGates="none"),
    _template(**{f"unknown{number}": number for number in range(80)}),
    _template(hostAliases={"a": 1}, dnsConfig=[], os=7, shareProcessNamespace="maybe"),
    _template(priorityClassName="no-such-class", runtimeClassName="", priority=-1),
    _container(resources={"requests": {"cpu": 1e300, "example.com/x": "-1"}}),
    _container(resources={"limits": {"nvidia.com/gpu": "1e9999"}}, ports=[{"containerPort": -1}]),
    _container(env=[{"name": "LONG", "value": "x" * 200_000}]),
    _container(env=[{"name": f"N{n}", "value": "\u202e"} for n in range(3000)]),
    _container(livenessProbe={"exec": f"{_DEEP}800"}, lifecycle={"preStop": []}),
    _claims(f"{_DEEP}300"),
    _claims(f"{_DEEP}2000"),
    {
        "cliques": [
            clique("a", autoScalingConfig={"maxReplicas": 2, "metrics": [{"a": f"{_DEEP}400"}]})
        ]
    },
    {**_template(), "terminationDelay": "2562047h"},
    {"cliques": [clique(f"c{number}") for number in range(8)], "priorityClassName": "x" * 253},
)
ANNOTATIONS: tuple[dict[str, str], ...] = (
    {names.ANNOTATION_SCHEDULER_BACKEND: ",,\x01, default,"},
    {names.ANNOTATION_MNNVL_GROUP: "x" * 100_000},
    {names.ANNOTATION_STARTUP_ORDER: names.STARTUP_AFTER, names.ANNOTATION_TOPOLOGY_NAME: "{gang}"},
    {names.ANNOTATION_TEMPLATE_HASHES: "[[", names.ANNOTATION_PREPARATION: ":::"},
    {},
)


def _text(manifest: Object) -> str:
    text = json.dumps(manifest)
    while _DEEP in text:
        before, _, rest = text.partition(f'"{_DEEP}')
        number, _, after = rest.partition('"')
        text = before + "[" * int(number) + "]" * int(number) + after
    return text


def _poison(number: int, namespace: str) -> str:
    manifest = pcs(f"poison-{number}")
    manifest["spec"]["template"] = POISON[number % len(POISON)]
    manifest["metadata"] |= {
        "namespace": namespace,
        "annotations": ANNOTATIONS[number % len(ANNOTATIONS)],
        "labels": {"kai.scheduler/queue": "x", names.LABEL_PODGANG: f"good-{number}-0"},
    }
    return _text(manifest)


def _good(number: int, namespace: str) -> str:
    manifest = pcs(f"good-{number}", clique("a"))
    manifest["metadata"]["namespace"] = namespace
    return _text(manifest)


def _processes(cluster: Cluster) -> dict[str, int]:
    """The product's pods by UID, and how often each was restarted."""
    answer = cluster.kubectl("get", "pods", "-n", PRODUCT, "-o", "json")
    return {
        pod["metadata"]["uid"]: sum(
            one["restartCount"] for one in pod["status"].get("containerStatuses", [])
        )
        for pod in json.loads(answer.stdout)["items"]
    }


async def test_fifty_sets_run_between_fifty_that_nobody_can_make_sense_of(
    unguarded: Cluster, victim: Onlooker, home: str, evil: str, attacker: Attacker
) -> None:
    before = _processes(unguarded)
    assert before
    sets = [text for number in range(EACH) for text in (_poison(number, evil), _good(number, home))]
    unguarded.kubectl("create", "-f", "-", input="\n".join(sets))

    def ready() -> bool:
        found = [item for item in victim.all(SETS) if holds(item, names.CONDITION_READY)]
        return len(found) == EACH

    await victim.until(ready, seconds=DEADLINE)

    # In the foreground a set goes last, so that nothing of it is left when the command returns.
    attacker.do("delete", "pcs", "--all", "--cascade=foreground", f"--timeout={DEADLINE:.0f}s")
    left = unguarded.kubectl("get", "pclq,pcsg,podgangs,pods", "-n", evil, "-o", "name")
    assert left.stdout == ""
    assert _processes(unguarded) == before
