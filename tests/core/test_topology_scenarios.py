"""Grove's topology scenarios: every PodGang has the constraints that its set asks for, and no other."""

from functools import partial
from pathlib import Path

import pytest
import yaml

from core_operator.state.caches import GANGS, SETS
from local_cluster.cluster import Cluster
from shared_api import names
from tests.core.kit import Object, Onlooker, condition, running_operator
from tests.core.topology_kit import LEVELS, Bindings, placing_backend, said

pytestmark = pytest.mark.cluster

SAMPLES = Path(__file__).parents[1] / "contract" / "samples" / "topology"
ZONE, BLOCK, RACK, HOST = (f"required {key}" for key in LEVELS.values())
BLOCK_THEN_HOST = "required kubernetes.io/block preferred kubernetes.io/hostname"


def of_two_groups(name: str, workers: dict[str, str] | None = None) -> dict[str, dict[str, str]]:
    """Router, decoders and prefillers, of which one copy each is a gang of its own."""
    groups = workers or {}
    return {
        name: {
            "gang": BLOCK,
            f"{name}-decoder-0: {name}-decoder-0-dleader {name}-decoder-0-dworker": RACK,
            f"{name}-prefill-0: {name}-prefill-0-pleader {name}-prefill-0-pworker": RACK,
            **{f"{name}-prefill-0-{worker}": level for worker, level in groups.items()},
        },
        f"{name}-decoder-0": {"gang": RACK},
        f"{name}-prefill-0": {
            "gang": RACK,
            **{f"{name}-prefill-1-{worker}": level for worker, level in groups.items()},
        },
    }


BIG = "tas-large-scale-0"
DEEP = "tas-hierarchy-0"
EXPECTED: dict[str, dict[str, dict[str, str]]] = {
    # TAS2: cliques that are constrained independently of each other.
    "tas-indep-clq": {
        "tas-indep-clq-0": {
            "tas-indep-clq-0-worker-rack": RACK,
            "tas-indep-clq-0-worker-block": BLOCK,
        }
    },
    # TAS3: the set alone; its scaled gang inherits.
    "tas-sl-pcs-only": {
        "tas-sl-pcs-only-0": {"gang": RACK},
        "tas-sl-pcs-only-0-workers-0": {"gang": RACK},
    },
    # TAS4: the scaling group alone.
    "tas-sl-pcsg-only": {
        "tas-sl-pcsg-only-0": {
            "tas-sl-pcsg-only-0-workers-0: tas-sl-pcsg-only-0-workers-0-worker": RACK
        },
        "tas-sl-pcsg-only-0-workers-0": {"gang": RACK},
    },
    # TAS5: a clique on one host.
    "tas-host-level": {"tas-host-level-0": {"tas-host-level-0-worker": HOST}},
    # TAS6: a clique in the zone of its set.
    "tas-standalone-zone": {"tas-standalone-zone-0": {"gang": ZONE}},
    # TAS7: nothing is asked for.
    "tas-no-constraint": {"tas-no-constraint-0": {}, "tas-no-constraint-0-workers-0": {}},
    # TAS8: three levels, two copies of the group in the base gang.
    "tas-hierarchy": {
        DEEP: {
            "gang": BLOCK,
            **{
                f"{DEEP}-inference-{copy}: {DEEP}-inference-{copy}-prefill"
                f" {DEEP}-inference-{copy}-decode": RACK
                for copy in range(2)
            },
            **{
                f"{DEEP}-inference-{copy}-{role}": HOST
                for copy in range(2)
                for role in ("prefill", "decode")
            },
        }
    },
    # TAS9: set and clique.
    "tas-pcs-pclq": {"tas-pcs-pclq-0": {"gang": BLOCK, "tas-pcs-pclq-0-worker": HOST}},
    # TAS10: set and group, two scaled gangs.
    "tas-pcsg-scale": {
        "tas-pcsg-scale-0": {
            "gang": BLOCK,
            "tas-pcsg-scale-0-workers-0: tas-pcsg-scale-0-workers-0-worker": RACK,
        },
        "tas-pcsg-scale-0-workers-0": {"gang": RACK},
        "tas-pcsg-scale-0-workers-1": {"gang": RACK},
    },
    # TAS11: group and clique without the set.
    "tas-pcsg-pclq": {
        "tas-pcsg-pclq-0": {
            "tas-pcsg-pclq-0-workers-0: tas-pcsg-pclq-0-workers-0-worker": RACK,
            "tas-pcsg-pclq-0-workers-0-worker": HOST,
        },
        "tas-pcsg-pclq-0-workers-0": {"gang": RACK, "tas-pcsg-pclq-0-workers-1-worker": HOST},
    },
    # TAS12: three copies in the base gang, seven scaled gangs.
    "tas-large-scale": {
        BIG: {
            "gang": BLOCK,
            **{f"{BIG}-workers-{n}: {BIG}-workers-{n}-worker": RACK for n in range(3)},
            **{f"{BIG}-workers-{n}-worker": HOST for n in range(3)},
        },
        **{
            f"{BIG}-workers-{n}": {"gang": RACK, f"{BIG}-workers-{n + 3}-worker": HOST}
            for n in range(7)
        },
    },
    # TAS13: what fits into no rack is requested all the same.
    "tas-insuffic": {"tas-insuffic-0": {"gang": RACK}},
    # TAS14: each replica by itself.
    "tas-multirep": {"tas-multirep-0": {"gang": RACK}, "tas-multirep-1": {"gang": RACK}},
    # TAS15 and TAS16: two groups and a router, once and twice.
    "tas-multi-pcsg": of_two_groups("tas-multi-pcsg-0"),
    "tas-multi-pcsg-replicas": {
        **of_two_groups("tas-multi-pcsg-replicas-0", {"pworker": HOST}),
        **of_two_groups("tas-multi-pcsg-replicas-1", {"pworker": HOST}),
    },
    # TAS17: one domain, two bindings, two labels.
    "tas-multi-topology-h100": {
        "tas-multi-topology-h100-0": {"gang": "required h100.example.com/block"}
    },
    "tas-multi-topology-gb200": {
        "tas-multi-topology-gb200-0": {"gang": "required gb200.example.com/nvl-block"}
    },
    # TAS23: preferences; what the set requires binds the scaled gang too.
    "tas-preferred-pack": {
        "tas-preferred-pack-0": {
            "gang": "required kubernetes.io/block preferred kubernetes.io/rack",
            "tas-preferred-pack-0-workers-0: tas-preferred-pack-0-workers-0-worker": (
                "preferred kubernetes.io/hostname"
            ),
            "tas-preferred-pack-0-router": "preferred kubernetes.io/hostname",
        },
        "tas-preferred-pack-0-workers-0": {"gang": BLOCK_THEN_HOST},
    },
}
ALL = {gang: levels for gangs in EXPECTED.values() for gang, levels in gangs.items()}
TOPOLOGIES = ("grove-topology", "h100-topology", "gb200-topology")


def topology_of(name: str) -> str:
    """The binding that a sample names."""
    return next((t for t in TOPOLOGIES if t.split("-")[0] in name), "grove-topology")


def sample(name: str, bindings: Bindings, scheduler: str) -> Object:
    """A committed sample, with the test's own binding and scheduler."""
    text = (SAMPLES / f"{name}.yaml").read_text().replace("kai-scheduler", scheduler)
    for topology in TOPOLOGIES:
        text = text.replace(topology, bindings.name(topology))
    manifest: Object = yaml.safe_load(text)
    return manifest


async def test_every_gang_has_the_constraints_that_its_set_asks_for(
    core_cluster: Cluster, person: Onlooker, bindings: Bindings
) -> None:
    scheduler = f"{person.namespace}-scheduler"
    for topology in TOPOLOGIES:
        levels = sample(topology, bindings, scheduler)["spec"]["levels"]
        await bindings.create(topology, {level["domain"]: level["key"] for level in levels})
    # It never says how pods are prepared, so that none are made: this is about gangs.
    backend = placing_backend(
        person.client,
        person.namespace,
        schedulerNames=[scheduler],
        preparation={"mode": "PerGang"},
    )
    async with backend, running_operator(core_cluster):
        for name in EXPECTED:
            await person.create(sample(name, bindings, scheduler))
        for gang, constraints in ALL.items():
            await person.until(partial(_says, person, gang, constraints), seconds=60)
        await person.until(lambda: person.names(GANGS) == sorted(ALL), seconds=60)
        for name, gangs in EXPECTED.items():
            topology = bindings.name(topology_of(name))
            for gang, constraints in gangs.items():
                annotations = person.one(GANGS, gang).metadata.annotations
                named = annotations.get(names.ANNOTATION_TOPOLOGY_NAME)
                assert named == (topology if constraints else None), gang
            if any(gangs.values()):
                await person.until(partial(_levels_found, person, name), seconds=60)


def _says(person: Onlooker, gang: str, constraints: dict[str, str]) -> bool:
    return said(person.get(GANGS, gang)) == constraints


def _levels_found(person: Onlooker, name: str) -> bool:
    told = condition(person.get(SETS, name), names.CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE)
    return (told.get("status"), told.get("reason")) == ("False", names.REASON_LEVELS_AVAILABLE)
