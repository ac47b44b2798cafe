"""The program's own manners."""

import fcntl
import subprocess
import sys
from pathlib import Path

from local_cluster.process_node.kubeconfig import server_address


def test_a_second_program_on_the_same_root_refuses(tmp_path: Path) -> None:
    with (tmp_path / "node.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = (sys.executable, "-m", "local_cluster.process_node", "--node-name=n")
        paths = (f"--root={tmp_path}", "--kubeconfig=none")
        done = subprocess.run(
            [*command, *paths], capture_output=True, text=True, timeout=30, check=False
        )
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path} is in use by another process node\n"


def test_the_api_server_is_taken_from_the_current_context(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        """
        current-context: here
        contexts:
        - {name: there, context: {cluster: far}}
        - {name: here, context: {cluster: near}}
        clusters:
        - {name: far, cluster: {server: "https://far.example.com"}}
        - {name: near, cluster: {server: "https://127.0.0.1:40443"}}
        """
    )
    assert server_address(file) == ("127.0.0.1", 40443)
