"""A Slurm with accounting: slurmdbd and MariaDB beside the programs of `lab`."""

import subprocess
from pathlib import Path
from typing import ClassVar

from local_cluster.container_node.machine import require, why_not
from tests.backends.slurm.lab import CONFIGURATION, NEW, OLD, PROGRAMS, SlurmLab, free_ports

_DATABASE = {"mariadbd": "mariadb-server", "mysql_install_db": "mariadb-server"}
_OF_SLURM = {
    "slurmdbd": "slurmdbd",
    "sacctmgr": "slurm-client",
    "/usr/lib/x86_64-linux-gnu/slurm-wlm/accounting_storage_mysql.so": "slurm-wlm-mysql-plugin",
}
_DAEMON = """\
AuthType=auth/munge
AuthInfo=socket={run}/munge.sock
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key={secret}/jwt.key
DbdHost=localhost
DbdPort={port}
SlurmUser=root
LogFile={top}/log/slurmdbd.log
PidFile={run}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
"""
_OF_CONTROLLER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={run}/munge.sock
AccountingStoreFlags=job_comment
"""


def missing(version: str) -> str:
    """Return why no such Slurm can be started here; empty if one can."""
    return why_not({**PROGRAMS, **_OF_SLURM, **_DATABASE} if version == OLD else _DATABASE)


class AccountingLab(SlurmLab):
    """One Slurm that keeps ended jobs; its controller forgets them after seconds."""

    programs: ClassVar = {**PROGRAMS, **_OF_SLURM}
    rest_plugins: ClassVar = {OLD: "openapi/v0.0.38,openapi/dbv0.0.38", NEW: "slurmctld,slurmdbd"}
    configuration_text = CONFIGURATION.replace("MinJobAge=300", "MinJobAge=2")

    def prepare_controller(self) -> None:
        """Start the database and slurmdbd, and name them to the controller."""
        require(_DATABASE, print)
        database, port = free_ports(2)
        self._start_database(database)
        values = {"run": self.run, "top": self.top, "secret": self.secret, "port": port}
        daemon = self.top / "slurmdbd.conf"
        daemon.write_text(_DAEMON.format(database=database, **values))
        daemon.chmod(0o600)
        with self.configuration.open("a") as file:
            file.write(_OF_CONTROLLER.format(**values))
        self.spawn("slurmdbd", ["slurmdbd", "-D"])
        self.until("slurmdbd knows the cluster", self._registered)

    def _start_database(self, port: int) -> None:
        data = self.top / "database"
        options = ["--no-defaults", f"--datadir={data}", "--user=root"]
        install = ["mysql_install_db", *options, "--auth-root-authentication-method=normal"]
        subprocess.run(install, capture_output=True, check=True)
        socket = self.run / "database.sock"
        more = [f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1"]
        # Outside of the directory with another Debian: any version of it will do.
        self.spawn_here("mariadbd", ["mariadbd", *options, *more, "--skip-grant-tables"])
        self.until("the database listens", Path(socket).exists)

    def _registered(self) -> bool:
        try:
            return "lab" in self.client("sacctmgr", "-n", "-P", "list", "cluster") or bool(
                self.client("sacctmgr", "-i", "add", "cluster", "lab")
            )
        except RuntimeError:
            return False
