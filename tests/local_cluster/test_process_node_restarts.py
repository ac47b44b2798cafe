"""Back-off, restart policies, probe verdicts and addresses: the small rules."""

import pytest

from local_cluster.process_node.addresses import Addresses
from local_cluster.process_node.backoff import next_delay, restarts
from local_cluster.process_node.probes import (
    ProbeKind,
    Timing,
    first_verdict,
    judge,
    port_number,
    read_timing,
)


def test_delays_double_up_to_a_limit() -> None:
    delays = [0.0]
    for _ in range(8):
        delays.append(next_delay(delays[-1], ran_for=0.1))
    assert delays[1:] == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_long_run_is_forgiven() -> None:
    assert next_delay(30, ran_for=599) == 30
    assert next_delay(30, ran_for=600) == 1


@pytest.mark.parametrize(
    ("policy", "after_success", "after_failure"),
    [("Always", True, True), ("OnFailure", False, True), ("Never", False, False)],
)
def test_restart_policies(policy: str, after_success: bool, after_failure: bool) -> None:
    assert restarts(policy, 0) is after_success
    assert restarts(policy, 1) is after_failure


TIMING = Timing(initial_delay=0, period=10, timeout=1, successes=2, failures=3)


@pytest.mark.parametrize(
    ("kind", "outcomes", "verdicts"),
    [
        (ProbeKind.READINESS, "++", [False, True]),
        (ProbeKind.READINESS, "+-++", [False, False, False, True]),
        (ProbeKind.READINESS, "++--+---", [False, True, True, True, True, True, True, False]),
        (ProbeKind.LIVENESS, "--+---", [True, True, True, True, True, False]),
        (ProbeKind.STARTUP, "--++", [None, None, None, True]),
        (ProbeKind.STARTUP, "---", [None, None, False]),
    ],
)
def test_verdicts_need_a_row_of_outcomes(
    kind: ProbeKind, outcomes: str, verdicts: list[bool | None]
) -> None:
    verdict, seen = first_verdict(kind), []
    for outcome in outcomes:
        verdict = judge(verdict, TIMING, succeeded=outcome == "+")
        seen.append(verdict.healthy)
    assert seen == verdicts


def test_a_probe_has_the_defaults_of_the_api() -> None:
    assert read_timing({}) == Timing(0, 10, 1, 1, 3)


def test_ports_are_found_by_name() -> None:
    container = {"ports": [{"name": "web", "containerPort": 8080}, {"containerPort": 1}]}
    assert port_number(7, container) == 7
    assert port_number("web", container) == 8080
    assert port_number("81", container) == 81
    with pytest.raises(ValueError, match="no port 'ftp'"):
        port_number("ftp", container)


def test_pods_have_addresses_of_their_own() -> None:
    addresses = Addresses(separate=True)
    taken = {addresses.take(f"uid-{number}") for number in range(500)}
    assert len(taken) == 500
    assert all(address.startswith("127.") for address in taken)
    assert not any(address.startswith("127.0.") for address in taken)


def test_an_address_is_kept_and_comes_back_after_a_restart() -> None:
    addresses = Addresses(separate=True)
    first = addresses.take("uid")
    assert addresses.take("uid") == first
    assert Addresses(separate=True).take("uid") == first


def test_a_collision_moves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = Addresses(separate=True)
    wanted = addresses.take("uid")
    crowded = Addresses(separate=True)
    monkeypatch.setattr(crowded, "_held", {"squatter": wanted})
    assert crowded.take("uid") != wanted
    moved = crowded.take("uid")
    crowded.give_back("squatter")
    assert crowded.take("uid") == moved


def test_where_there_is_one_address_all_share_it() -> None:
    addresses = Addresses(separate=False)
    assert {addresses.take("a"), addresses.take("b")} == {"127.0.0.1"}
