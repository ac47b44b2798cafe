"""Pods are deleted in one module of core, and that module checks minAvailable.

A deletion is a call of `delete` of the Applier, or of a function that deletes what a Target has.
The kind of each Target is looked up where it is made, so a second name for the Applier or for the
Target of pods does not escape. Core has no other way to delete: it builds no request itself.
"""

import ast
from collections.abc import Iterator

import pytest

from shared_api.kube.client import Client
from shared_api.runtime.applying.applier import Applier
from tests.source.modules import Module, called, modules

POD_WRITER = "core_operator/writes/pod_writer.py"
DELETING = ("delete", "unwanted", "Unwanted", "converge")
"""Everything that deletes objects of the Target in its first argument."""
GENERIC = ("core_operator/writes/child_writer.py", "self.target", "target")
"""The functions that delete for their callers; the callers are in `DELETING`."""
KINDS = frozenset(
    {"SETS", "CLIQUES", "GROUPS", "GANGS", "SERVICES", "CONTROLLER_REVISIONS", "HPAS"}
    | {"RESOURCE_CLAIMS", "COMPUTE_DOMAINS"}
)
"""What core may delete beside pods."""


def deletions(found: Module) -> Iterator[tuple[str, str]]:
    """The expression of each Target that something is deleted of, and the kinds that it may have."""
    kinds: dict[str, set[str]] = {}
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for name in map(ast.unparse, node.targets):
                kinds.setdefault(name, set()).add(_kind(node.value))
    for call in found.calls():
        if called(call) in DELETING:
            target = ast.unparse(call.args[0]) if call.args else "nothing"
            if found.path == GENERIC[0] and target in GENERIC[1:]:
                continue
            inline = call.args[0] if call.args else None
            named = {_kind(inline)} if isinstance(inline, ast.Call) else kinds.get(target, {"?"})
            yield from ((target, kind) for kind in sorted(named))


def _kind(call: ast.Call) -> str:
    """The kind of a Target that is made here; `?` for everything else."""
    if called(call) != "Target" or not call.args:
        return "?"
    return ast.unparse(call.args[0]).rpartition(".")[2]


def test_only_the_pod_writer_deletes_pods() -> None:
    found = {(each.path, kind) for each in modules("core_operator") for _, kind in deletions(each)}
    assert (POD_WRITER, "PODS") in found
    for path, kind in found:
        assert kind in KINDS or (path, kind) == (POD_WRITER, "PODS"), f"{path} deletes {kind}"


def test_every_pod_that_is_deleted_passes_one_method() -> None:
    (writer,) = (each for each in modules("core_operator") if each.path == POD_WRITER)
    holders = [
        function.name
        for function in writer.functions()
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "self._applier.delete"
    ]
    # `delete` is the inner function of `_delete`, which expects the event and counts.
    assert set(holders) == {"_delete", "delete"}


def test_only_the_pod_writer_asks_whether_a_deletion_breaks_min_available() -> None:
    for name in ("breaks_min_available", "breaks_group_min_available"):
        using = {each.path for each in modules("core_operator") if name in each.names()}
        assert using == {POD_WRITER}


def test_core_has_no_other_way_to_delete() -> None:
    for each in modules("core_operator"):
        names = each.names()
        assert not names & {"ApiRequest", "Eviction", "delete_collection"}, each.path
        assert not names & {"http", "pool", "transport"}, each.path
        texts = {node.value for node in ast.walk(each.tree) if isinstance(node, ast.Constant)}
        assert not texts & {"DELETE", "eviction", "delete"}, each.path


def test_the_client_and_the_applier_delete_by_no_other_verb() -> None:
    verbs = {name for name in vars(Client) if "delete" in name or "evict" in name}
    assert verbs == {"delete"}
    # `converge` deletes what its caller no longer wants.
    deleting = {
        function.name
        for module in modules("shared_api/runtime/applying")
        if module.path.endswith("applier.py")
        for function in module.functions()
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and called(call) == "delete"
    }
    assert deleting == {"delete", "converge"}
    assert {"delete", "converge"} <= set(vars(Applier))


@pytest.mark.parametrize(
    "source",
    [
        "self._found = Target(PODS, cache)\nawait applier.delete(self._found, pod, behalf)",
        "found = Target(kinds.PODS, cache)\nunwanted(found, owner, names)",
        "await self._applier.delete(Target(PODS, cache), pod, behalf)",
        "await self._applier.converge(target_of(PODS), pods)",
        "await applier.delete(whatever, pod, behalf)",
    ],
)
def test_a_second_place_would_be_found(source: str) -> None:
    module = Module.of(source)
    assert any(kind not in KINDS for _, kind in deletions(module))
