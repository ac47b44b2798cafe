"""The configuration loaders of kubernetes_asyncio, without its models.

This is the only module that imports kubernetes_asyncio, and it uses only the loaders. Importing
any part of the library runs its package, which imports every model and every API. That costs 37 MB
and half of the start time of a process. So empty packages replace these two while the loaders are
imported. They are removed afterwards, so a later import of kubernetes_asyncio gets all of it.
"""

import contextlib
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Iterator

_LIBRARY = "kubernetes_asyncio"
_CLIENT = f"{_LIBRARY}.client"


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
    configuration = importlib.import_module(f"{_CLIENT}.configuration").Configuration
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
