"""What can be built: each entry is one folder under `local_cluster/go` and what comes out of it."""

import hashlib
import platform
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.versions import DEFAULT_MINOR, MINORS, Minor

GO_SOURCES = Path(__file__).parent.parent / "go"

CONTROL_PLANE_PROGRAMS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
)


@dataclass(frozen=True)
class Build:
    """One `go build`: a module folder, the packages in it, and the names they get."""

    name: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    """File names of the results, in the order of `packages`."""
    links: tuple[str, ...] = ()
    """Further names of a multi-call program."""
    linker_values: tuple[str, ...] = ()
    shared_sources: tuple[str, ...] = ()
    """Sibling folders whose content goes into this build."""
    assets: tuple[tuple[str, str], ...] = ()
    """(module, glob) of files to keep beside the programs, such as another project's CRDs."""
    on_demand: bool = False
    """Built for those who ask for it, not with everything else."""

    @property
    def source(self) -> Path:
        """Return the module folder."""
        return GO_SOURCES / self.name

    @cached_property
    def key(self) -> str:
        """Return a hash of everything that decides what the result is."""
        digest = hashlib.sha256()
        fixed = (self.packages, self.programs, self.links, self.linker_values, self.assets)
        digest.update(repr((fixed, platform.system(), platform.machine())).encode())
        for folder in (self.source, *(GO_SOURCES / name for name in self.shared_sources)):
            for file in sorted(folder.iterdir()):
                digest.update(f"{folder.name}/{file.name}\n".encode() + file.read_bytes())
        return digest.hexdigest()[:16]


def _version_values(minor: Minor) -> tuple[str, ...]:
    major, number = minor.name.split(".")
    version = "k8s.io/component-base/version"
    return (
        f"{version}.gitVersion=v{minor.release}",
        f"{version}.gitMajor={major}",
        f"{version}.gitMinor={number}",
    )


def _control_plane(minor: Minor) -> Build:
    return Build(
        name=f"kubernetes-{minor.name}",
        packages=(".",),
        programs=("kube",),
        links=CONTROL_PLANE_PROGRAMS,
        linker_values=_version_values(minor),
        shared_sources=("multicall",),
    )


_KAI = "github.com/kai-scheduler/KAI-scheduler"
_KOORDINATOR = "github.com/koordinator-sh/koordinator"
_VOLCANO = "volcano.sh/volcano"
_YUNIKORN = "github.com/apache/yunikorn-k8shim"

BUILDS = {
    build.name: build
    for build in (
        *(_control_plane(minor) for minor in MINORS.values()),
        Build(
            name="kubelet",
            packages=(".",),
            programs=("kubelet",),
            linker_values=_version_values(MINORS[DEFAULT_MINOR]),
            on_demand=True,
        ),
        Build(name="kwok", packages=("sigs.k8s.io/kwok/cmd/kwok",), programs=("kwok",)),
        Build(
            name="helm",
            packages=("helm.sh/helm/v3/cmd/helm",),
            programs=("helm",),
            # The version that Helm assumes when it renders without a cluster.
            linker_values=tuple(
                f"helm.sh/helm/v3/pkg/chartutil.k8sVersion{part}={number}"
                for part, number in (("Major", 1), ("Minor", 36))
            ),
            on_demand=True,
        ),
        Build(
            name="kai",
            packages=tuple(f"{_KAI}/cmd/{name}" for name in ("scheduler", "binder", "podgrouper")),
            programs=("kai-scheduler", "kai-binder", "kai-podgrouper"),
            assets=((_KAI, "deployments/kai-scheduler/crds/*.yaml"),),
        ),
        Build(
            name="koordinator",
            packages=(f"{_KOORDINATOR}/cmd/koord-scheduler",),
            programs=("koord-scheduler",),
            assets=((_KOORDINATOR, "config/crd/bases/scheduling.*.yaml"),),
            on_demand=True,
        ),
        Build(
            name="volcano",
            packages=(f"{_VOLCANO}/cmd/scheduler", f"{_VOLCANO}/cmd/controller-manager"),
            programs=("vc-scheduler", "vc-controller-manager"),
            assets=((_VOLCANO, "config/crd/volcano/bases/*.yaml"),),
            on_demand=True,
        ),
        Build(
            name="yunikorn",
            packages=(f"{_YUNIKORN}/pkg/cmd/shim",),
            programs=("yunikorn-scheduler",),
            on_demand=True,
        ),
    )
}


def build_of(name: str) -> Build:
    """Return a build by its name, or raise an error that lists all names."""
    try:
        return BUILDS[name]
    except KeyError:
        raise ClusterError(
            f"there is no build {name!r}", f"Choose from {', '.join(BUILDS)}"
        ) from None
