"""What backends read of a gang is what the model says, field by field and value by value."""

import types
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticUndefined

from shared_api import models
from shared_api.kube import podgangs
from shared_api.kube.codec import codec_for, encode
from shared_api.kube.errors import BadResponse
from shared_api.models.meta import KubeModel
from tests.contract.manifests import Manifest, pod_gang

UNREAD = {
    "metadata.generateName",
    "metadata.ownerReferences.blockOwnerDeletion",
    *(
        f"status.{writer}Blocker{field}"
        for writer in ("core", "backend")
        for field in ("", ".reason", ".message")
    ),
}
"""What only those need who write an object, or read it with kubectl; `Metadata` is the one of all
projections."""

Names = dict[str, tuple[str, bool]]
"""Attribute and nullability by the path in JSON."""


def parts(annotation: Any) -> Iterator[Any]:
    """The types that a type is made of."""
    if get_origin(annotation) is Annotated:
        yield from parts(get_args(annotation)[0])
    elif get_origin(annotation) is not None:
        for argument in get_args(annotation):
            yield from parts(argument)
    else:
        yield annotation


def is_nullable(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return is_nullable(get_args(annotation)[0])
    return type(None) in get_args(annotation)


def fields_of_model(model: type[KubeModel], path: str = "") -> Names:
    found: Names = {}
    for name, field in model.model_fields.items():
        here = f"{path}{field.alias}"
        found[here] = (name, is_nullable(field.annotation))
        for part in parts(field.annotation):
            if isinstance(part, type) and issubclass(part, KubeModel):
                found |= fields_of_model(part, f"{here}.")
    return found


def fields_of_struct(struct: type[msgspec.Struct], path: str = "") -> Names:
    found: Names = {}
    types_of = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        here = f"{path}{field.encode_name}"
        found[here] = (field.name, is_nullable(types_of[field.name]))
        for part in parts(types_of[field.name]):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                found |= fields_of_struct(part, f"{here}.")
    return found


def below(names: Names, *tops: str) -> Names:
    return {path: name for path, name in names.items() if path.split(".")[0] in tops}


MODEL, STRUCT = fields_of_model(models.PodGang), fields_of_struct(podgangs.ObservedPodGang)


def test_every_field_of_the_model_is_read_under_its_own_name() -> None:
    read = {path: name for path, name in MODEL.items() if path not in UNREAD}
    assert below(STRUCT, "spec", "status") == below(read, "spec", "status")
    assert {path: name for path, (name, _) in STRUCT.items()} == {
        path: name for path, (name, _) in MODEL.items() if path not in UNREAD
    }
    assert "status.podPreparations.members.spec.schedulingGroup.podGroupName" in STRUCT


def test_both_are_of_the_same_kind() -> None:
    assert podgangs.ObservedPodGang.API_VERSION == models.PodGang.API_VERSION
    assert podgangs.ObservedPodGang.KIND == models.PodGang.KIND


WORDS = st.from_regex(r"[A-Z][a-z]{0,5}", fullmatch=True)
"""What all patterns and lengths of the model allow."""
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(  # noqa: DTZ001
    lambda time: time.replace(microsecond=0, tzinfo=UTC)
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: WORDS,
    bool: st.booleans(),
    int: st.integers(0, 2**31 - 1),
    float: st.floats(0, 1) | st.sampled_from([0, 1]),
    datetime: MOMENTS,
    type(None): st.none(),
}


def values(annotation: Any, *, nulls: bool) -> st.SearchStrategy[Any]:
    """Anything of a type; the server sends no null in metadata."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return values(arguments[0], nulls=nulls)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        chosen = [one for one in arguments if nulls or one is not type(None)]
        return st.one_of([values(one, nulls=nulls) for one in chosen])
    if origin is tuple:
        return st.lists(values(arguments[0], nulls=nulls), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(WORDS, WORDS, max_size=2)
    if issubclass(annotation, KubeModel):
        return instances(annotation, nulls=nulls)
    if issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    return PLAIN[annotation]


def instances(model: type[KubeModel], *, nulls: bool = True) -> st.SearchStrategy[Any]:
    """Any value of a model; what has a default may be left out."""
    needed: dict[str, st.SearchStrategy[Any]] = {}
    more: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model.model_fields.items():
        has_nulls = nulls and name != "metadata"
        is_needed = field.default is PydanticUndefined and field.default_factory is None
        (needed if is_needed else more)[name] = values(field.annotation, nulls=has_nulls)
    return st.fixed_dictionaries(needed, optional=more).map(lambda given: model(**given))


def assert_same(stated: Any, read: Any, *, path: str = "") -> None:
    if isinstance(stated, KubeModel):
        assert isinstance(read, msgspec.Struct), path
        for name, field in type(stated).model_fields.items():
            if f"{path}{field.alias}" not in UNREAD:
                further = f"{path}{field.alias}."
                assert_same(getattr(stated, name), getattr(read, name), path=further)
    elif isinstance(stated, tuple):
        assert len(stated) == len(read), path
        for one, other in zip(stated, read, strict=True):
            assert_same(one, other, path=path)
    elif isinstance(stated, datetime):
        assert datetime.fromisoformat(read) == stated, path
    elif stated is None and path.startswith("metadata."):
        assert not read, path
    else:
        assert (read, type(read)) == (stated, type(stated)), path


def read_back(manifest: Manifest) -> podgangs.ObservedPodGang:
    return codec_for(podgangs.ObservedPodGang).one(encode(manifest))


@given(instances(models.PodGang))
def test_a_gang_is_read_with_the_values_that_were_written(stated: models.PodGang) -> None:
    assert_same(stated, read_back(stated.manifest()))


@given(instances(models.PodPreparation), instances(models.PodPreparation))
def test_preparations_differ_for_readers_as_they_do_for_writers(
    one: models.PodPreparation, other: models.PodPreparation
) -> None:
    def published(preparation: models.PodPreparation) -> podgangs.ObservedPodPreparation:
        return msgspec.convert(preparation, podgangs.ObservedPodPreparation, from_attributes=True)

    assert (published(one) == published(other)) == (one == other)
    assert published(one) == msgspec.convert(one.manifest(), podgangs.ObservedPodPreparation)


def test_what_the_model_leaves_alone_is_skipped() -> None:
    manifest = pod_gang("a")
    manifest["spec"]["laterAddition"] = {"x": 1}
    manifest["metadata"]["managedFields"] = [{"manager": "x"}]
    assert [group.name for group in read_back(manifest).spec.podgroups] == ["a"]


def test_what_the_server_never_stores_is_refused_by_both_alike() -> None:
    unknown = pod_gang("a") | {"status": {"phase": "Later"}}
    for kind in (models.PodGang, podgangs.ObservedPodGang):
        with pytest.raises(BadResponse, match="the answer is not a PodGang"):
            codec_for(kind).one(encode(unknown))
