"""What a container's process is started with: argv, environment, working directory. Pure.

It owns the rules of the Kubernetes container contract: envFrom before env, `$(NAME)` from what
was defined before, the downward API, ConfigMap keys, and `python` meaning the interpreter that
runs the process node. It raises ConfigError for what cannot be resolved yet, and leaves it to
the caller to try again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from local_cluster.api import Object
from local_cluster.process_node.downward import pod_field, resource_field
from local_cluster.process_node.paths import path_rewriter, working_directory
from local_cluster.process_node.processes import Launch

SERVICE_ACCOUNT_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
REFERENCE = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")
VARIABLE_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


class ContainerConfigError(Exception):
    """The container refers to something that does not exist yet."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the process node puts under every container, where an image would be."""

    python: Path
    path: str
    server: tuple[str, int]


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What is known about a pod when one of its containers starts."""

    pod: Object
    pod_ip: str
    host_ip: str
    config_maps: Mapping[str, Object]
    machine: Machine


def plan_launch(container: Object, root: Path, facts: PodFacts) -> Launch:
    """The process of a container whose volumes are mounted under `root`."""
    if not container.get("command"):
        raise ContainerConfigError("images are not run here: the container needs a command")
    mount_paths = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
    rewrite = path_rewriter(root, mount_paths)
    variables = container_variables(container, facts)
    words = [*container["command"], *container.get("args", ())]
    argv = [rewrite(expand(word, variables)) for word in words]
    if argv[0] in ("python", "python3"):
        argv[0] = str(facts.machine.python)
    env = {
        "PATH": f"{facts.machine.python.parent}:{facts.machine.path}",
        "HOME": str(root),
        "HOSTNAME": facts.pod["spec"].get("hostname") or facts.pod["metadata"]["name"],
        "LANG": "C.UTF-8",
        # Output goes to a file: without this the last lines before a crash are missing.
        "PYTHONUNBUFFERED": "1",
        **{name: rewrite(value) for name, value in variables.items()},
    }
    if SERVICE_ACCOUNT_MOUNT in mount_paths:
        env["KUBERNETES_SERVICE_ACCOUNT_DIR"] = rewrite(SERVICE_ACCOUNT_MOUNT)
    return Launch(tuple(argv), env, working_directory(root, container.get("workingDir")))


def plan_command(command: Iterable[str], container: Object, root: Path, launch: Launch) -> Launch:
    """A command run beside a container's process, as probes and hooks do; nothing is expanded."""
    mount_paths = [mount["mountPath"] for mount in container.get("volumeMounts", ())]
    rewrite = path_rewriter(root, mount_paths)
    return replace(launch, argv=tuple(rewrite(word) for word in command))


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)`; an unknown name stays as it is, and `$$` is a dollar sign."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found[1], found[0])

    return REFERENCE.sub(value, text)


def container_variables(container: Object, facts: PodFacts) -> dict[str, str]:
    """The variables that the pod defines for a container, in the order of their definition."""
    host, port = facts.machine.server
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)}
    for source in container.get("envFrom", ()):
        variables |= _from_config_map(source, facts)
    for entry in container.get("env", ()):
        if "valueFrom" not in entry:
            variables[entry["name"]] = expand(entry.get("value", ""), variables)
        elif (value := _value_from(entry["valueFrom"], container, facts)) is not None:
            variables[entry["name"]] = value
    return variables


def _from_config_map(source: Object, facts: PodFacts) -> dict[str, str]:
    reference = source.get("configMapRef")
    if reference is None:
        raise ContainerConfigError("only configMapRef is supported in envFrom")
    found = facts.config_maps.get(reference["name"])
    if found is None:
        if reference.get("optional"):
            return {}
        raise ContainerConfigError(f'configmap "{reference["name"]}" not found')
    prefix = source.get("prefix", "")
    names = {prefix + key: value for key, value in found.get("data", {}).items()}
    return {name: value for name, value in names.items() if VARIABLE_NAME.fullmatch(name)}


def _value_from(source: Object, container: Object, facts: PodFacts) -> str | None:
    readers: dict[str, Callable[[Object], str | None]] = {
        "fieldRef": lambda ref: pod_field(ref["fieldPath"], facts.pod, facts.pod_ip, facts.host_ip),
        "resourceFieldRef": lambda ref: resource_field(ref, container),
        "configMapKeyRef": lambda ref: _config_map_key(ref, facts.config_maps),
    }
    for kind, read in readers.items():
        if kind in source:
            return read(source[kind])
    raise ContainerConfigError(f"{', '.join(source)} is not supported in env")


def _config_map_key(reference: Object, config_maps: Mapping[str, Object]) -> str | None:
    name, key = reference["name"], reference["key"]
    found = config_maps.get(name)
    data: dict[str, str] = {} if found is None else found.get("data", {})
    if key in data:
        return data[key]
    if reference.get("optional"):
        return None
    missing = "" if found is None else f'key "{key}" of '
    raise ContainerConfigError(f'{missing}configmap "{name}" not found')
