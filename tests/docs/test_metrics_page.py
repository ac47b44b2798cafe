"""The reference page of the metrics is what the programs declare."""

from tests.docs.metrics_page import PAGE, main, render


def test_the_page_is_current() -> None:
    assert main(["--check"]) == 0, "run: python -m tests.docs.metrics_page"
    assert PAGE.read_text() == render()


def test_every_metric_of_a_backend_names_the_backend() -> None:
    _, _, part = render().partition("## Of a backend controller")
    rows = [row for row in part.splitlines() if row.startswith("| `")]
    assert len(rows) >= 12
    for row in rows:
        name, _, labels, text = (cell.strip() for cell in row.strip("|").split("|"))
        assert name.startswith("`backend_")
        assert labels.startswith("`backend`")
        assert text.endswith(".")
