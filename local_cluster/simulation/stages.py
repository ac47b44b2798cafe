"""How simulated nodes and pods behave, as kwok stages.

A bound pod runs and becomes ready at once, a deleted pod goes away at once. Annotations on a
pod change that:

    local-cluster/ready-after: 5s       becomes ready that much later
    local-cluster/fail-after: 3s        its containers fail that long after it was ready
    local-cluster/succeed-after: 3s     its containers exit with 0 that long after it was ready
    local-cluster/exit-code: "137"      the exit code of containers that fail (default 1)
    local-cluster/terminates-after: 30s takes that long to go away once it is deleted ("never": hangs)

Statuses are written by strategic merge, so that conditions of others (PodScheduled, a
scheduler's own) stay.
"""

import yaml

READY_AFTER = "local-cluster/ready-after"
FAIL_AFTER = "local-cluster/fail-after"
SUCCEED_AFTER = "local-cluster/succeed-after"
EXIT_CODE = "local-cluster/exit-code"
TERMINATES_AFTER = "local-cluster/terminates-after"
NEVER = "never"

_NODE_STATUS = """
{{ $now := Now }}
conditions:
{{ range NodeConditions }}
- type: {{ .type | Quote }}
  status: {{ .status | Quote }}
  reason: {{ .reason | Quote }}
  message: {{ .message | Quote }}
  lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
addresses:
- type: InternalIP
  address: {{ NodeIP | Quote }}
- type: Hostname
  address: {{ NodeName | Quote }}
nodeInfo:
  architecture: amd64
  operatingSystem: linux
  kubeletVersion: simulated
  containerRuntimeVersion: simulated
  kernelVersion: simulated
  kubeProxyVersion: ""
  osImage: simulated
  bootID: ""
  machineID: ""
  systemUUID: ""
phase: Running
"""

_POD_RUNNING = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
{{ range $type := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "True"
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) (or .metadata.uid "") (or .metadata.name "") (or .metadata.namespace "") }}
podIP: {{ index . 0 | Quote }}
podIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
"""

_POD_ENDED = """
{{ $now := Now }}
{{ $code := %(code)s }}
phase: %(phase)s
conditions:
{{ range $type := list "ContainersReady" "Ready" }}
- type: {{ $type }}
  status: "False"
  reason: Pod%(phase)s
  lastTransitionTime: {{ $now | Quote }}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state:
    running: null
    terminated: {exitCode: {{ $code }}, reason: %(reason)s, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
{{ end }}
"""


_FAILED_WITH = f'(or (index .metadata.annotations "{EXIT_CODE}") "1")'
_SUCCEEDED = {"phase": "Succeeded", "code": '"0"', "reason": "Completed"}


def kwok_config() -> str:
    """Return kwok's configuration file: how much it does at once, and the stages."""
    options = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "nodePlayStageParallelism": 4,
            "podPlayStageParallelism": 16,
            "nodeLeaseParallelism": 4,
        },
    }
    return yaml.safe_dump_all([options, *_stages()], sort_keys=False)


def _stages() -> list[dict[str, object]]:
    alive = _absent(".metadata.deletionTimestamp")
    running = _in(".status.phase", "Running")
    return [
        _stage(
            "node-ready",
            "Node",
            [_not_in('.status.conditions.[] | select(.type == "Ready") | .status', "True")],
            patch=_NODE_STATUS,
        ),
        _stage(
            "pod-ready",
            "Pod",
            [alive, _in(".status.phase", "Pending"), _present(".spec.nodeName")],
            patch=_POD_RUNNING,
            delay_annotation=READY_AFTER,
        ),
        _stage(
            "pod-fail",
            "Pod",
            [alive, running, _present(f'.metadata.annotations["{FAIL_AFTER}"]')],
            patch=_POD_ENDED % {"phase": "Failed", "code": _FAILED_WITH, "reason": "Error"},
            delay_annotation=FAIL_AFTER,
        ),
        _stage(
            "pod-complete",
            "Pod",
            [alive, running, _in(".metadata.ownerReferences.[].kind", "Job")],
            patch=_POD_ENDED % _SUCCEEDED,
        ),
        _stage(
            "pod-succeed",
            "Pod",
            [alive, running, _present(f'.metadata.annotations["{SUCCEED_AFTER}"]')],
            patch=_POD_ENDED % _SUCCEEDED,
            delay_annotation=SUCCEED_AFTER,
        ),
        _stage(
            "pod-delete",
            "Pod",
            [
                _present(".metadata.deletionTimestamp"),
                _not_in(f'.metadata.annotations["{TERMINATES_AFTER}"]', NEVER),
            ],
            delay_annotation=TERMINATES_AFTER,
        ),
    ]


def _stage(
    name: str,
    kind: str,
    expressions: list[dict[str, object]],
    *,
    patch: str | None = None,
    delay_annotation: str | None = None,
) -> dict[str, object]:
    """Build one stage; without a patch it deletes the object."""
    following: dict[str, object] = {"delete": True}
    if patch is not None:
        template = {
            "subresource": "status",
            "root": "status",
            "type": "strategic",
            "template": patch,
        }
        following = {"patches": [template]}
    spec: dict[str, object] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": expressions},
        "next": following,
    }
    if delay_annotation is not None:
        source = {"expressionFrom": f'.metadata.annotations["{delay_annotation}"]'}
        spec["delay"] = {"durationMilliseconds": 0, "durationFrom": source}
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": spec,
    }


def _present(key: str) -> dict[str, object]:
    return {"key": key, "operator": "Exists"}


def _absent(key: str) -> dict[str, object]:
    return {"key": key, "operator": "DoesNotExist"}


def _in(key: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": "In", "values": list(values)}


def _not_in(key: str, *values: str) -> dict[str, object]:
    return {"key": key, "operator": "NotIn", "values": list(values)}
