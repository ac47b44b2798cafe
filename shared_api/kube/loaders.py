"""The configuration loaders of kubernetes_asyncio, without its models.

The only importer of kubernetes_asyncio, of which we use the loaders and nothing else.
Importing any part of the library runs its package, which imports every model and every API:
37 MB and half of the time that a process takes to start, for classes that nobody here uses.
So while the loaders are imported, empty packages stand in for the two that would do so. They
are gone afterwards: whoever wants the whole library in this process gets it.
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
        # Somebody has the whole library already, or nobody can.
        yield
        return
    (path,) = spec.submodule_search_locations
    for name, place in ((_LIBRARY, path), (_CLIENT, f"{path}/client")):
        hollow = types.ModuleType(name)
        hollow.__path__ = [place]
        sys.modules[name] = hollow
    configuration = importlib.import_module(f"{_CLIENT}.configuration").Configuration
    # What the loaders import from the package by name; the second only to annotate.
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
