"""The declaration of the backend.

The dialect is that of every far side (`contract/remote/dialect`), with what a host cannot honour.
"""

from functools import partial

from backend_controllers.contract.declaration import Backend, Dialect, Options, Questions, Served
from backend_controllers.contract.detecting import GANG, checked_options
from backend_controllers.contract.remote.dialect import remote_dialect
from backend_controllers.contract.remote.executor import Executor
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
    return remote_dialect(DIALECT, CAPABILITIES, SCHEDULER_NAME, translator)


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
