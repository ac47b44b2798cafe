"""What a recorder keeps can be read again."""

from pathlib import Path

from benchmarks.product.recording import WriteLog, read
from benchmarks.product.replay import Recorded
from shared_api.kube.http.transport import ApiRequest

APPLY = "application/apply-patch+yaml"


def test_writes_are_read_as_they_were_sent_with_the_uid_that_was_answered(tmp_path: Path) -> None:
    file = tmp_path / "core.recording"
    with file.open("wb") as opened:
        recording = WriteLog(opened)
        applied = ApiRequest("PATCH", "/pods/ä", "APPLY", "pods", '{"a":"ü\\n"}'.encode(), APPLY)
        recording.keep(3, applied, b'{"metadata":{"uid":"u-1","name":"p"}}')
        deleted = ApiRequest("DELETE", "/pods/q", "DELETE", "pods")
        recording.keep(2, deleted, b'{"metadata":{}}')
    assert list(read(file)) == [
        Recorded(3, "PATCH", "/pods/ä", APPLY, '{"a":"ü\\n"}', "u-1"),
        Recorded(2, "DELETE", "/pods/q", "application/json", "", ""),
    ]


def test_nothing_recorded_is_nothing_to_replay(tmp_path: Path) -> None:
    file = tmp_path / "backend.recording"
    file.touch()
    assert list(read(file)) == []
