"""Bytes that may be read later are few, and those whose reader is gone are none."""

from shared_api.runtime.watching.unread import Unread


class Holder:
    def __init__(self, log: list[str], name: str) -> None:
        self._log = log
        self._name = name

    def read(self) -> None:
        self._log.append(self._name)


def test_within_the_budget_nobody_has_to_read() -> None:
    log: list[str] = []
    unread = Unread(100)
    holders = [Holder(log, str(number)) for number in range(10)]
    for holder in holders:
        unread.keep(holder, 10)
    assert log == []
    assert unread.size == 100


def test_beyond_the_budget_the_oldest_read() -> None:
    log: list[str] = []
    unread = Unread(100)
    holders = [Holder(log, str(number)) for number in range(4)]
    for holder in holders:
        unread.keep(holder, 40)
    assert log == ["0", "1"]
    assert unread.size == 80


def test_those_that_are_gone_count_no_more() -> None:
    log: list[str] = []
    unread = Unread(100)
    for number in range(50):
        unread.keep(Holder(log, str(number)), 40)
    assert log == []
    assert unread.size == 0


def test_what_is_larger_than_the_budget_is_read_at_once() -> None:
    log: list[str] = []
    unread = Unread(100)
    holder = Holder(log, "large")
    unread.keep(holder, 1000)
    assert log == ["large"]
    assert unread.size == 0
