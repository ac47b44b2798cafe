"""The demo in real containers: the image is built, installed with the Helm chart, and a gang runs.

Nothing is simulated: pods are containers of a kubelet, and the gang's processes talk to each other.
"""

import json
import os
import subprocess
from pathlib import Path

from local_cluster.building.builder import ensure_built
from local_cluster.building.programs import build_of
from local_cluster.container_node.node import Images
from local_cluster.container_node.product_image import image_name, product_image
from local_cluster.demo import states
from local_cluster.demo.installation import NAMESPACE, SAMPLES
from local_cluster.demo.narration import Narrator
from local_cluster.errors import ClusterError
from shared_api import names

_SETS = f"/apis/{names.GROVE_GROUP}/{names.VERSION}/namespaces/default/podcliquesets"
_CHART = "deploy/chart"
_OTHER_BACKENDS = ("kai", "koordinator", "volcano", "yunikorn")
_TIMEOUT = "--timeout=180s"


def the_node(narrator: Narrator) -> None:
    """Show the node."""
    narrator.title("One node with containerd and a kubelet")
    narrator.show("get nodes -o wide")


def the_image(narrator: Narrator) -> None:
    """Build the image and load it into the node."""
    narrator.title("The image, built from Containerfile and loaded into the node")
    archive = product_image(narrator.root, narrator.say)
    Images(narrator.directory).load(archive)
    narrator.say(f"{image_name()}: {archive.stat().st_size / 1e6:.0f} MB")


def the_chart(narrator: Narrator) -> None:
    """Install core and the backend of kube-scheduler with Helm."""
    narrator.title("Core and the backend for kube-scheduler, installed with Helm")
    narrator.kubectl(
        "apply", "--server-side", "-f", str(narrator.root / "deploy/core/namespace.yaml")
    )
    off = ",".join(f"backends.{name}.enabled=false" for name in _OTHER_BACKENDS)
    command = ("install", "podgang", _CHART, f"--namespace={NAMESPACE}", f"--set={off}")
    narrator.say(f"$ helm {' '.join(command)} --wait")
    _helm(narrator, *command, "--wait", _TIMEOUT)
    narrator.kubectl("wait", "schedulerbackend/default", "--for=condition=Ready", _TIMEOUT)
    narrator.show(f"get pods -n {NAMESPACE}")
    narrator.show("get schedulerbackends")


def a_gang_that_computes(narrator: Narrator) -> None:
    """Run four processes that add up their vectors, and check the result."""
    narrator.title("A gang of four processes: an all-reduce over sockets")
    narrator.apply(f"{SAMPLES}/containers/all-reduce.yaml")
    narrator.wait(_SETS, states.is_completed("all-reduce"), "all-reduce to complete")
    narrator.show("get pcs,podgangs,pods")
    printed = narrator.kubectl("logs", "-l", f"{names.LABEL_PART_OF}=all-reduce")
    totals = [json.loads(line)["total"] for line in printed.splitlines()]
    if len(totals) != 4 or any(total != totals[0] for total in totals):
        raise ClusterError("the four processes have different results", details=printed)
    narrator.say(f"All four have the same sum: {totals[0]}")


SCENES = (the_node, the_image, the_chart, a_gang_that_computes)


def _helm(narrator: Narrator, *arguments: str) -> None:
    done = subprocess.run(
        [str(ensure_built(build_of("helm")) / "helm"), *arguments],
        cwd=narrator.root,
        # Without files of the user's.
        env={"PATH": os.environ["PATH"], "HOME": str(narrator.directory), **_access(narrator)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pods = narrator.kubectl("get", "pods", "--namespace", NAMESPACE)
        raise ClusterError(f"helm {arguments[0]} failed", details=done.stderr + pods)


def _access(narrator: Narrator) -> dict[str, str]:
    return {"KUBECONFIG": str(Path(narrator.directory) / "kubeconfig")}
