"""Collects the files of the image: the interpreter, the libraries it loads, and the product.

`python deploy/image/rootfs.py /opt/podgang /rootfs` in the build stage, with the interpreter of the base.
The image then has no shell, no package manager and no pip, whatever the base has. The names and versions of
the base's packages from which files were taken go to `base-packages.json` beside the tree, for the bill of materials.
Every file has the same time, so the same input gives the same layer.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

USER = 65532
UNUSED_PACKAGES = ("kubernetes_asyncio.client.api", "kubernetes_asyncio.client.models")
"""No program imports them: `shared_api.kube.loaders` replaces them. A quarter of the image."""
_UNUSED = {
    *("__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter"),
    *("turtledemo", "ensurepip", "lib2to3", "pydoc_data", "venv", "distutils"),
}
_UNUSED_MODULES = re.compile(r"(_tkinter|_test\w*|_ctypes_test|xxlimited\w*|_xx\w+|turtle|idle)\b")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


def main(product: Path, target: Path) -> None:
    """Fill the target with everything that programs of the product need."""
    interpreter = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    library = Path(sysconfig.get_path("stdlib"))
    taken = [interpreter, *_files(library)]
    loaded = sorted(_libraries([*taken, *_files(product, everything=True)]))
    for file in (*taken, *loaded):
        _copy(file, target)
    shutil.copytree(product, target / product.relative_to("/"), symlinks=True, ignore=_unused)
    # The environment of the product names the interpreter by these links.
    for link in Path(product / "bin").glob("python*"):
        _link(link, target)
    if _CERTIFICATES.exists():
        _copy(_CERTIFICATES, target)
    _accounts(target)
    _compile(target, library, product)
    packages = _packages([*taken, *loaded, _CERTIFICATES])
    (target.parent / "base-packages.json").write_text(json.dumps(packages, indent=1))
    for path in (target, *target.rglob("*")):
        os.utime(path, (_EPOCH, _EPOCH), follow_symlinks=False)


def _files(folder: Path, *, everything: bool = False) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        if not everything:
            folders[:] = [
                name for name in folders if name not in _UNUSED and not name.startswith("config-")
            ]
        for name in names:
            if everything or not _UNUSED_MODULES.match(name):
                yield Path(root) / name


def _libraries(files: Iterable[Path]) -> set[Path]:
    """Return the shared libraries that these files load, with the loader."""
    found: set[Path] = set()
    for file in files:
        if file.is_symlink() or not _is_elf(file):
            continue
        listing = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False)
        found |= {Path(path) for path in re.findall(r"(/\S+) \(0x", listing.stdout)}
    return found


def _unused(folder: str, names: list[str]) -> set[str]:
    """Return the entries of a folder that are not copied."""
    ends = tuple(package.replace(".", "/") for package in UNUSED_PACKAGES)
    return {name for name in names if f"{folder}/{name}".endswith(ends)}


def _is_elf(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"


def _copy(file: Path, target: Path) -> None:
    """Copy a file to its place; what the way to it and the file itself link to, too."""
    real = file.resolve()
    copy = target / real.relative_to("/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists():
        shutil.copy2(real, copy)
    if file != real:
        _link_folders(file, target)
        place = target / file.relative_to("/")
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(real)


def _link_folders(file: Path, target: Path) -> None:
    """Recreate the links among the parents of a file, such as /lib to /usr/lib."""
    for parent in reversed(file.parents):
        place = target / parent.relative_to("/")
        if parent.is_symlink() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(parent.readlink())
            (target / parent.resolve().relative_to("/")).mkdir(parents=True, exist_ok=True)


def _link(link: Path, target: Path) -> None:
    """Recreate the chain of links that starts here."""
    while link.is_symlink():
        place = target / link.relative_to("/")
        if not place.is_symlink() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(link.readlink())
        link = Path(os.path.normpath(link.parent / link.readlink()))


def _accounts(target: Path) -> None:
    for folder in ("etc", "tmp"):
        (target / folder).mkdir(exist_ok=True)
    (target / "tmp").chmod(0o1777)
    (target / "etc" / "passwd").write_text(f"podgang:x:{USER}:{USER}::/:/none\n")
    (target / "etc" / "group").write_text(f"podgang:x:{USER}:\n")


def _compile(target: Path, library: Path, product: Path) -> None:
    """Compile all modules. The root of a container is read-only, so nothing can be compiled later."""
    for folder in (library, product / "lib"):
        subprocess.run(
            [
                *(sys.executable, "-m", "compileall", "-q", "-j", "0"),
                *("--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", "/"),
                str(target / folder.relative_to("/")),
            ],
            check=True,
        )


def _packages(files: Iterable[Path]) -> list[dict[str, str]]:
    """Return the packages of the base (Debian) that have these files, and the interpreter."""
    found = [{"name": "cpython", "version": platform.python_version(), "type": "generic"}]
    if shutil.which("dpkg-query") is None:
        return found
    names = {name for file in files for name in (str(file), str(file.resolve()))}
    # A file may be recorded under the path before /lib became a link.
    names |= {name.removeprefix("/usr") for name in names if name.startswith("/usr/lib")}
    asked = ["dpkg-query", "--search", *sorted(names)]
    owners = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    owned = sorted({line.split(":", 1)[0] for line in owners.splitlines()})
    form = "${Package} ${Version} ${Architecture}\n"
    listing = subprocess.run(
        ["dpkg-query", "--show", f"--showformat={form}", *owned],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    for line in sorted(set(listing.splitlines())):
        name, version, architecture = line.split(" ")
        found.append(
            {"name": name, "version": version, "architecture": architecture, "type": "deb"}
        )
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
