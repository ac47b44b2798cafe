"""What somebody with too many rights does to the objects of a set that was fine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from shared_api import names
from shared_api.kube.resources import Resource
from shared_api.runtime.watching.reflector import Source
from tests.fuzz.poison import ANNOTATION_KEYS, LABEL_KEYS, LABEL_VALUES, body_of
from tests.fuzz.shelf import Object, Shelf
from tests.fuzz.values import ANY_TEXT

VICTIM = "victim"


@dataclass(frozen=True)
class Damage:
    """A change of one object of the victim; `None` takes a label away."""

    resource: Resource
    number: int
    labels: Mapping[str, str | None]
    annotations: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    is_going: bool = False

    def __repr__(self) -> str:
        parts = (self.number, self.labels, self.annotations, self.body, self.is_going)
        return f"{self.resource.kind} {str(parts)[:2000]}"

    def apply(self, shelf: Shelf) -> None:
        """Change the object, if there is one."""
        found = [one for one in shelf.kinds[str(self.resource)].values() if _is_of_victim(one)]
        if not found:
            return
        held = found[self.number % len(found)]
        metadata = {**held["metadata"]}
        labels = {**metadata.get("labels", {}), **self.labels}
        metadata["labels"] = {key: value for key, value in labels.items() if value is not None}
        metadata["annotations"] = {**metadata.get("annotations", {}), **self.annotations}
        if self.is_going:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        shelf.put(self.resource, {**held, **self.body, "metadata": metadata})


def _is_of_victim(held: Object) -> bool:
    metadata = held["metadata"]
    labels = metadata.get("labels") or {}
    return VICTIM in (metadata["name"], labels.get(names.LABEL_PART_OF)) or metadata[
        "name"
    ].startswith(f"{VICTIM}-")


@st.composite
def damages(draw: st.DrawFn, source: Source[Any]) -> Damage:
    """A change that the schema of a kind admits."""
    body = draw(body_of(source))
    parts = draw(st.lists(st.sampled_from(sorted(body)), max_size=2)) if body else []
    labels = st.dictionaries(st.sampled_from(LABEL_KEYS), LABEL_VALUES | st.none(), max_size=6)
    return Damage(
        source.resource,
        draw(st.integers(0, 7)),
        draw(labels),
        draw(st.dictionaries(st.sampled_from(ANNOTATION_KEYS), ANY_TEXT, max_size=4)),
        {key: body[key] for key in parts if key != "metadata"},
        draw(st.integers(0, 9)) == 0,
    )
