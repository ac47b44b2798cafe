"""The declaration of the backend.

There is nothing to discover in the cluster but our own RemoteGang, so there is one dialect. Pods get a
schedulerName that no scheduler has: this backend binds them to its virtual node.
"""

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
from backend_controllers.ssh.options import SshOptions
from backend_controllers.ssh.units import refusals
from shared_api import names

BACKEND_NAME = "ssh"
SCHEDULER_NAME = "podgang-ssh"
DIALECT = "ssh"

CAPABILITIES = GANG | {
    names.CAPABILITY_GROUP_MINIMUMS,
    names.CAPABILITY_TOPOLOGY_REQUIRED_GANG,
    names.CAPABILITY_TOPOLOGY_PREFERRED_GANG,
}


def detect(served: Served, options: Options) -> Dialect:
    """Return the only dialect, whatever the cluster serves."""
    del served
    chosen = checked_options(options, SshOptions)
    translator = RemoteTranslator("SSH", chosen.grant_seconds, partial(refusals, chosen.commands))
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
    # Only a process with a far side needs the SSH client.
    from backend_controllers.ssh.executor import SshExecutor

    return SshExecutor(checked_options(options, SshOptions), backend)


BACKEND = Backend(
    name=BACKEND_NAME,
    scheduler_names=(SCHEDULER_NAME,),
    scheduling_gate=names.GATE_PODGANG,
    questions=Questions(),
    detect=detect,
    options=SshOptions,
    pod_keys=(),
    executor=executor,
)
