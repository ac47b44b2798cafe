"""The declaration of the backend.

There is nothing to discover in the cluster but our own RemoteGang; the version of Slurm's API is found
by the executor. Pods get a schedulerName that no scheduler has: this backend binds them to its virtual
node.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from backend_controllers.contract.cliques import CLIQUES
from backend_controllers.contract.declaration import (
    Backend,
    Dialect,
    Options,
    Questions,
    Reads,
    Served,
    Writes,
    gang_of_clique,
)
from backend_controllers.contract.detecting import GANG, checked_options
from backend_controllers.contract.remote.api import REMOTE_GANGS, ObservedRemoteGang, RemoteClique
from backend_controllers.contract.remote.executor import Executor
from backend_controllers.contract.remote.preparation import preparation
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
    return Dialect(
        name=DIALECT,
        capabilities=CAPABILITIES,
        preparation=preparation(SCHEDULER_NAME),
        translate=translator.translate,
        mirror=translator.mirror,
        writes=(Writes(REMOTE_GANGS, ObservedRemoteGang, translated=True),),
        reads=(Reads(CLIQUES, RemoteClique, about=gang_of_clique),),
        follows_pods=True,
    )


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
