"""Who controls an object: a UID alone makes nobody an owner."""

from dataclasses import dataclass, replace

import pytest

from shared_api.kube.codec import PartialObject
from shared_api.kube.metadata import Metadata, ObservedOwnerReference
from shared_api.kube.resources import CONFIGMAPS, Resource
from shared_api.runtime.watching.cache import Cache
from shared_api.runtime.watching.owners import (
    Owner,
    by_controller,
    controller_of,
    identity,
    owner_in,
    refers_to,
)
from shared_api.runtime.watching.reflector import Changed

SETS = Resource("grove.io", "v1alpha1", "podcliquesets", "PodCliqueSet")
OWNER = Owner("team", "grove.io", "PodCliqueSet", "w", "uid-w")


@dataclass(frozen=True)
class Reference:
    """A reference to the set, or one that differs from it in one thing."""

    namespace: str = "team"
    api_version: str = "grove.io/v1alpha1"
    kind: str = "PodCliqueSet"
    name: str = "w"
    uid: str = "uid-w"
    controller: bool = True

    def child(self) -> PartialObject:
        owner = ObservedOwnerReference(
            self.api_version, self.kind, self.name, self.uid, self.controller
        )
        metadata = Metadata(name="c", namespace=self.namespace, uid="c", owner_references=(owner,))
        return PartialObject(metadata)


def the_set() -> PartialObject:
    return PartialObject(Metadata(name="w", namespace="team", uid="uid-w", resource_version="1"))


FORGED = [
    replace(Reference(), namespace="evil"),
    replace(Reference(), kind="PodClique"),
    replace(Reference(), api_version="example.com/v1alpha1"),
    replace(Reference(), api_version="v1alpha1"),
    replace(Reference(), name="v"),
    replace(Reference(), uid="another"),
]


def filled() -> Cache[PartialObject]:
    cache: Cache[PartialObject] = Cache()
    cache.take(Changed(the_set()))
    return cache


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_a_reference_that_differs_in_one_thing_names_another_owner(forged: Reference) -> None:
    child = forged.child()
    assert controller_of(child) != OWNER
    assert OWNER not in by_controller(child)
    assert not refers_to(child, OWNER)
    assert owner_in(filled(), SETS, child) is None


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_the_version_of_an_api_makes_no_other_owner(version: str) -> None:
    child = replace(Reference(), api_version=f"grove.io/{version}").child()
    assert controller_of(child) == OWNER == identity(SETS, the_set())
    assert list(by_controller(child)) == [OWNER]
    assert refers_to(child, OWNER)
    assert owner_in(filled(), SETS, child) == the_set()


def test_an_owner_that_is_not_the_controller_controls_nothing() -> None:
    child = replace(Reference(), controller=False).child()
    assert controller_of(child) is None
    assert list(by_controller(child)) == []
    assert owner_in(filled(), SETS, child) is None
    assert refers_to(child, OWNER)


def test_an_owner_of_the_core_group_has_no_group() -> None:
    child = Reference(api_version="v1", kind="ConfigMap").child()
    assert controller_of(child) == identity(CONFIGMAPS, the_set())
