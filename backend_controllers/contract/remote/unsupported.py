"""Finds what of a pod template cannot be honoured outside of the cluster.

A far side has no volumes, Secrets, ServiceAccounts, Services or kubelet of this cluster. A field that
needs one of them is refused with its path; it is never ignored. What has no effect on the far side
and does no harm, such as an image pull policy, is accepted.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

_EMPTY: Mapping[str, object] = {}
_POD_FIELDS = {
    "initContainers": "init containers are not run there",
    "affinity": "use nodeSelector with the labels of hosts",
    "topologySpreadConstraints": "spreading is not supported there",
    "resourceClaims": "ResourceClaims belong to nodes of the cluster",
    "runtimeClassName": "RuntimeClasses belong to nodes of the cluster",
    "imagePullSecrets": "no Secret leaves the cluster; give the host its own registry login",
    "hostPID": "host namespaces are not given to workloads",
    "hostIPC": "host namespaces are not given to workloads",
    "hostUsers": "user namespaces are set by the host",
    "hostAliases": "host aliases are not written there",
    "dnsConfig": "DNS is set by the host",
    "shareProcessNamespace": "a pod has one container there",
    "overhead": "RuntimeClasses belong to nodes of the cluster",
    "activeDeadlineSeconds": "use maxRuntime of the PodCliqueSet",
}
_CONTAINER_FIELDS = {
    "envFrom": "no ConfigMap or Secret leaves the cluster",
    "livenessProbe": "probes are not run there",
    "readinessProbe": "probes are not run there",
    "startupProbe": "probes are not run there",
    "lifecycle": "hooks are not run there",
    "volumeDevices": "volumes stay in the cluster",
    "stdin": "a container there has no input",
    "tty": "a container there has no terminal",
}
_RESTRICTIONS = frozenset(
    {"runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "capabilities"}
)


def unsupported(template: Mapping[str, object], restricts: Collection[str] = ()) -> Iterator[str]:
    """Yield one sentence for each field that cannot be honoured, with its path in podSpec.

    `restricts` has the fields of a securityContext that the far side honours.
    """
    for name, why in _POD_FIELDS.items():
        if template.get(name):
            yield f"podSpec.{name}: {why}"
    account = template.get("serviceAccountName")
    if account not in (None, "", "default"):
        yield f"podSpec.serviceAccountName: the token of '{account}' does not leave the cluster"
    yield from _volumes(_objects(template.get("volumes")))
    containers = _objects(template.get("containers"))
    for place in range(1, len(containers)):
        yield f"podSpec.containers[{place}]: a pod has one container there"
    user = _user(template)
    yield from _security("podSpec", template, restricts, user)
    for place, container in enumerate(containers):
        path = f"podSpec.containers[{place}]"
        yield from _container(path, container)
        yield from _security(path, container, restricts, _user(container) or user)


def _volumes(volumes: Sequence[Mapping[str, object]]) -> Iterator[str]:
    for place, volume in enumerate(volumes):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        yield f"podSpec.volumes[{place}].{kind}: volumes stay in the cluster"


def _container(path: str, container: Mapping[str, object]) -> Iterator[str]:
    for name, why in _CONTAINER_FIELDS.items():
        if container.get(name):
            yield f"{path}.{name}: {why}"
    for place, variable in enumerate(_objects(container.get("env"))):
        yield from _source(f"{path}.env[{place}].valueFrom", variable.get("valueFrom"))
    for place, port in enumerate(_objects(container.get("ports"))):
        if port.get("hostPort"):
            yield f"{path}.ports[{place}].hostPort: ports of hosts are not reserved"


def _user(holder: Mapping[str, object]) -> object:
    security = holder.get("securityContext")
    return security.get("runAsUser") if isinstance(security, Mapping) else None


def _security(
    path: str, holder: Mapping[str, object], restricts: Collection[str], user: object
) -> Iterator[str]:
    """Check that a securityContext grants nothing, and that every restriction is kept."""
    security = holder.get("securityContext")
    for name, value in security.items() if isinstance(security, Mapping) else ():
        where = f"{path}.securityContext.{name}"
        if _is_default(name, value):
            continue
        if name not in _RESTRICTIONS or _adds(value):
            yield f"{where}: containers there run without additional rights or profiles"
        elif name not in restricts:
            yield f"{where}: it cannot be enforced there"
        elif name == "runAsNonRoot" and not user:
            yield f"{where}: set runAsUser too; the user of an image is not known before it runs"


def _is_default(name: str, value: object) -> bool:
    """Tell whether a field asks for what every container gets anyway."""
    if name in ("seccompProfile", "appArmorProfile") and isinstance(value, Mapping):
        return value.get("type") == "RuntimeDefault"
    # Group 0 and user 0 are values, not defaults.
    return value is None or value is False or value in ("", {}, [])


def _adds(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value.get("add"))


def _source(path: str, source: object) -> Iterator[str]:
    for kind in source if isinstance(source, Mapping) else ():
        if kind != "fieldRef":
            yield f"{path}.{kind}: no ConfigMap or Secret leaves the cluster"
        elif (field := _field(source)) and not _is_known(field):
            yield f"{path}.fieldRef: {field} is not known there"


def _field(source: object) -> str:
    reference = source.get("fieldRef") if isinstance(source, Mapping) else None
    path = reference.get("fieldPath") if isinstance(reference, Mapping) else None
    return path if isinstance(path, str) else ""


def _is_known(field: str) -> bool:
    return field in ("metadata.name", "metadata.namespace", "metadata.uid") or field.startswith(
        ("metadata.labels[", "metadata.annotations[")
    )


def _objects(value: object) -> tuple[Mapping[str, object], ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(item if isinstance(item, Mapping) else _EMPTY for item in value)
