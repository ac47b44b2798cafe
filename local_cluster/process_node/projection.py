"""What the files of a volume are, from what is known now. Pure.

Supported sources are configMap, downwardAPI, projected (those two and serviceAccountToken) and
emptyDir. Everything else is refused by name before a pod starts: Secrets because nothing here
may read them, host paths because there is no host beneath a process.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from local_cluster.api import Object
from local_cluster.process_node.downward import pod_field, resource_field
from local_cluster.process_node.environment import ContainerConfigError, PodFacts

DEFAULT_MODE = 0o644
TOKEN_MODE = 0o600
VOLUME_SOURCES = {"configMap", "downwardAPI", "projected", "emptyDir"}
PROJECTED_SOURCES = {"configMap", "downwardAPI", "serviceAccountToken"}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass(frozen=True, slots=True)
class File:
    """The wanted content of one file."""

    data: bytes
    mode: int = DEFAULT_MODE


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """A ServiceAccount token that a volume asks for."""

    audience: str
    seconds: int


def refusals(pod: Object) -> list[str]:
    """Why the process node cannot run a pod at all; empty when it can."""
    spec = pod["spec"]
    problems = []
    for volume in spec.get("volumes", ()):
        unknown = set(volume) - {"name"} - VOLUME_SOURCES
        for source in volume.get("projected", {}).get("sources", ()):
            unknown |= set(source) - PROJECTED_SOURCES
        problems += [f'volume "{volume["name"]}": {source} is not supported' for source in unknown]
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        unknown = {source for entry in container.get("envFrom", ()) for source in entry}
        unknown &= {"secretRef"}
        for entry in container.get("env", ()):
            unknown |= set(entry.get("valueFrom", ())) & {"secretKeyRef", "fileKeyRef"}
        unknown |= {"grpc" for probe in PROBES if "grpc" in container.get(probe, {})}
        problems += [
            f'container "{container["name"]}": {what} is not supported' for what in unknown
        ]
    return sorted(problems)


def token_specs(volume: Object) -> Iterator[TokenSpec]:
    """The tokens that a volume needs."""
    for source in volume.get("projected", {}).get("sources", ()):
        if token := source.get("serviceAccountToken"):
            yield _token_spec(token)


def volume_files(
    volume: Object, facts: PodFacts, tokens: Mapping[TokenSpec, str]
) -> dict[str, File]:
    """The files of a volume by their path in it; raises ConfigError while something is missing."""
    if config_map := volume.get("configMap"):
        return _config_map_files(config_map, _mode(config_map), facts)
    if downward := volume.get("downwardAPI"):
        return _downward_files(downward, _mode(downward), facts)
    files: dict[str, File] = {}
    projected = volume.get("projected", {})
    for source in projected.get("sources", ()):
        if config_map := source.get("configMap"):
            files |= _config_map_files(config_map, _mode(projected), facts)
        if downward := source.get("downwardAPI"):
            files |= _downward_files(downward, _mode(projected), facts)
        if token := source.get("serviceAccountToken"):
            files[token["path"]] = File(tokens[_token_spec(token)].encode(), TOKEN_MODE)
    return files


def _token_spec(token: Object) -> TokenSpec:
    return TokenSpec(token.get("audience", ""), token.get("expirationSeconds", 3600))


def _mode(source: Object) -> int:
    return int(source.get("defaultMode", DEFAULT_MODE))


def _config_map_files(source: Object, mode: int, facts: PodFacts) -> dict[str, File]:
    found = facts.config_maps.get(source["name"])
    optional = source.get("optional", False)
    if found is None:
        if optional:
            return {}
        raise ContainerConfigError(f'configmap "{source["name"]}" not found')
    content = {key: text.encode() for key, text in found.get("data", {}).items()}
    content |= {key: base64.b64decode(b64) for key, b64 in found.get("binaryData", {}).items()}
    if not (items := source.get("items")):
        return {key: File(data, mode) for key, data in content.items()}
    missing = [item["key"] for item in items if item["key"] not in content]
    if missing and not optional:
        raise ContainerConfigError(f'configmap "{source["name"]}" has no key {", ".join(missing)}')
    return {
        item["path"]: File(content[item["key"]], item.get("mode", mode))
        for item in items
        if item["key"] in content
    }


def _downward_files(source: Object, mode: int, facts: PodFacts) -> dict[str, File]:
    files = {}
    containers = {container["name"]: container for container in facts.pod["spec"]["containers"]}
    for item in source.get("items", ()):
        if field := item.get("fieldRef"):
            text = pod_field(field["fieldPath"], facts.pod, facts.pod_ip, facts.host_ip)
        else:
            resource = item["resourceFieldRef"]
            text = resource_field(resource, containers.get(resource["containerName"], {}))
        files[item["path"]] = File(text.encode(), item.get("mode", mode))
    return files
