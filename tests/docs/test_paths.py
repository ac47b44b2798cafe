"""The pages for contributors are true: what they name exists, and the questions have answers."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0].isalpha()}
SCHEDULERS = ("default", "kai", "koordinator", "volcano", "yunikorn")
QUESTIONS = (
    "Where does a PodGang become a run.ai PodGroup?",
    "Where is a gate removed, and how do I see why not?",
    "Where is minAvailable protected?",
    "Which changes make the PodGang controller reconcile?",
    "Which modules may talk HTTP?",
    "How do I add a scheduler?",
    "How do I add a condition?",
    "How do I add a metric?",
    "How do I add a setting?",
)


def named(page: str) -> Iterator[tuple[str, str]]:
    """The paths in code spans of a page, each with the name in that file, if one is given."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    for span in re.findall(r"`([^`\s]+)`", text):
        path, _, name = span.partition(":")
        is_path = path.partition("/")[0] in FOLDERS and "/" in path
        if is_path or path.endswith((".py", ".yaml", ".toml")):
            yield path, name


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    found = [path for path, _ in named(page)]
    assert len(found) > 20
    for path in found:
        for scheduler in SCHEDULERS if "<scheduler>" in path else ("",):
            place = path.replace("<scheduler>", scheduler)
            assert (ROOT / place).exists(), f"{page} names {place}"


@pytest.mark.parametrize("page", PAGES)
def test_every_name_is_in_its_file(page: str) -> None:
    for path, name in named(page):
        if name:
            assert name in definitions(ROOT / path), f"{page} names {path}:{name}"


def definitions(path: Path) -> set[str]:
    """Functions and classes of a module, and methods with the name of their class."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
            if isinstance(node, ast.ClassDef):
                inner = (each for each in node.body if isinstance(each, ast.FunctionDef))
                found |= {f"{node.name}.{each.name}" for each in inner}
    return found


def test_every_question_of_a_newcomer_has_an_answer() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    _, _, part = text.partition("## The five-minute test")
    part, _, _ = part.partition("\n## ")
    answers = dict(re.findall(r"^### (.+?\?)\n(.*?)(?=\n### |\Z)", part, re.M | re.S))
    assert tuple(answers) == QUESTIONS
    for question, answer in answers.items():
        paths = re.findall(r"`([a-z_]+/[^`\s]*)`", answer)
        assert paths, question


def test_the_map_answers_at_least_twenty_questions() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    _, _, part = text.partition("## Where is …?")
    part, _, _ = part.partition("\n## ")
    assert len(re.findall(r"^\| [A-Z].*\? \| ", part, re.MULTILINE)) >= 20


def test_the_map_names_every_folder_of_the_programs() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    for package in ("core_operator", "backend_controllers"):
        for folder in (ROOT / package).iterdir():
            if folder.is_dir() and folder.name[0].isalpha():
                assert f"`{package}/{folder.name}/`" in text, f"{package}/{folder.name}"


@pytest.mark.parametrize("package", ["shared_api.runtime", "core_operator", "backend_controllers"])
def test_the_layers_on_the_page_are_those_that_are_enforced(package: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (enforced,) = (
        each["layers"] for each in contracts["contracts"] if each.get("containers") == [package]
    )
    lines = "\n".join(enforced)
    assert f"```\n{lines}\n```" in (ROOT / "docs/architecture.md").read_text()


def test_a_decision_has_a_file_name_that_follows_its_title() -> None:
    for page in (ROOT / "docs" / "decisions").glob("*.md"):
        title = page.read_text().partition("\n")[0]
        number, name = re.fullmatch(r"# (\d+)\. (.+)", title).groups()  # type: ignore[union-attr]
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        assert page.name == f"{int(number):04d}-{slug}.md"
