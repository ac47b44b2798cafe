"""Writes what the operator makes of a workload into a file: `python tests/upgrade/record.py FILE`.

Run with an earlier version of the code in front on PYTHONPATH, it records what that version
made; `test_upgrade.py` then shows that today's operator takes it over. What differs from run to
run is taken out, and UIDs are replaced by words, so a recording can be read and compared.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from local_cluster.cluster import Cluster, ClusterOptions
from local_cluster.lifecycle import down, up
from shared_api.kube.access import from_kubeconfig
from shared_api.kube.client import Client
from tests.core.kit import Onlooker, clique, pcs, running_operator
from tests.core.stand_in import StandIn

NAMESPACE = "upgrade-fixture"
KINDS = (
    "podcliquesets",
    "podcliquescalinggroups",
    "podcliques",
    "podgangs",
    "pods",
    "services",
    "controllerrevisions",
    "horizontalpodautoscalers",
)
CRDS = "crds"
PODS = 6

_VOLATILE = ("resourceVersion", "creationTimestamp", "generation", "selfLink")


def workload() -> dict[str, Any]:
    """Two `a` that scale themselves before two copies of `b` with `c`, one of them a scaled gang."""
    first = clique("a", 2, minAvailable=1, autoScalingConfig={"maxReplicas": 4})
    first["labels"] = {"team": "x"}
    first["annotations"] = {"note": "y"}
    group = {"name": "sg", "cliqueNames": ["b", "c"], "replicas": 2, "minAvailable": 1}
    return pcs(
        "up",
        first,
        clique("b"),
        clique("c"),
        podCliqueScalingGroups=[group],
        cliqueStartupType="CliqueStartupTypeInOrder",
    )


def stripped(found: dict[str, Any]) -> dict[str, Any]:
    """The object without what another run would not have."""
    metadata = {key: value for key, value in found["metadata"].items() if key not in _VOLATILE}
    return {**found, "metadata": metadata}


def recorded(cluster: Cluster) -> str:
    """All objects of the namespace, as YAML."""
    listing = ("get", ",".join(KINDS), "-n", NAMESPACE, "-ojson", "--show-managed-fields")
    items = [stripped(item) for item in json.loads(cluster.kubectl(*listing).stdout)["items"]]
    text = yaml.safe_dump_all(items, sort_keys=True, width=100)
    for item in items:
        metadata = item["metadata"]
        text = text.replace(metadata["uid"], f"uid-of-{item['kind']}-{metadata['name']}".lower())
    return text


async def made(cluster: Cluster) -> str:
    """What the operator on the path makes of the workload."""
    async with (
        Client(from_kubeconfig(cluster.kubeconfig)) as client,
        Onlooker(client, NAMESPACE).watching() as person,
        StandIn(client, "default").serving(),
    ):
        async with running_operator(cluster) as operator:
            await person.create(workload())
            await person.until_ready(PODS, 120)
            await operator.until_idle(120)
        return recorded(cluster)


def main(file: Path) -> None:
    """Start a cluster, let the operator work, and write the file."""
    with tempfile.TemporaryDirectory() as directory:
        cluster = up(
            ClusterOptions(process_node=False),
            name="record",
            directory=Path(directory) / "record",
            leashed=True,
        )
        try:
            cluster.install_crds(Path(CRDS).absolute())
            cluster.kubectl("create", "namespace", NAMESPACE)
            account = ("serviceaccount/default", "-n", NAMESPACE, "--timeout=20s")
            cluster.kubectl("wait", "--for=create", *account)
            file.write_text(asyncio.run(made(cluster)))
        finally:
            down(cluster)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
