"""Rules of good Kubernetes APIs, held against the generated CRDs."""

import pytest

from tests.contract.schemas import all_nodes, definitions, nodes, properties, version

KINDS = sorted(definitions())
# What is only read by others reports nothing about itself.
PLAIN = {"BackendInventory", "PlacementPolicy"}
REPORTING = sorted(set(KINDS) - PLAIN)

# Grove's field, which says "number"; nothing else may.
FLOATS = {"PodGang.status.placementScore"}

OPEN = "x-kubernetes-preserve-unknown-fields"


@pytest.mark.parametrize("kind", KINDS)
def test_has_a_status_subresource(kind: str) -> None:
    assert version(kind)["subresources"]["status"] == {}


@pytest.mark.parametrize("kind", REPORTING)
def test_conditions_come_first_and_are_keyed_by_type(kind: str) -> None:
    status = dict(nodes(kind))[".status"]
    assert next(iter(status["properties"])) == "conditions"
    conditions = status["properties"]["conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert set(conditions["items"]["required"]) == {
        "type",
        "status",
        "reason",
        "message",
        "lastTransitionTime",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_in_a_sentence(kind: str) -> None:
    texts = {p.path: p.schema.get("description", "") for p in properties(kind)}
    assert [path for path, text in texts.items() if not text.endswith(".") or "\n" in text] == []


def test_every_list_reports_how_it_is_merged() -> None:
    lists = [n for n in all_nodes() if n.schema.get("type") == "array"]
    assert [n.path for n in lists if "x-kubernetes-list-type" not in n.schema] == []


def test_keys_of_lists_are_required_in_their_items() -> None:
    for node in all_nodes():
        keys = node.schema.get("x-kubernetes-list-map-keys", [])
        assert set(keys) <= set(node.schema.get("items", {}).get("required", [])), node.path


def test_no_field_is_a_float_but_the_one_that_grove_has() -> None:
    assert {n.path for n in all_nodes() if n.schema.get("type") == "number"} == FLOATS


def test_every_integer_has_a_width() -> None:
    integers = [n for n in all_nodes() if n.schema.get("type") == "integer"]
    assert [n.path for n in integers if n.schema.get("format") not in ("int32", "int64")] == []


def test_every_node_has_a_type_but_quantities_which_have_several() -> None:
    untyped = [n.path for n in all_nodes() if "type" not in n.schema]
    amounts = ("requests{}", "limits{}", "overhead{}")
    assert [path for path in untyped if not path.endswith(amounts)] == []


def test_nothing_is_left_that_is_not_structural() -> None:
    keywords = {key for node in all_nodes() for key in node.schema}
    assert keywords & {"$ref", "anyOf", "allOf", "oneOf", "const", "title", "nullable"} == set()


def test_no_default_is_empty() -> None:
    # An object may be defaulted to {}, so that the defaults inside it apply.
    empty = [n.path for n in all_nodes() if n.schema.get("default", 1) in (None, "", [])]
    assert empty == []


def test_unknown_fields_are_kept_only_in_objects_of_other_apis() -> None:
    outermost = {
        n.path.rsplit(".", 1)[-1].removesuffix("[]")
        for n in all_nodes()
        if n.schema.get(OPEN) and not any(p in n.path for p in (".podSpec.", ".templateSpec."))
    }
    assert outermost == {"podSpec", "templateSpec", "metrics"}


def test_messages_of_rules_are_phrases_that_follow_a_path() -> None:
    for node in all_nodes():
        for rule in node.schema.get("x-kubernetes-validations", []):
            message = rule["message"]
            assert not message.endswith("."), (node.path, message)
            assert "\n" not in rule["rule"], node.path


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_reads_the_reason_first_and_the_age_last(kind: str) -> None:
    shown = [c["name"] for c in version(kind)["additionalPrinterColumns"] if not c.get("priority")]
    assert kind in PLAIN or "Reason" in shown[:2]
    assert shown[-1] == "Age"
    assert len(shown) <= 7
