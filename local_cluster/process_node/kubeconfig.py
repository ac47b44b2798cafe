"""The address of a kubeconfig's API server, for the environment of pods."""

from pathlib import Path
from urllib.parse import urlsplit

import yaml


def server_address(kubeconfig: Path) -> tuple[str, int]:
    """Host and port of the current context's API server."""
    config = yaml.safe_load(kubeconfig.read_text())
    contexts = {entry["name"]: entry["context"] for entry in config["contexts"]}
    clusters = {entry["name"]: entry["cluster"] for entry in config["clusters"]}
    server = urlsplit(clusters[contexts[config["current-context"]]["cluster"]]["server"])
    return server.hostname or "", server.port or 443
