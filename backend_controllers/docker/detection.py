"""The declaration of the backend.

The dialect is that of every far side (`contract/remote/dialect`), with what an engine cannot honour.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from backend_controllers.contract.declaration import Backend, Dialect, Options, Questions, Served
from backend_controllers.contract.detecting import GANG, checked_options
from backend_controllers.contract.remote.dialect import remote_dialect
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.contract.remote.translation import RemoteTranslator
from backend_controllers.contract.remote.unsupported import unsupported
from backend_controllers.docker.containers import RESTRICTIONS, image_refusal
from backend_controllers.docker.options import DockerOptions
from shared_api import names

BACKEND_NAME = "docker"
SCHEDULER_NAME = "podgang-docker"
DIALECT = "docker-engine"

CAPABILITIES = GANG | {
    names.CAPABILITY_GROUP_MINIMUMS,
    names.CAPABILITY_TOPOLOGY_REQUIRED_GANG,
    names.CAPABILITY_TOPOLOGY_PREFERRED_GANG,
}


def detect(served: Served, options: Options) -> Dialect:
    """Return the only dialect, whatever the cluster serves."""
    del served
    chosen = checked_options(options, DockerOptions)
    translator = RemoteTranslator(
        "Docker", chosen.grant_seconds, partial(_refusals, chosen.image_prefixes)
    )
    return remote_dialect(DIALECT, CAPABILITIES, SCHEDULER_NAME, translator)


def executor(options: Options, backend: str) -> Executor:
    """Return the executor of this backend."""
    # Only a process with a far side needs the clients of engines.
    from backend_controllers.docker.executor import DockerExecutor

    return DockerExecutor(checked_options(options, DockerOptions), backend)


def _refusals(prefixes: Sequence[str], template: Mapping[str, object]) -> Iterator[str]:
    yield from unsupported(template, RESTRICTIONS)
    containers = template.get("containers")
    for place, container in enumerate(containers if isinstance(containers, Sequence) else ()):
        image = container.get("image") if isinstance(container, Mapping) else None
        if refusal := image_refusal(str(image or ""), prefixes):
            yield f"podSpec.containers[{place}].image: {refusal}"


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(),
    detect=detect,
    options=DockerOptions,
    pod_keys=(),
    executor=executor,
)
