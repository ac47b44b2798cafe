"""Writes a software bill of materials (CycloneDX 1.6, JSON) of what an image installs.

`python deploy/image/sbom.py requirements-runtime.lock [base-packages.json] > sbom.json`. Names, versions
and hashes are the lock's. What was taken from the base is listed by `rootfs.py`. Licences and dependencies come from the metadata of the environment that this
runs in, which in an image build is the one that is shipped. The same input gives the same bytes:
there is no time and no chance in it.
"""

import json
import re
import sys
import uuid
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

PRODUCT = "podgang"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill(lock: str, base: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """The bill of what a lock names, and of what comes from the base."""
    entries = [
        entry for entry in re.split(r"^(?=\S)", lock, flags=re.MULTILINE) if PIN.match(entry)
    ]
    components = [_component(entry) for entry in entries]
    known = {component["name"]: component["bom-ref"] for component in components}
    version = metadata.version(PRODUCT)
    product = {
        "type": "application",
        "bom-ref": f"pkg:pypi/{PRODUCT}@{version}",
        "name": PRODUCT,
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, version + lock)}",
        "version": 1,
        "metadata": {"component": product},
        "components": [*components, *map(_of_base, base)],
        "dependencies": [
            {"ref": product["bom-ref"], "dependsOn": _wanted_by(PRODUCT, known)},
            *({"ref": ref, "dependsOn": _wanted_by(name, known)} for name, ref in known.items()),
        ],
    }


def _component(entry: str) -> dict[str, Any]:
    pin = PIN.match(entry)
    assert pin is not None
    name, version = pin[1], pin[2]
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        # Of every file that the lock accepts: source and one wheel for each platform.
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"pkg:pypi/{name}@{version}",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in HASH.findall(entry)],
            }
        ],
    }
    if licence := _licence(name):
        component["licenses"] = [licence]
    return component


def _of_base(package: dict[str, str]) -> dict[str, Any]:
    """A package of the base, or the interpreter."""
    name, version = package["name"], package["version"]
    purl = f"pkg:generic/{name}@{version}"
    if package["type"] == "deb":
        purl = f"pkg:deb/debian/{name}@{version}?arch={package['architecture']}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _licence(name: str) -> dict[str, Any] | None:
    try:
        about = metadata.metadata(name).json
    except metadata.PackageNotFoundError:
        return None
    if expression := about.get("license_expression"):
        return {"expression": expression}
    classifiers = about.get("classifier", [])
    told = [text.split(" :: ")[-1] for text in classifiers if text.startswith("License :: ")]
    text = next(iter((*told, *str(about.get("license", "")).splitlines())), "")
    return {"license": {"name": text}} if text else None


def _wanted_by(name: str, known: dict[str, str]) -> list[str]:
    try:
        texts = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    plain = (text for text in texts if "extra ==" not in text)
    found = (re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0] for text in plain)
    named = {re.sub(r"[-_.]+", "-", word).lower() for word in found}
    return sorted(known[word] for word in named if word in known)


if __name__ == "__main__":
    lock_file, *base_files = map(Path, sys.argv[1:])
    of_base = [package for file in base_files for package in json.loads(file.read_text())]
    json.dump(bill(lock_file.read_text(), of_base), sys.stdout, indent=1)
    sys.stdout.write("\n")
