"""The answers of the five-minute test in CONTRIBUTING.md are true."""

import ast
import tomllib

from tests.docs.condition_authors import conditions_set_in
from tests.source.modules import ROOT, called, module, modules, paths

PACKAGES = ("core_operator", "shared_api", "backend_controllers")
PAGE = (ROOT / "CONTRIBUTING.md").read_text()


def using(name: str, *packages: str) -> set[str]:
    """The modules that use a function, without the one that defines it."""
    return {
        each.path
        for each in modules(*(packages or PACKAGES))
        if name in {called(call) for call in each.calls()}
    }


def test_a_podgang_becomes_a_podgroup_of_run_ai_in_one_module() -> None:
    rendering = {
        each.path
        for each in modules("backend_controllers/kai")
        for call in each.calls()
        if called(call) in ("Rendered", "manifest") and "PODGROUPS" in map(ast.unparse, call.args)
    }
    assert rendering == {"backend_controllers/kai/translation.py"}
    # Companions are no gangs: KAI's Topology is one.
    assert using("translate", "backend_controllers/generic") == {
        "backend_controllers/generic/gang_reconciler.py",
        "backend_controllers/generic/companions.py",
    }


def test_a_gate_is_removed_by_one_patch_that_one_controller_sends() -> None:
    assert using("ungate_patch") == {"core_operator/controllers/podgang.py"}
    assert using("plan_release") == {
        "core_operator/controllers/podgang.py",
        "core_operator/state/gang_snapshot.py",
    }
    gates = {
        each.path
        for each in modules("core_operator")
        for node in ast.walk(each.tree)
        if isinstance(node, ast.Constant) and str(node.value).startswith("/spec/schedulingGates")
    }
    assert gates == {"core_operator/plan/release.py"}


def test_http_is_used_in_the_modules_that_the_page_names() -> None:
    importing = {
        each.path
        for each in modules(*PACKAGES, "gangctl")
        for node in ast.walk(each.tree)
        for name in _imported(node)
        if name.partition(".")[0]
        in ("aiohttp", "httptools", "http", "urllib3", "requests", "httpx")
    }
    far_sides = {
        path for path in importing if path.startswith(("backend_controllers/", "gangctl/"))
    }
    assert {path.rpartition("/")[0] for path in importing - far_sides} == {
        "shared_api/kube/http",
        "shared_api/runtime/serving",
    }
    # A container engine or a workload manager outside of the cluster is no API server.
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert all(f"`{path}`" in page for path in far_sides), far_sides
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    # A container engine or a workload manager outside of the cluster is no API server.
    excepted = {rule for each in contracts["contracts"] for rule in each.get("ignore_imports", ())}
    for path in far_sides:
        assert f"{path.removesuffix('.py').replace('/', '.')} -> aiohttp" in excepted, path
    named = {contract["name"] for contract in contracts["contracts"]}
    assert "HTTP lives in the client's transport and in the pages" in named


def test_conditions_are_computed_where_the_page_points() -> None:
    computing = {
        each.path
        for each in modules("core_operator", "backend_controllers/generic")
        if conditions_set_in(each.tree)
    }
    assert len(computing) > 8
    for path in computing:
        folder = path.rpartition("/")[0]
        assert f"`{path}`" in PAGE or f"`{folder}/`" in PAGE, path


def test_a_scheduler_is_one_package_and_one_line() -> None:
    registry = (ROOT / "backend_controllers" / "registry.py").read_text()
    for page in sorted((ROOT / "docs" / "backends").glob("*.md")):
        if (ROOT / "backend_controllers" / page.stem).is_dir():
            assert page.stem in registry, page.stem
    core = paths(modules("core_operator"))
    assert not [
        path for path in core if any(word in path for word in ("kai", "volcano", "yunikorn"))
    ]


def test_metrics_are_declared_in_three_modules() -> None:
    declaring = {
        each.path
        for each in modules(*PACKAGES)
        if {called(call) for call in each.calls()} & {"Counter", "Gauge", "Histogram"}
        and "prometheus_client"
        in {name for node in ast.walk(each.tree) for name in _imported(node)}
    }
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert declaring
    for path in declaring:
        assert f"`{path}`" in page, path


def test_settings_are_declared_in_the_modules_that_the_page_names() -> None:
    for path in ("core_operator/settings.py", "backend_controllers/settings.py"):
        bases = {
            ast.unparse(base)
            for node in module(path).tree.body
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        }
        assert "Section" in bases, path


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []
