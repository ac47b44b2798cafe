"""The Prometheus operator's kinds, read from its published module; nothing of it is kept here."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from local_cluster.building.toolchain import find_toolchain
from local_cluster.errors import ClusterError

_MODULE = "github.com/prometheus-operator/prometheus-operator"
_VERSION = "v0.85.0"
_SUM = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
_KINDS = ("servicemonitors", "prometheusrules")
_FETCH_SECONDS = 180


def definitions() -> list[Path]:
    """The files of the kinds that we make objects of; skips where they are not available."""
    try:
        go = find_toolchain().program
    except ClusterError as error:
        pytest.skip(f"no Go toolchain: {error}")
    fetched = subprocess.run(
        [str(go), "mod", "download", "-json", f"{_MODULE}@{_VERSION}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=_FETCH_SECONDS,
        # The sum is compared below, which needs no further server.
        env={**os.environ, "GOSUMDB": "off", "GOFLAGS": "-mod=mod"},
    )
    found = json.loads(fetched.stdout or "{}")
    if fetched.returncode != 0 or "Dir" not in found:
        pytest.skip(f"{_MODULE} is not available: {found.get('Error') or fetched.stderr.strip()}")
    assert found["Sum"] == _SUM
    folder = Path(found["Dir"]) / "example" / "prometheus-operator-crd"
    return [folder / f"monitoring.coreos.com_{kind}.yaml" for kind in _KINDS]
