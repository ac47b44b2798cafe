"""Prometheus and promtool, from Debian's package where apt can fetch it.

Nothing is installed: the package is unpacked into the user's cache, once. Where that cannot be
done the tests that need it are skipped with the reason.
"""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster.places import builds_directory
from tests.monitoring.processes import free_port, running, until

_FETCH_SECONDS = 120


def program(name: str) -> str:
    """The path of `prometheus` or `promtool`; skips the test where there is none."""
    if on_path := shutil.which(name):
        return on_path
    unpacked, reason = _unpacked()
    if unpacked is None:
        pytest.skip(f"no {name}: {reason}")
    return str(unpacked / "usr" / "bin" / name)


@functools.cache
def _unpacked() -> tuple[Path | None, str]:
    home = builds_directory().parent / "prometheus"
    if (home / "usr" / "bin" / "promtool").exists():
        return home, ""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        return None, "not on PATH, and this is no Debian"
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as place:
        partial = Path(place)
        fetched = _run("apt-get", "download", "prometheus", cwd=partial)
        packages = [str(package) for package in partial.glob("*.deb")]
        if fetched.returncode != 0 or not packages:
            return None, f"apt-get download prometheus: {fetched.stderr.strip()[-300:]}"
        unpacked = _run("dpkg-deb", "--extract", packages[0], "unpacked", cwd=partial)
        if unpacked.returncode != 0:
            return None, f"dpkg-deb: {unpacked.stderr.strip()[-300:]}"
        # Another test process may have been faster; what it put there is the same.
        with contextlib.suppress(OSError):
            (partial / "unpacked").rename(home)
    return home, ""


def _run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS
    )


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("promtool"), *arguments], capture_output=True, text=True, check=False, timeout=60
    )


class Prometheus:
    """A running server."""

    def __init__(self, url: str) -> None:
        self._url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now."""
        asked = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self._url}/api/v1/query?{asked}", timeout=30) as answer:
            result: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return result

    def until(self, expression: str, seconds: float = 60) -> list[dict[str, Any]]:
        """The same, once it is not empty."""
        return until(lambda: self.query(expression), f"no data for {expression}", seconds)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextlib.contextmanager
def scraping(targets: dict[str, str], rules: Path, directory: Path) -> Iterator[Prometheus]:
    """A server that scrapes each job every second and evaluates the rules."""
    server, port = program("prometheus"), free_port()
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [target]}]}
            for job, target in targets.items()
        ],
    }
    file = directory / "prometheus.yaml"
    file.write_text(yaml.safe_dump(settings))
    address = f"127.0.0.1:{port}"
    command = [
        server,
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'series'}",
        f"--web.listen-address={address}",
        "--log.level=error",
    ]
    with running(command, directory / "prometheus.log", dict(os.environ)):
        found = Prometheus(f"http://{address}")
        until(found.is_ready, "Prometheus does not come up")
        yield found
