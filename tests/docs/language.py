"""The words that our texts avoid, and the texts in which users would read them.

This module owns the rules of the word lint and the list of texts that they cover. A rule names a
word, the places where it is right in spite of it, and what to write instead. All string literals
with a space in them count as texts that users can read: conditions, events, log lines, errors,
metric help, alerts and CLI help all start as one. Docstrings and comments of the packages are
covered too, because contributors read them.

`python -m tests.docs.language` lists what breaks a rule; `--all` adds docstrings and comments.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Rule:
    """A word to avoid, where it may stand nevertheless, and what to write instead."""

    word: re.Pattern[str]
    instead: str
    fine: re.Pattern[str] | None = None

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        """The places of a text that break the rule."""
        fine = [] if self.fine is None else [found.span() for found in self.fine.finditer(text)]
        for found in self.word.finditer(text):
            if not any(start < found.end() and found.start() < end for start, end in fine):
                yield found


def _rule(word: str, instead: str, fine: str = "") -> Rule:
    # Words of one phrase may stand on two lines.
    word, fine = word.replace(" ", r"\s+"), fine.replace(" ", r"\s+")
    allowed = re.compile(fine, re.IGNORECASE) if fine else None
    return Rule(re.compile(rf"\b(?:{word})\b", re.IGNORECASE), instead, allowed)


_DETERMINER = (
    r"a|an|the|each|every|one|its|their|this|that|whole|more|first|last|next|per|of|all|these|those"
    r"|new|old|removed|other|two|three|\d+|no|some|which|single|higher|lower|scaled|ready"
)
_FILES = r"(?:file|files|image|manifest|build|cluster|Secret|page|certificate|object|bytes)"

RULES = (
    _rule(
        rf"(?:{_DETERMINER}|\w+'s) cop(?:y|ies)|copies",
        "replica",
        rf"cop(?:y|ies) (?:of )?(?:the |a |an |its |that )?{_FILES}\b|\bcopies (?:it|them|a|an|the|its)\b",
    ),
    _rule(r"held", "gated", r"\b(?:Leases?|lock|connections?|leadership)\b[^.|;]{0,60}\bheld\b"),
    _rule(r"let(?:s|ting)? (?:\w+ )?go|lift(?:s|ed|ing)?", "ungate; remove the gate"),
    _rule(r"room", "capacity; does not fit; insufficient"),
    _rule(r"tidings|texts", "message, reason"),
    _rule(r"(?:its|their|few|own|scheduler's|same|these) words|words of", "message, reason"),
    _rule(r"terms", "message, reason", r"(?:affinity|selector) terms|\bin terms of\b"),
    _rule(
        r"placed|placing|(?:has|have) (?:its |their )?nodes"
        r"|places (?:it|its|the|a|them|pods|gangs|all|no|nothing)"
        r"|(?:to|can|cannot|could not|not|will|must) place",
        "scheduled, bound",
    ),
    _rule(r"anew|afresh", "recreate; again"),
    _rule(
        r"tak(?:e|es|en|ing) (?:\w+ )?away"
        r"|(?:pods?|members?|replicas?|objects?|gangs?|it|they|them|copies|surplus|that|which|what)"
        r" (?:is|are|was|were|be|being|get|gets|has been|have been) taken"
        r"|takes? (?:pods|its pods|the pods|members|its members|the members|them)",
        "delete",
        r"taken (?:over|from|into|as|off|at)|takes? (?:pods|them) (?:over|into|as)",
    ),
    _rule(r"strangers?(?:'s?)?|another's|some(?:body|one) else(?:'s)?", "foreign, not owned by us"),
    _rule(r"an? person|persons", "requires manual action"),
    _rule(r"be had|sp(?:eak|eaks|oke|oken|eaking)", "not installed, not ready; report"),
    # "Tell whether" at the beginning of a docstring is how predicates are described.
    _rule(
        r"tell|tells|told|telling",
        "report; set the condition",
        r"(?-i:Tell) (?:whether|[^.;]{1,60} from)\b",
    ),
    _rule(r"say|says|said|saying", "report; name; the condition shows"),
    _rule(r"pac(?:e|es|ed|ing)|rests|resting|a rest", "debounce, batch, rate-limit; wait"),
    _rule(r"undone", "ignored, not applied"),
    _rule(r"feeds?|fed|wak(?:e|es|ed|en|ing)(?:-up)?s?|woken?", "watch, event handler; reconcile"),
    _rule(r"workshops?|shop", "context"),
    _rule(r"own doings?", "own write, expected event"),
    _rule(
        r"whoever|whomever|(?:some|any|no|every)body",
        "name it: the leader, the user, an administrator, no client",
    ),
    _rule(r"for ever", "forever, without end"),
    _rule(
        r"(?:is|are|was|were) no (?:valid|whole|list|time|timestamp|count|quantity|duration|name"
        r"|numbers?|JSON|YAML|HTTP|event|watch event|Kubernetes \w+)",
        "is not a, is not a valid",
        r"there (?:is|are|was|were) no",
    ),
    _rule(r"mend(?:s|ed|ing)?|ben(?:d|ds|t|ding)", "repair; drift"),
)

# Who words a text. A new area that has to be reworded first is left out of CHECKED.
AREAS = {
    "plan": ("core_operator/plan/",),
    "core": ("core_operator/", "startup_wait/"),
    "runtime": ("shared_api/runtime/", "shared_api/kube/", "shared_api/durations.py"),
    "schedulers": tuple(
        f"backend_controllers/{name}/"
        for name in ("default", "kai", "koordinator", "volcano", "yunikorn")
    ),
    "backends": ("backend_controllers/",),
    "reference": ("docs/reference/", "crds/"),
    "docs": ("docs/", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
    "api": ("shared_api/", "crdgen/"),
    "installed": ("deploy/", "monitoring/", "chartgen/", "releasing/", "Makefile"),
    "local": ("local_cluster/", "all_in_one/", "benchmarks/"),
    "command line": ("gangctl/",),
    # What `make` runs of the tests by itself, and prints.
    "long runs": ("tests/soak/", "tests/matrix.py"),
}
CHECKED = frozenset(AREAS)
# Names of figures of the benchmark: runs of different versions are compared by them.
KEPT = (
    "{}: all gangs say Scheduled and Ready",
    "{} {}: all say Scheduled and Ready",
    "pod changed -> PodGang's status says so",
)

_PACKAGES = (
    "core_operator",
    "startup_wait",
    "shared_api",
    "crdgen",
    "backend_controllers",
    "monitoring",
    "chartgen",
    "releasing",
    "deploy",
    "all_in_one",
    "local_cluster",
    "benchmarks",
    "gangctl",
    "tests/matrix.py",
    "tests/soak",
)


@dataclass(frozen=True, slots=True)
class Text:
    """What somebody reads, and where it stands."""

    path: str
    line: int
    content: str

    @property
    def area(self) -> str:
        """The first area that the path belongs to."""
        return next(
            area for area, starts in AREAS.items() if any(map(self.path.startswith, starts))
        )


@dataclass(frozen=True, slots=True)
class Offence:
    """One word that a text should not have."""

    text: Text
    found: re.Match[str]
    instead: str

    def __str__(self) -> str:
        content, (start, end) = self.text.content, self.found.span()
        line = self.text.line + content.count("\n", 0, start)
        shown = " ".join(content[max(0, start - 50) : end + 70].split())
        return f"{self.text.path}:{line}: '{self.found[0]}' (write: {self.instead}) in: {shown}"


def offences(*, inner: bool = False) -> list[Offence]:
    """All that breaks a rule; with `inner` also docstrings and comments."""
    return [
        Offence(text, found, rule.instead)
        for text in all_text(inner=inner)
        for rule in RULES
        for found in rule.found_in(text.content)
    ]


def all_text(*, inner: bool = False) -> Iterator[Text]:
    """Everything that users read."""
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")) or [ROOT / package]:
            name, source = path.relative_to(ROOT).as_posix(), path.read_text()
            yield from (Text(name, line, text) for line, text in literals(source))
            if inner:
                yield from (Text(name, line, text) for line, text in remarks(source))
    for path in _files():
        without_names = READ_AS.get(path.suffix, manifest_text)
        yield Text(path.relative_to(ROOT).as_posix(), 1, without_names(path.read_text()))


def _files() -> Iterator[Path]:
    pages = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Makefile")
    yield from (ROOT / name for name in pages)
    for folder, suffixes in FOLDERS.items():
        for suffix in suffixes:
            yield from sorted((ROOT / folder).rglob(f"*{suffix}"))


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of a module that can be sentences, each f-string as one.

    Patterns are no sentences: they match what other programs write. A name in braces stands for
    what a value is put in for.
    """
    tree = ast.parse(source)
    skipped = {id(node) for node in _docstrings(tree)} | {id(node) for node in _patterns(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node) if part is not node}
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in skipped and " " in text.strip() and text not in KEPT:
            yield node.lineno, text


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    """Strings that stand alone: docstrings of modules, classes, functions and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _patterns(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            yield from ast.walk(node)


def remarks(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings and comments of a module."""
    for node in _docstrings(ast.parse(source)):
        assert isinstance(node, ast.Constant)
        yield node.lineno, str(node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose(page: str) -> str:
    """A page without the names in it: code of one word, paths, and addresses of links."""
    page = re.sub(r"`[^`\s]+`", "``", page)
    return re.sub(r"\]\([^)\s]*\)", "]()", page)


def manifest_text(manifest: str) -> str:
    """A manifest without the names of the variables in its policies."""
    return re.sub(r"variables\.\w+|name: \w+$", "", manifest, flags=re.MULTILINE)


def script_text(source: str) -> str:
    """The comments of a script, and its strings with a space in them."""
    comment = r"(?<![:\"])//.*|/\*[\s\S]*?\*/"
    string = r"\"[^\"\n]* [^\"\n]*\"|`(?:[^`$\n]|\$\{[^`{}\n]*\})*`"
    kept = re.findall(f"{comment}|{string}", source)
    return "\n".join(re.sub(r"\$\{[^}]*\}", "{}", text) for text in kept)


READ_AS = {".md": prose, ".js": script_text}
FOLDERS = {
    "docs": (".md",),
    "crds": (".yaml",),
    "deploy": (".yaml", ".txt", ".md", ".tpl"),
    "gangctl": (".js", ".html"),
}


def main(arguments: list[str]) -> int:
    """List what is left by area; return the exit code."""
    found = offences(inner="--all" in arguments)
    for area in AREAS:
        lines = sorted({str(offence) for offence in found if offence.text.area == area})
        sys.stdout.write(f"\n== {area}: {len(lines)}\n" + "".join(f"{line}\n" for line in lines))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
