"""A cluster that is already there is used only when it is named and looks throw-away."""

from pathlib import Path

import pytest
import yaml

from local_cluster.errors import ClusterError
from local_cluster.kubeconfig import extract_context


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    servers = {
        "kind-dev": "https://127.0.0.1:6443",
        "k3d-dev": "https://localhost:6550",
        "prod": "https://10.1.2.3:6443",
        "kind-but-remote": "https://api.example.com:6443",
        "tunnel-to-prod": "https://127.0.0.1:9443",
    }
    config = {
        "current-context": "prod",
        "contexts": [{"name": n, "context": {"cluster": n, "user": "me"}} for n in servers],
        "clusters": [{"name": n, "cluster": {"server": url}} for n, url in servers.items()],
        "users": [{"name": "me", "user": {"client-certificate": "certs/me.crt"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


@pytest.mark.parametrize("context", ["kind-dev", "k3d-dev"])
def test_throw_away_context_is_copied_alone(kubeconfig: Path, tmp_path: Path, context: str) -> None:
    target = tmp_path / "copy"
    before = kubeconfig.read_text()
    extract_context(context, target, sure=False)
    copy = yaml.safe_load(target.read_text())
    assert copy["current-context"] == context
    assert len(copy["clusters"]) == 1
    assert copy["users"][0]["user"]["client-certificate"] == str(tmp_path / "certs/me.crt")
    assert kubeconfig.read_text() == before
    assert target.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("context", ["prod", "kind-but-remote", "tunnel-to-prod"])
def test_context_that_may_matter_is_refused_unless_the_user_is_sure(
    kubeconfig: Path, tmp_path: Path, context: str
) -> None:
    target = tmp_path / "copy"
    with pytest.raises(ClusterError, match="does not look like a throw-away cluster"):
        extract_context(context, target, sure=False)
    assert not target.exists()
    extract_context(context, target, sure=True)
    assert target.exists()


def test_unknown_context_is_refused_with_those_that_exist(kubeconfig: Path, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"has no context 'nope'\. It has: k3d-dev, kind-but"):
        extract_context("nope", tmp_path / "copy", sure=False)
