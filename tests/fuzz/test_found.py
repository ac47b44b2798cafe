"""Each input that once raised something which nobody expects, kept as it was found."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from backend_controllers.contract.timestamps import time_of
from backend_controllers.kai import messages as kai_texts
from backend_controllers.kai import mirroring as kai_mirroring
from backend_controllers.kai.api import SchedulingCondition
from backend_controllers.koordinator import match_policy
from backend_controllers.koordinator import messages as koordinator_texts
from backend_controllers.koordinator.installation import LONGEST_WAIT
from backend_controllers.volcano import messages as volcano_texts
from core_operator.plan.statuses.breach import deadline_of, timestamp
from core_operator.state.caches import CLIQUES
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


def test_a_waiting_time_without_end_refuses_its_gang() -> None:
    assert (match_policy._seconds("9" * 400 + "s") or 0) > LONGEST_WAIT
    assert match_policy._seconds("1.5s") == 2


def test_numbers_of_thousands_of_digits_in_messages_are_text() -> None:
    digits = "9" * 5000
    cramped = f"node-group a can allocate only {digits} of 2 required pods"
    assert kai_texts.explain([kai_texts.explanation_of(cramped)])
    assert volcano_texts.cleaned([f"0/3 nodes are available: {digits} node(s) had a taint"])
    cramped = f"no candidate topology nodes can accommodate job, desiredOfferSlot: {digits}, x"
    assert koordinator_texts.explain([cramped], 2)


@pytest.mark.parametrize("text", ["²", "9" * 5000, ""])
def test_a_transition_that_is_no_number_counts_as_the_first(text: str) -> None:
    assert kai_mirroring._transition(SchedulingCondition(transition_id=text)) == -1


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_nothing_overflows_at_the_ends_of_time(text: str) -> None:
    assert time_of(text) is None
    moment = datetime.fromisoformat(text)
    assert timestamp(deadline_of(moment, timedelta(hours=4)))
