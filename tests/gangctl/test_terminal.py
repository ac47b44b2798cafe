"""What a terminal of some width shows: nothing that people copy is broken."""

import io

import pytest

from gangctl.reports.doctor import doctor_report, doctor_view
from gangctl.reports.status import status_report, status_view
from gangctl.reports.view import Grid, View
from gangctl.terminal import Console, renderable
from tests.gangctl import test_doctor
from tests.gangctl.scene import a_set, conditions, snapshot

NAME = "evaluation-of-the-large-model"
COMMAND = "kubectl -n grove-system scale deployment backend-kai --replicas=2"
WHY = f"gang {NAME}-0: backend 'kai' is down: its Lease grove-system/backend-kai expired. {COMMAND}"


def shown(view: View, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(renderable(view, width), crop=False)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def status(*, everywhere: bool) -> View:
    waiting = conditions(Ready=("BackendUnavailable", WHY))
    return status_view(
        status_report(snapshot(sets=[a_set(NAME, waiting, 0)])), all_namespaces=everywhere
    )


@pytest.mark.parametrize("width", [40, 80, 100])
def test_on_a_narrow_terminal_the_reason_is_below_the_table_in_full_width(width: int) -> None:
    head, row, _, *text = shown(status(everywhere=True), width)
    assert head.split()[-1] == "WAITING"
    assert row.split()[:3] == ["default", NAME, "0/1"]
    assert " ".join(text) == f"default/{NAME}: {WHY}"


def test_on_a_wide_terminal_the_reason_is_in_the_table() -> None:
    assert shown(status(everywhere=False), 400)[1].endswith(WHY)
    head, row, *folded = shown(status(everywhere=False), 160)
    assert head.split()[-1] == "WHY"
    assert row.split()[0] == NAME
    assert all(line.startswith(" " * 40) for line in folded)


def test_a_command_is_one_line_on_every_terminal() -> None:
    stopped = test_doctor.deployment("backend-kai", available=0, replicas=0)
    found = test_doctor.healthy(deployments=[test_doctor.deployment("core-operator"), stopped])
    view = doctor_view(doctor_report(found, test_doctor.FACTS))
    assert f"  {COMMAND}" in shown(view, 40)


def test_a_table_of_short_cells_is_never_folded() -> None:
    row = ("default", "backend-default-75b774b859-nxc9g_60b24e17", "scheduling.k8s.io/v1alpha2")
    _, only = shown([Grid(("NAME", "LEADER", "API"), [row])], 30)
    assert only.split() == list(row)
