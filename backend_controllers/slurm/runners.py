"""What runs a pod's command on a node: templates for four runners. Pure.

Every word is quoted here, so nothing of a pod is interpreted by the shell of the job's script, and a
command never begins with what `srun` would read as an option. Variables that configure Slurm's own
programs or those of the runner are refused. The addresses of the members are known only to that
script, so references to them become its variable.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from backend_controllers.contract.remote.api import RemotePod
from backend_controllers.contract.remote.environment import ENV_ADDRESSES, expanded
from backend_controllers.slurm.options import Runner, SlurmOptions

HOST_IMAGE = "host"
"""What pods name as their image if the runner has none."""
LATER = "\0"
"""Stands for the addresses of all members."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_SLURM = ("SLURM", "SRUN_", "SBATCH_", "SALLOC_", "SPANK_")
_OF_RUNNERS = ("APPTAINER", "SINGULARITY", "ENROOT_", "PYXIS_", "LD_")
"""They would take effect on the node before there is a container."""
_VARIABLE = f'"${ENV_ADDRESSES}"'


def later_addresses(text: str) -> str:
    """Return a shell word in which the script inserts the addresses of all members."""
    return _VARIABLE.join(shlex.quote(part) if part else "" for part in text.split(LATER)) or "''"


def step_options(pod: RemotePod, options: SlurmOptions) -> list[str]:
    """Return what `srun` needs for this runner, as shell words."""
    container = pod.spec.containers[0]
    words: list[str] = []
    if options.runner is Runner.OCI:
        words.append(f"--container={options.bundles.get(container.image, '')}")
    if options.runner is Runner.ENROOT:
        words += [f"--container-image={container.image}", *options.runner_arguments]
        if container.working_dir:
            words.append(f"--container-workdir={container.working_dir}")
        if not container.command:
            words.append("--container-entrypoint")
    if options.runner is Runner.NONE:
        words.append(f"--chdir={container.working_dir or options.working_directory}")
    return [shlex.quote(word) for word in words]


def command_of(
    pod: RemotePod, options: SlurmOptions, variables: Mapping[str, str]
) -> Iterator[str]:
    """Yield the words after `srun` and its options, as shell words."""
    container = pod.spec.containers[0]
    # A command that begins with a dash would else be an option of `srun`.
    yield "--"
    if options.runner is Runner.APPTAINER:
        verb = "exec" if container.command else "run"
        head = [verb, *options.runner_arguments]
        if container.working_dir:
            head += ["--pwd", container.working_dir]
        yield '"$apptainer"'
        yield from map(shlex.quote, (*head, f"docker://{container.image}"))
    for word in (*container.command, *container.args):
        yield later_addresses(expanded(word, variables))


def refusals(options: SlurmOptions, template: Mapping[str, object]) -> Iterator[str]:
    """Yield what this runner cannot honour of a pod template."""
    containers = template.get("containers")
    for place, container in enumerate(containers if isinstance(containers, Sequence) else ()):
        if isinstance(container, Mapping):
            path = f"podSpec.containers[{place}]"
            yield from _image(path, str(container.get("image") or ""), options)
            if options.runner in (Runner.NONE, Runner.OCI) and not container.get("command"):
                yield f"{path}.command: the runner {options.runner} needs a command"
            yield from _identity(f"{path}.securityContext", container.get("securityContext"))
            yield from _names(f"{path}.env", container.get("env"), options)
    yield from _identity("podSpec.securityContext", template.get("securityContext"))


def _image(path: str, image: str, options: SlurmOptions) -> Iterator[str]:
    match options.runner:
        case Runner.NONE:
            if image != HOST_IMAGE:
                yield (
                    f"{path}.image: '{image}' is not used by the runner none, which runs commands on"
                    f" the node itself. Write the image {HOST_IMAGE}, or set options.runner"
                )
        case Runner.OCI:
            if image not in options.bundles:
                known = ", ".join(sorted(options.bundles)) or "none; set options.bundles"
                yield f"{path}.image: there is no bundle for '{image}' (known: {known})"
        case _:
            if not any(image.startswith(prefix) for prefix in options.image_prefixes):
                known = ", ".join(options.image_prefixes) or "none; set options.imagePrefixes"
                yield f"{path}.image: '{image}' is not allowed (allowed prefixes: {known})"


def _identity(path: str, security: object) -> Iterator[str]:
    for name in ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"):
        if isinstance(security, Mapping) and security.get(name) is not None:
            yield f"{path}.{name}: the user of the Slurm queue runs it"


def _names(path: str, variables: object, options: SlurmOptions) -> Iterator[str]:
    for place, variable in enumerate(variables if isinstance(variables, Sequence) else ()):
        name = variable.get("name") if isinstance(variable, Mapping) else None
        if not isinstance(name, str):
            continue
        where = f"{path}[{place}].name: '{name}'"
        if not _NAME.fullmatch(name):
            yield f"{where} is not a valid name for a shell"
        elif name.startswith(_OF_SLURM):
            yield f"{where} configures Slurm's own programs"
        elif options.runner is not Runner.NONE and name.startswith(_OF_RUNNERS):
            yield f"{where} configures the runner {options.runner} outside of the container"
