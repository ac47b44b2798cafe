"""Directories on this machine: builds in the cache directory, clusters in the state directory.

`LOCAL_CLUSTER_HOME` moves both.
"""

import os
from pathlib import Path

_PROJECT = "podgang"


def builds_directory() -> Path:
    """Return the per-user directory of finished builds."""
    return _root("XDG_CACHE_HOME", ".cache") / "builds"


def toolchain_directory() -> Path:
    """Return the per-user directory of a Go toolchain that PyPI delivered."""
    return _root("XDG_CACHE_HOME", ".cache") / "toolchains"


def clusters_directory() -> Path:
    """Return the per-user directory with one directory per cluster."""
    return _root("XDG_STATE_HOME", ".local/state") / "clusters"


def _root(variable: str, default: str) -> Path:
    if home := os.environ.get("LOCAL_CLUSTER_HOME"):
        return Path(home)
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / default) / _PROJECT
