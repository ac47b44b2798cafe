"""The declaration of the backend.

The dialect is that of every far side (`contract/remote/dialect`), with what Slurm cannot honour. The
executor finds the version of Slurm's API.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from backend_controllers.contract.declaration import Backend, Dialect, Options, Questions, Served
from backend_controllers.contract.detecting import GANG, checked_options
from backend_controllers.contract.remote.dialect import remote_dialect
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.contract.remote.translation import RemoteTranslator
from backend_controllers.contract.remote.unsupported import unsupported
from backend_controllers.slurm.options import SlurmOptions
from backend_controllers.slurm.runners import refusals
from shared_api import names

BACKEND_NAME = "slurm"
SCHEDULER_NAME = "podgang-slurm"
DIALECT = "slurmrestd"

CAPABILITIES = GANG | {
    names.CAPABILITY_GROUP_MINIMUMS,
    names.CAPABILITY_TOPOLOGY_REQUIRED_GANG,
}


def detect(served: Served, options: Options) -> Dialect:
    """Return the only dialect, whatever the cluster serves."""
    del served
    chosen = checked_options(options, SlurmOptions)
    translator = RemoteTranslator(
        "Slurm", chosen.grant_seconds, partial(_refusals, chosen), has_reservations=True
    )
    return remote_dialect(DIALECT, CAPABILITIES, SCHEDULER_NAME, translator)


def executor(options: Options, backend: str) -> Executor:
    """Return the executor of this backend."""
    # Only a process with a far side needs the client of slurmrestd.
    from backend_controllers.slurm.executor import SlurmExecutor

    return SlurmExecutor(checked_options(options, SlurmOptions), backend)


def _refusals(options: SlurmOptions, template: Mapping[str, object]) -> Iterator[str]:
    yield from unsupported(template)
    yield from refusals(options, template)


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(),
    detect=detect,
    options=SlurmOptions,
    pod_keys=(),
    executor=executor,
    where_it_runs="GET /slurm/.../ping of slurmrestd",
)
