"""The volumes of one pod on disk, and their places in its containers.

`<pod directory>/volumes/NAME` holds a volume, `<pod directory>/roots/CONTAINER/<mountPath>` is
a link to it. Containers of a pod so share volumes and still may mount different ones at the
same path. Content follows ConfigMaps, pod metadata and token life; it never goes back to
nothing because of a passing error.
"""

import shutil
from pathlib import Path

from local_cluster.api import Object
from local_cluster.process_node.environment import ContainerConfigError, PodFacts
from local_cluster.process_node.paths import inside
from local_cluster.process_node.projection import token_specs, volume_files
from local_cluster.process_node.published_files import publish
from local_cluster.process_node.tokens import Tokens


class Volumes:
    """The volumes of one pod."""

    def __init__(self, directory: Path, tokens: Tokens) -> None:
        self._directory = directory
        self._tokens = tokens

    def root(self, container: str) -> Path:
        """What stands for a container's root directory."""
        return self._directory / "roots" / container

    def lock(self, container: str) -> Path:
        """A file that is locked while the container's process may be running."""
        return self._directory / f"{container}.lock"

    async def refresh(self, facts: PodFacts) -> None:
        """Write what is new; raises ConfigError when something that is needed is missing."""
        for volume in facts.pod["spec"].get("volumes", ()):
            place = self._volume(volume["name"])
            if "emptyDir" in volume:
                place.mkdir(parents=True, exist_ok=True)
                continue
            tokens = {spec: await self._tokens.current(spec) for spec in token_specs(volume)}
            publish(place, volume_files(volume, facts, tokens))

    def mount(self, container: Object) -> Path:
        """Link the volumes into the container's root, which is returned."""
        root = self.root(container["name"])
        root.mkdir(parents=True, exist_ok=True)
        mounts = container.get("volumeMounts", ())
        # Outer mounts first: an inner one then lands inside the outer volume, as it should.
        for mount in sorted(mounts, key=lambda mount: len(mount["mountPath"])):
            target = self._volume(mount["name"])
            if part := mount.get("subPath"):
                target = inside(target, part)
                if not target.exists():
                    if (self._volume(mount["name"]) / "..data").exists():
                        raise ContainerConfigError(f'volume "{mount["name"]}" has no {part}')
                    target.mkdir(parents=True)
            link = inside(root, mount["mountPath"])
            link.parent.mkdir(parents=True, exist_ok=True)
            if link.is_symlink():
                link.unlink()
            if link != root and not link.exists():
                link.symlink_to(target)
        return root

    def seconds_to_renewal(self) -> float:
        """When `refresh` must be called even if nothing changed."""
        return self._tokens.seconds_to_renewal()

    def remove(self) -> None:
        """Forget everything; the pod is gone."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _volume(self, name: str) -> Path:
        return self._directory / "volumes" / name
