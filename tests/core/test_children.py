"""Which child of a name counts for its owner."""

import pytest

from core_operator.children import own_child
from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObjectKey, OwnerReference
from shared_api.runtime.cache import Cache
from shared_api.runtime.watch import Changed

KEY = ObjectKey("n", "w-0-a")


def an_object(name: str, uid: str, owner: str | None = None) -> PartialObject:
    owners: tuple[OwnerReference, ...] = ()
    if owner is not None:
        reference = OwnerReference("grove.io/v1alpha1", "PodCliqueSet", "w", owner, controller=True)
        owners = (reference,)
    return PartialObject(Metadata(name=name, namespace="n", uid=uid, owner_references=owners))


@pytest.mark.parametrize(
    ("owner", "counts"), [("now", True), ("before", False), (None, False)], ids=str
)
def test_a_child_of_a_former_set_of_the_same_name_lends_its_size_to_nobody(
    owner: str | None, counts: bool
) -> None:
    child = an_object(KEY.name, "c", owner)
    cache: Cache[PartialObject] = Cache()
    cache.take(Changed(child))
    found = own_child(cache, KEY, an_object("w", "now"))
    assert found == (child if counts else None)


def test_what_does_not_exist_is_nobodys_child() -> None:
    empty: Cache[PartialObject] = Cache()
    assert own_child(empty, KEY, an_object("w", "now")) is None
