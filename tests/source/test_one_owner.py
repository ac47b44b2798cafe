"""Facts that one module owns: manifests of PodGangs, what a live pod is, and who reads the server."""

import ast
import re

from tests.source.modules import ROOT, called, modules

PACKAGES = ("core_operator", "backend_controllers")
SPEC = frozenset({"podgroups", "podReferences"})
# A value for a comparison, which is never written.
COPIES = {"core_operator/watches/gang_predicates.py"}
# Pods of a far side have a projection with their containers.
FURTHER_PROJECTIONS = {"backend_controllers/contract/remote/api.py"}
READING = frozenset({"get", "pages", "raw", "try_patch"})


def test_one_module_makes_the_specs_of_podgangs() -> None:
    writing = {
        each.path
        for each in modules(*PACKAGES, "shared_api")
        for node in ast.walk(each.tree)
        if isinstance(node, ast.Dict)
        and SPEC & {_text(key) for key in node.keys if key is not None}
    } - COPIES
    assert writing == {"core_operator/plan/manifests/podgangs.py"}


def test_a_gang_is_applied_from_two_places_that_use_that_module() -> None:
    using = {each.path for each in modules("core_operator") if "gang_manifest" in each.names()}
    assert using == {
        "core_operator/controllers/podcliqueset.py",
        "core_operator/state/gang_snapshot.py",
    }


def test_pods_decide_in_one_module_whether_they_are_live_and_which_index_they_have() -> None:
    for each in modules(*PACKAGES):
        compared = [node for node in ast.walk(each.tree) if isinstance(node, ast.Compare)]
        for node in compared if each.path not in FURTHER_PROJECTIONS else ():
            if "status.phase" in ast.unparse(node.left):
                ends = {_text(found) for found in ast.walk(node)} & {"Failed", "Succeeded"}
                assert not ends, f"{each.path}:{node.lineno}"
        # Labels are written by `naming` and read by `Pod.index`.
        if "LABEL_POD_INDEX" in each.names():
            assert each.path in {
                "core_operator/plan/layout/naming.py",
                "core_operator/plan/manifests/claims.py",
                "core_operator/plan/manifests/pods.py",
                "core_operator/writes/resource_sharing.py",
                "backend_controllers/generic/disruptions.py",
            }, each.path


def test_the_page_lists_everything_that_reads_the_server_during_a_reconcile() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    _, _, part = text.partition("A reconciler reads from the caches")
    table, _, after = part.partition("\n\nDiscovery (")
    listed = set(re.findall(r"`([a-z_]+/[^`]*\.py)` \|$", table, re.MULTILINE))
    besides = set(re.findall(r"`([a-z_]+/[^`]*\.py)`", after.partition("\n\n")[0]))
    reading = {each.path for each in modules(*PACKAGES) for call in each.calls() if _reads(call)}
    # A patch that changes nothing only asks whether an object exists; the Applier sends it.
    asking = {each.path for each in modules(*PACKAGES) if "still_exists_patch" in each.names()}
    assert (reading | asking) - besides == listed
    assert len(listed) > 3
    assert all((ROOT / path).exists() for path in besides)


def _reads(call: ast.Call) -> bool:
    if any(word.arg == "dry_run" for word in call.keywords) or called(call) == "hidden":
        return True
    function = call.func
    owner = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    return owner.endswith("client") and called(call) in READING


def _text(node: ast.AST) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""
