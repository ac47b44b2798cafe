"""What is imported with the configuration loaders, and what only when it is used."""

import subprocess
import sys

import pytest

HEAVY = ("aiohttp", "urllib3", "kubernetes_asyncio")


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("module", ["shared_api.kube.client", "gangctl.commands.application"])
def test_neither_the_library_nor_its_clients_are_imported(module: str) -> None:
    found = run(f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])")
    assert found == "[]"


def test_a_password_is_encoded_by_the_module_that_is_imported_then() -> None:
    found = run(
        "from shared_api.kube.loaders import Configuration\n"
        "c = Configuration(username='a', password='b')\n"
        "print(c.get_basic_auth_token())"
    )
    assert found == "Basic YTpi"


def test_a_token_of_an_openid_provider_is_renewed_and_errors_are_those_of_the_loaders() -> None:
    found = run(
        "from shared_api.kube import loaders\n"
        "import sys\n"
        "made = loaders._requestor('id', 'secret', 'https://x')\n"
        "names = vars(sys.modules[type(made).__module__])\n"
        "print(type(made).__name__, names['ConfigException'] is loaders.ConfigException)"
    )
    assert found == "OpenIDRequestor True"
