"""Rewriting of mount paths in text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_cluster.process_node.paths import path_rewriter

ROOT = Path("/etc/node")


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("/etc/app", "{}/etc/app"),
        ("/etc/app/", "{}/etc/app/"),
        ("/etc/app/x.yaml", "{}/etc/app/x.yaml"),
        ("--file=/etc/app/x", "--file={}/etc/app/x"),
        ("/etc/app:/data", "{}/etc/app:{}/data"),
        ("cat '/etc/app/x' >/data/y", "cat '{}/etc/app/x' >{}/data/y"),
        ("file:///etc/app/x", "file:///etc/app/x"),
        ("/etc/application", "/etc/application"),
        ("/etc/app-2/x", "/etc/app-2/x"),
        ("/etc/app.d/x", "/etc/app.d/x"),
        ("see /etc/app.", "see {}/etc/app."),
        ("/opt/etc/app", "/opt/etc/app"),
        ("./data", "./data"),
        ("http://host/data", "http://host/data"),
        ("/data/deep/er", "{}/data/deep/er"),
        ("", ""),
    ],
)
def test_only_whole_paths_are_rewritten(text: str, rewritten: str) -> None:
    rewrite = path_rewriter(ROOT, ["/etc/app", "/data/", "/data/deep"])
    assert rewrite(text) == rewritten.replace("{}", str(ROOT))


def test_a_replacement_is_not_replaced_again() -> None:
    rewrite = path_rewriter(Path("/etc/node"), ["/etc", "/etc/node"])
    assert rewrite("/etc/node/x /etc/y") == "/etc/node/etc/node/x /etc/node/etc/y"


@given(st.text())
def test_nothing_changes_without_mounts(text: str) -> None:
    assert path_rewriter(ROOT, [])(text) == text
    assert path_rewriter(ROOT, ["/"])(text) == text


@given(st.text().filter(lambda text: "/mnt" not in text))
def test_text_that_names_no_mount_is_left_alone(text: str) -> None:
    assert path_rewriter(ROOT, ["/mnt"])(text) == text
