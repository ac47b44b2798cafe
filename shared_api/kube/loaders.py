"""The configuration loaders of kubernetes_asyncio, without its models.

This is the only module that imports kubernetes_asyncio, and it uses only the loaders. Importing
any part of the library runs its package, which imports every model and every API. That costs 48 MiB
and half of the start time of a process. So empty packages replace these two while the loaders are
imported. They are removed afterwards, so a later import of kubernetes_asyncio gets all of it.

The loaders import aiohttp and urllib3, which take a third of the start time of a verb of the command
line. The first is needed to renew a token of an OpenID provider, the second for a password, which we never
send. So the first is imported when such a token has expired, and the second when something uses it.
"""

import contextlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from typing import Any

_LIBRARY = "kubernetes_asyncio"
_CLIENT = f"{_LIBRARY}.client"
_PASSWORDS = "urllib3"
_OPENID = f"{_LIBRARY}.config.openid"


def _requestor(*arguments: Any, **named: Any) -> Any:
    """Return what renews a token of an OpenID provider."""
    found = importlib.import_module(_OPENID)
    # It is imported with a library of its own, and callers catch the exception of this one.
    vars(found)["ConfigException"] = ConfigException
    return found.OpenIDRequestor(*arguments, **named)


def _import_on_use(name: str) -> types.ModuleType:
    """Return a module that is imported when one of its names is used."""
    module = types.ModuleType(name)
    vars(module)["__getattr__"] = lambda attribute: getattr(
        importlib.import_module(name), attribute
    )
    return module


@contextlib.contextmanager
def _without_models() -> Iterator[None]:
    spec = importlib.machinery.PathFinder.find_spec(_LIBRARY)
    if _LIBRARY in sys.modules or spec is None or not spec.submodule_search_locations:
        # The whole library is imported already, or it is not installed.
        yield
        return
    (path,) = spec.submodule_search_locations
    for name, place in ((_LIBRARY, path), (_CLIENT, f"{path}/client")):
        hollow = types.ModuleType(name)
        hollow.__path__ = [place]
        sys.modules[name] = hollow
    is_imported = _PASSWORDS in sys.modules
    sys.modules.setdefault(_PASSWORDS, _import_on_use(_PASSWORDS))
    configuration = importlib.import_module(f"{_CLIENT}.configuration").Configuration
    if not is_imported:
        del sys.modules[_PASSWORDS]
    openid = types.ModuleType(_OPENID)
    vars(openid).update(OpenIDRequestor=_requestor)
    sys.modules[_OPENID] = openid
    # The names that the loaders import from the package; the second only for annotations.
    vars(sys.modules[_CLIENT]).update(Configuration=configuration, ApiClient=None)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == _LIBRARY]:
            del sys.modules[name]


with _without_models():
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException
    from kubernetes_asyncio.config.incluster_config import load_incluster_config
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader, load_kube_config

__all__ = [
    "ConfigException",
    "Configuration",
    "KubeConfigLoader",
    "load_incluster_config",
    "load_kube_config",
]
