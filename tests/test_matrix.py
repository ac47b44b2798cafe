"""The parts of the matrix: what is skipped is reported, and a part that does not exist is an error."""

import pytest

from tests.matrix import PARTS, main


def test_parts_for_which_no_time_is_left_are_reported_and_are_no_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--minutes", "0"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1].strip() for line in told] == [
        *(part.name for part in PARTS),
        "others",
    ]
    assert all("skipped" in line for line in told)


def test_an_unknown_part_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["nomad"])
    told = capsys.readouterr().err
    assert "there is no part nomad" in told
    assert all(part.name in told for part in PARTS)
