"""Every example of docs/cli.md is run, as printed, on a cluster like the one of the page."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest
import yaml

from core_operator.state.caches import BINDINGS, GANGS
from shared_api.kube.codec import PartialObject
from tests.core.kit import condition, pcs
from tests.core.stage import Stage
from tests.docs.cli_examples import EXAMPLES, SAMPLE
from tests.gangctl.program import Program
from tests.gangctl.test_inspection_cluster import RACK, gpu_clique

# It starts fourteen programs, one after the other.
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(360),
]

_ROOT = Path(__file__).parents[2]
# On the page the product is installed with its Deployments; the stage runs it without them.
_OTHER_CODES = {"doctor": 2}
# There are more racks here, and another backend.
_OTHER_OUTPUT = ("topology", "backends")
# Run by test_logs_cluster, with a node that has logs, and by the tests of the dashboard.
_ELSEWHERE = ("logs", "dashboard")


async def prepare(stage: Stage) -> None:
    """Make the cluster of the page: inference runs and was updated once, training waits."""
    await stage.person.create(pcs("inference", gpu_clique("worker", 3, 8)))
    await stage.until_ready("inference", 3)
    first = {pod.metadata.uid for pod in stage.pods("inference")}
    changed = gpu_clique("worker", 3, 8)
    changed["spec"]["podSpec"]["containers"][0]["image"] = "registry.example.com/app:2"
    await stage.change("inference", [changed])
    await stage.until(lambda: not first & {pod.metadata.uid for pod in stage.pods("inference")})
    await stage.until_updated("inference", 3, "2")
    # A dry run of the page compares the sample with this set, so it must be the same job.
    await stage.person.create(yaml.safe_load((_ROOT / SAMPLE).read_text()))
    await stage.until(
        lambda: (
            condition(stage.person.get(GANGS, "training-0"), "Scheduled").get("status") == "False"
        )
    )


async def test_every_example_runs_as_printed(stage: Stage, gang: Program, short_path: Path) -> None:
    await prepare(stage)
    name = f"{stage.person.namespace}-page"
    manifest = {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": "rack", "key": RACK}]},
    }
    binding = await stage.person.client.create(
        BINDINGS, manifest, field_manager="person", into=PartialObject
    )
    with contextlib.chdir(_ROOT):
        for example in EXAMPLES:
            words = shlex.split(example.line)
            if words[0] == "bundle":
                words[-1] = str(short_path / words[-1])
            if words[0] in _ELSEWHERE:
                continue
            done = await gang.run(*words)
            wanted = _OTHER_CODES.get(words[0], example.code)
            assert done.code == wanted, f"{example.line}: {done.out}{done.err}"
            if words[0] not in (*_OTHER_OUTPUT, *_OTHER_CODES):
                shown = done.out.replace(stage.person.namespace, "default")
                assert first_words(example.printed()) <= first_words(shown), example.line
            if words[0] == "scale" or words[:2] == ["rollout", "restart"]:
                # Two replicas of three pods; the next example starts from a set that is ready.
                await stage.until_ready("inference", 6)
    await stage.person.client.delete(BINDINGS, name, uid=binding.metadata.uid)
    await stage.remove("training")
    await stage.remove("inference")


def first_words(text: str) -> set[str]:
    """Return the first word of each line: names, headings and marks, not numbers that differ."""
    return {found[0] for line in text.splitlines() if (found := re.findall(r"[\w✓✗-]+", line))}
