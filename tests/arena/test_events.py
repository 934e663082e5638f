import hashlib
import json
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from arena.errors import RecordError
from arena.events import NO_LINE, EventLog, read_events


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    for number in range(4):
        log.append("batch_finished", number=number, text="x" * 250)
    log.close()
    return path


def test_every_line_carries_the_hash_of_the_one_before(path: Path) -> None:
    lines = path.read_bytes().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == [0, 1, 2, 3]
    assert [event["prev"] for event in events] == [NO_LINE, *(hashlib.sha256(line).hexdigest() for line in lines[:-1])]
    assert [event.data["number"] for event in read_events(path)] == [0, 1, 2, 3]


def test_the_chain_goes_on_after_opening_again(path: Path) -> None:
    log = EventLog(path)
    assert log.warning is None
    log.append("resumed")
    log.sync()
    assert [event.type for event in read_events(path)][-2:] == ["batch_finished", "resumed"]
    log.close()


@pytest.mark.parametrize("lone_newline", [False, True])
@pytest.mark.parametrize("lost", [1, 10, 200])
def test_a_torn_last_line_is_cut_and_the_chain_goes_on_twice(path: Path, lost: int, lone_newline: bool) -> None:
    for _ in range(2):
        before = len(read_events(path))
        path.write_bytes(path.read_bytes()[:-lost] + b"\n" * lone_newline)
        log = EventLog(path)
        whole = lost == 1 and lone_newline  # then nothing was lost at all
        assert (log.warning is None) == whole
        assert whole or f"line {before} was torn" in str(log.warning)
        log.append("again", text="x" * 250)
        log.close()
        assert len(read_events(path)) == before + whole
        assert path.with_suffix(".torn").exists() != whole
        assert EventLog(path).warning is None


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (lambda lines: [lines[0], lines[2], lines[3]], 2),  # lost
        (lambda lines: [lines[0], lines[2], lines[1], lines[3]], 2),  # moved
        (lambda lines: [lines[0], lines[1].replace(b"xx", b"xy", 1), lines[2], lines[3]], 3),  # changed
        (lambda lines: lines[1:], 1),  # beheaded
        (lambda lines: [lines[0], lines[0], lines[1]], 2),  # doubled
        (lambda lines: [lines[0], b"", *lines[1:]], 2),  # a lone newline
        (lambda lines: [lines[0], lines[1][:40], *lines[2:]], 2),  # half a line
    ],
)
def test_a_broken_chain_is_an_error_that_names_the_line(path: Path, change, number: int) -> None:
    path.write_bytes(b"\n".join(change(path.read_bytes().splitlines())) + b"\n")
    damaged = path.read_bytes()
    for read in (read_events, EventLog):
        with pytest.raises(RecordError, match=rf"events\.jsonl: line {number} "):
            read(path)
    assert path.read_bytes() == damaged


def test_types_are_words_and_data_is_strict_json(path: Path) -> None:
    log = EventLog(path)
    with pytest.raises(ValidationError):
        log.append("Not a word")
    with pytest.raises(ValidationError):
        log.append("score", value=float("nan"))
    log.append("score", value=1)
    log.close()
    assert len(read_events(path)) == 5


def test_threads_may_append_together(path: Path) -> None:
    log = EventLog(path)

    def append() -> None:
        for number in range(50):
            log.append("step", number=number)

    threads = [threading.Thread(target=append) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    assert len(read_events(path)) == 204
