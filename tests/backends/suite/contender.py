"""Everything in which backends differ for the suite, one value each; a new backend adds its own.

A contender is a backend on one Kubernetes with one scheduler. What it must do is the same for
all and is in the tests; how it says things, and what it cannot do, is here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from backend_controllers.volcano.api import HYPERNODES
from backend_controllers.yunikorn.api import KEY_QUEUE
from local_cluster.components import SCHEDULER
from local_cluster.schedulers.kai import QUEUE
from local_cluster.schedulers.yunikorn import QUEUE as YUNIKORN_QUEUE
from local_cluster.schedulers.yunikorn import URGENT_QUEUE
from local_cluster.versions import DEFAULT_MINOR
from shared_api.kube.resources import Resource

GANG, GROUP_SET, GROUP = (f"TopologyRequired{level}" for level in ("Gang", "GroupSet", "Group"))
PREFERRED_GANG = "TopologyPreferredGang"
PREFERRED = frozenset(f"TopologyPreferred{level}" for level in ("Gang", "GroupSet", "Group"))


@dataclass(frozen=True)
class Landscape:
    """What an administrator makes for the domains of a topology, such as racks."""

    resource: Resource
    domain: Callable[[str, Mapping[str, str]], dict[str, Any]]
    """The manifest of one, given the level's node label and what its nodes are selected by."""


@dataclass(frozen=True)
class Contender:
    """One backend as it is put to the test."""

    backend: str
    processes: tuple[str, ...]
    """The programs of the local cluster that are its scheduler."""
    scheduler_name: str
    """What its pods name as their scheduler."""
    group: str
    """The API group of what it writes for a gang."""
    short: str
    """What a gang says that lacks room, given `nodes` that are there and pods that it `fits`, `of` all."""
    cramped: str = ""
    """What a gang of two says that no place of its topology has room for."""
    topology: frozenset[str] = frozenset()
    """Capabilities about topology that its record must have, and no others."""
    minor: str = DEFAULT_MINOR
    without: frozenset[str] = frozenset()
    """Feature gates and API versions that this Kubernetes does not have, though it could."""
    extra: str = ""
    """The scheduler that the local cluster starts beside kube-scheduler."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The backend's own settings."""
    beside: str = ""
    """Another backend that runs on the same cluster."""
    whole: bool = False
    """Put to every test; the others only to those that depend on the scheduler."""
    landscape: Landscape | None = None
    """Where its scheduler does not find domains in the labels of nodes."""
    objects: tuple[Mapping[str, Any], ...] = ()
    """What its administrator has made, such as a description of the network."""
    settled: tuple[str, ...] = ()
    """What `kubectl wait` is told to wait for once they are made."""
    ranks: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """By priority: what a set is annotated with where the priority alone takes nobody's room."""
    farewell: str = "1s"
    """How long a pod that is preempted takes to end."""

    @property
    def name(self) -> str:
        """What tests are listed under."""
        bare = "-bare" if self.without else ""
        return f"{self.backend}-{self.minor}{bare}"

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that are deployed."""
        return tuple(name for name in (self.backend, self.beside) if name)


def _default(cramped: str = "0/2 placements are available", **differences: Any) -> Contender:
    return Contender(
        backend="default",
        processes=(SCHEDULER,),
        scheduler_name="default-scheduler",
        group="scheduling.k8s.io",
        # A node has room for one pod, so those that are taken lack it too.
        short="{nodes} Insufficient cpu",
        cramped=cramped,
        **differences,
    )


KAI = Contender(
    backend="kai",
    processes=("kai-scheduler", "kai-binder"),
    scheduler_name="kai-scheduler",
    group="scheduling.run.ai",
    short="fits {fits} of {of}: no nodes with enough resources were found",
    cramped="fits 1 of 2 pods in ",
    topology=PREFERRED | {GANG, GROUP_SET, GROUP},
    extra="kai",
    options={"defaultQueue": QUEUE},
    beside="default",
    whole=True,
)

KOORDINATOR = Contender(
    backend="koordinator",
    processes=("koord-scheduler",),
    scheduler_name="koord-scheduler",
    group="scheduling.sigs.k8s.io",
    short="fits {fits} of {of}: ",
    cramped="fits 1 of 2 pods in RackLayer/",
    topology=frozenset({GANG, PREFERRED_GANG}),
    extra="koordinator",
    beside="default",
    whole=True,
    objects=(
        {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": "default"},
            "spec": {
                "networkTopologySpec": [
                    {"topologyLayer": "RackLayer", "labelKey": ["example.com/rack"]},
                    {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
                ]
            },
        },
    ),
    settled=(
        "clusternetworktopologies/default",
        "--for=jsonpath={.status.detailStatus[0].nodeNum}",
    ),
)


def _hyper_node(level: str, selected_by: Mapping[str, str]) -> dict[str, Any]:
    selector = {"labelMatch": {"matchLabels": dict(selected_by)}}
    return {
        "spec": {"tier": 1, "tierName": level, "members": [{"type": "Node", "selector": selector}]}
    }


VOLCANO = Contender(
    backend="volcano",
    processes=("vc-scheduler",),
    scheduler_name="volcano",
    group="scheduling.volcano.sh",
    short="fits {fits} of {of}: 0/",
    cramped="fits 1 of 2: in HyperNode ",
    topology=PREFERRED | {GANG, GROUP_SET, GROUP},
    extra="volcano",
    beside="default",
    whole=True,
    landscape=Landscape(HYPERNODES, _hyper_node),
)

YUNIKORN = Contender(
    backend="yunikorn",
    processes=("yunikorn-scheduler",),
    scheduler_name="yunikorn",
    group="yunikorn.apache.org",
    short="capacity is reserved for {fits} of {of} pods",
    extra="yunikorn",
    options={"defaultQueue": YUNIKORN_QUEUE},
    beside="default",
    whole=True,
    ranks={90: {KEY_QUEUE: URGENT_QUEUE}},
    # It tells of preemptions every two seconds, and only of pods that are still there.
    farewell="5s",
)

CONTENDERS = (
    _default(minor="1.35"),
    _default(topology=frozenset({GANG}), whole=True),
    _default(
        minor="1.37",
        topology=frozenset({GANG}),
        without=frozenset({"CompositePodGroup", "scheduling.k8s.io/v1alpha3"}),
    ),
    # Each group tells how far it got in the best place; nobody speaks for the whole tree.
    _default("1 of 2 pods fit", minor="1.37", topology=frozenset({GANG, GROUP_SET, GROUP})),
    KAI,
    KOORDINATOR,
    VOLCANO,
    YUNIKORN,
)
WHOLE = tuple(contender for contender in CONTENDERS if contender.whole)


def listed(contenders: Iterable[Contender]) -> list[ParameterSet]:
    """As parameters; those that `make test` has no programs for are marked by their names."""
    return [pytest.param(each, id=each.name) for each in contenders]
