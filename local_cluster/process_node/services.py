"""What every part of the process node may use: one bundle, made once at start."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import aiohttp

from local_cluster.api import Api
from local_cluster.process_node.addresses import Addresses
from local_cluster.process_node.config_maps import ConfigMaps
from local_cluster.process_node.environment import Machine
from local_cluster.process_node.events import Events


@dataclass(frozen=True, slots=True)
class Services:
    """The process node's parts that pods share."""

    api: Api
    http: aiohttp.ClientSession
    clock: Callable[[], datetime]
    root: Path
    machine: Machine
    addresses: Addresses
    config_maps: ConfigMaps
    events: Events
    # A process node that is stopped itself does not wait for slow pods longer than this.
    shutdown_grace: float
