"""The page on compatibility has the versions that are built and run here."""

import re
from pathlib import Path

import pytest

from local_cluster.versions import DEFAULT_MINOR, MINORS
from tests.matrix import PARTS

_ROOT = Path(__file__).parents[2]
_PAGE = (_ROOT / "docs" / "compatibility.md").read_text()
_MODULES = {
    "kai": "github.com/kai-scheduler/KAI-scheduler",
    "koordinator": "github.com/koordinator-sh/koordinator",
    "volcano": "volcano.sh/volcano",
    "yunikorn": "github.com/apache/yunikorn-k8shim",
    "helm": "helm.sh/helm/v3",
}


def test_every_minor_has_a_column_with_its_release() -> None:
    for minor in MINORS.values():
        assert f"| Kubernetes {minor.release} |" in _PAGE
    assert f"| kubelet, containerd, runc | {MINORS[DEFAULT_MINOR].release}," in _PAGE


@pytest.mark.parametrize("name", _MODULES)
def test_a_scheduler_has_the_version_that_is_built(name: str) -> None:
    text = (_ROOT / "local_cluster" / "go" / name / "go.mod").read_text()
    found = re.search(rf"{re.escape(_MODULES[name])} (v\S+)", text)
    assert found is not None
    (row,) = (line for line in _PAGE.splitlines() if re.match(rf"\| `?{name}`? ", line, re.I))
    assert f"{found[1]} |" in row


def test_every_part_that_the_page_names_exists() -> None:
    named = {
        part
        for parts in re.findall(r'PARTS=("[^"]+"|[\w.]+)', _PAGE)
        for part in parts.strip('"').split()
    }
    assert named <= {part.name for part in PARTS}
    assert {part.name for part in PARTS} - named <= {"fuzz"}


def test_every_sample_of_a_framework_is_on_the_page() -> None:
    for file in (_ROOT / "docs" / "samples" / "frameworks").iterdir():
        assert f"`{file.relative_to(_ROOT)}`" in _PAGE
