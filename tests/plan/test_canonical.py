"""The spelling of a pod spec changes no hash, and everything else does."""

from typing import Any, cast

import pytest

from core_operator.plan.layout.canonical import canonical_pod_spec
from core_operator.plan.layout.history import set_hash, stored_revision, template_hashes
from core_operator.plan.layout.revisions import revision_hash, revision_manifest, template_hash
from shared_api import names
from shared_api.models import JsonObject, PodCliqueSet
from tests.plan.samples import clique, pod_clique_set

IMAGE = "registry.example.com/app:1"
OLD_TEMPLATE_HASH = "851b86df1af8"
OLD_SET_HASH = "60f461cf5a7f"


def pod(container: dict[str, Any] | None = None, **fields: Any) -> JsonObject:
    return {"containers": [{"name": "main", "image": IMAGE, **(container or {})}], **fields}


def requests(**values: Any) -> dict[str, Any]:
    return {"resources": {"requests": values}}


def volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def affinity(term: dict[str, Any]) -> dict[str, Any]:
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"podAntiAffinity": {key: [{"topologyKey": "k", **term}]}}}


PROBE = {"httpGet": {"port": 80}}
FULL_PROBE = {
    "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
    "failureThreshold": 3,
    "periodSeconds": 10,
    "successThreshold": 1,
    "timeoutSeconds": 1,
    "initialDelaySeconds": 0,
}
LIMITS = {"limits": {"nvidia.com/gpu": 8}}

SAME: dict[str, tuple[JsonObject, JsonObject]] = {
    "half a core": (pod(requests(cpu=0.5)), pod(requests(cpu="500m"))),
    "a gibibyte": (pod(requests(memory="1Gi")), pod(requests(memory="1024Mi"))),
    "a thousand": (pod(requests(memory=1000)), pod(requests(memory="1k"))),
    "empty resources": (pod(), pod({"resources": {}})),
    "resources of nothing": (pod(), pod({"resources": {"requests": {}, "limits": None}})),
    "empty lists": (pod(), pod({"args": [], "env": []}, tolerations=[])),
    "empty security contexts": (pod(), pod({"securityContext": {}}, securityContext={})),
    "nested empty maps": (pod(), pod(affinity={"nodeAffinity": {}})),
    "null": (pod(), pod({"command": None}, hostUsers=None)),
    "an empty variable": (
        pod({"env": [{"name": "A"}]}),
        pod({"env": [{"name": "A", "value": ""}]}),
    ),
    "false": (pod(), pod({"tty": False}, hostNetwork=False)),
    "defaults of a pod": (
        pod(),
        pod(restartPolicy="Always", dnsPolicy="ClusterFirst", terminationGracePeriodSeconds=30),
    ),
    "defaults of a container": (
        pod(),
        pod({"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log"}),
    ),
    "the pull policy of latest": (
        pod({"image": "registry.example.com:5000/app"}),
        pod({"image": "registry.example.com:5000/app", "imagePullPolicy": "Always"}),
    ),
    "the pull policy of a digest": (
        pod({"image": "app@sha256:0"}),
        pod({"image": "app@sha256:0", "imagePullPolicy": "IfNotPresent"}),
    ),
    "the protocol of a port": (
        pod({"ports": [{"containerPort": 1}]}),
        pod({"ports": [{"containerPort": 1, "protocol": "TCP", "hostPort": 0}]}),
    ),
    "probes": (pod({"readinessProbe": PROBE}), pod({"readinessProbe": FULL_PROBE})),
    "requests that equal limits": (
        pod({"resources": LIMITS}),
        pod({"resources": {**LIMITS, "requests": {"nvidia.com/gpu": "8"}}}),
    ),
    "the mode of files": (
        pod(**volume(configMap={"name": "c"})),
        pod(**volume(configMap={"name": "c", "defaultMode": 420})),
    ),
    "metadata of a volume claim": (
        pod(**volume(ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": ["A"]}}})),
        pod(
            **volume(
                ephemeral={
                    "volumeClaimTemplate": {
                        "metadata": {},
                        "spec": {"accessModes": ["A"], "resources": {}},
                    }
                }
            )
        ),
    ),
    "a whole number": (pod(priority=5), pod(priority=5.0)),
}

DIFFERENT: dict[str, tuple[JsonObject, JsonObject]] = {
    "another quantity": (pod(requests(cpu="500m")), pod(requests(cpu="501m"))),
    "requests below limits": (
        pod({"resources": LIMITS}),
        pod({"resources": {**LIMITS, "requests": {"cpu": "1"}}}),
    ),
    "an init container that stays": (
        pod(initContainers=[{"name": "i"}]),
        pod(initContainers=[{"name": "i", "restartPolicy": "Always"}]),
    ),
    "a selector of everything": (pod(**affinity({})), pod(**affinity({"labelSelector": {}}))),
    "a label without a value": (pod(), pod(nodeSelector={"a": ""})),
    "a false that is no default": (pod(), pod(automountServiceAccountToken=False)),
    "no storage class": (
        pod(**volume(ephemeral={"volumeClaimTemplate": {"spec": {"a": "b"}}})),
        pod(
            **volume(
                ephemeral={"volumeClaimTemplate": {"spec": {"a": "b", "storageClassName": ""}}}
            )
        ),
    ),
    "a scheduler, which selects the backend": (pod(), pod(schedulerName="default-scheduler")),
    "another pull policy": (pod(), pod({"imagePullPolicy": "Always"})),
    "the order of arguments": (pod({"args": ["a", "b"]}), pod({"args": ["b", "a"]})),
    "a named port": (
        pod({"readinessProbe": {"httpGet": {"port": 80}}}),
        pod({"readinessProbe": {"httpGet": {"port": "80"}}}),
    ),
}


def workload(spec: JsonObject) -> PodCliqueSet:
    return pod_clique_set(clique("a", pod=cast("dict[str, object]", spec)))


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_another_spelling_of_the_same_pod_has_the_same_hash(
    one: JsonObject, other: JsonObject
) -> None:
    assert revision_hash(workload(one)) == revision_hash(workload(other))
    first, second = (workload(spec).spec.template.cliques[0] for spec in (one, other))
    assert template_hash(first, None) == template_hash(second, None)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_another_pod_has_another_hash(one: JsonObject, other: JsonObject) -> None:
    assert revision_hash(workload(one)) != revision_hash(workload(other))


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME.keys())
def test_the_canonical_form_is_its_own_canonical_form(one: JsonObject, other: JsonObject) -> None:
    for spec in (one, other):
        canonical = canonical_pod_spec(spec)
        assert canonical_pod_spec(canonical) == canonical


def by_first_algorithm(spec: JsonObject, hashes: str, number: int = 1) -> Any:
    data = cast("dict[str, object]", revision_manifest(workload(spec))["data"])
    annotations = {names.ANNOTATION_TEMPLATE_HASHES: hashes} if hashes else {}
    return stored_revision(number, annotations, data)


def test_a_revision_without_hashes_has_those_of_the_first_algorithm() -> None:
    # Both numbers were computed by the version that stored such revisions.
    spelled = pod(requests(cpu=0.5))
    old = by_first_algorithm(spelled, "")
    assert template_hashes(workload(spelled), [old]) == {"a": OLD_TEMPLATE_HASH}
    assert set_hash(workload(spelled), [old]) == OLD_SET_HASH
    again = pod({**requests(cpu="500m"), "securityContext": {}})
    assert template_hashes(workload(again), [old]) == {"a": OLD_TEMPLATE_HASH}


def test_of_two_spellings_that_were_stored_the_pods_keep_the_one_they_have() -> None:
    number, text = pod(requests(cpu=0.5)), pod(requests(cpu="500m"))
    history = [
        by_first_algorithm(number, '{"":"set-1","a":"a-1"}', 1),
        by_first_algorithm(text, '{"":"set-2","a":"a-2"}', 2),
    ]
    for spec in (number, text):
        for current in ("1", "2"):
            pcs = PodCliqueSet.model_validate(
                {
                    **workload(spec).manifest(),
                    "status": {"currentGenerationHash": f"set-{current}"},
                }
            )
            assert template_hashes(pcs, history) == {"a": f"a-{current}"}
            assert set_hash(pcs, history) == f"set-{current}"


def test_a_new_revision_names_its_algorithm() -> None:
    manifest = cast("dict[str, Any]", revision_manifest(workload(pod()), 1, '{"":"x"}'))
    assert manifest["metadata"]["annotations"][names.ANNOTATION_HASH_ALGORITHM] == "2"
