"""Each input that once raised something which nobody expects, kept as it was found."""

import asyncio
from typing import Any

import pytest

from core_operator.caches import CLIQUES
from shared_api import names
from shared_api.kube.quantities import parsed
from tests.fuzz.damage import Damage
from tests.fuzz.test_neighbours import live


@pytest.mark.parametrize("index", ["0..0", "x", ""])
def test_a_podclique_that_lost_its_replica_index_gets_pods_when_it_has_it_again(index: str) -> None:
    labels = {names.LABEL_PCS_REPLICA_INDEX: index}
    damage = [Damage(CLIQUES, number, labels) for number in range(3)]
    asyncio.run(live("kai", [], damage, []))


@pytest.mark.parametrize("text", ["9" * 5000, "1" * 4301 + "Gi", "." + "1" * 5000, 10**30])
def test_a_text_of_very_many_digits_is_no_quantity(text: Any) -> None:
    assert parsed(text) is None or isinstance(text, int)
