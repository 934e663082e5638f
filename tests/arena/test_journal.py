from pathlib import Path
from typing import Any

import pytest

from arena.agent import CommandResult, EditOutcome
from arena.edit import EditResult, Saved, Step
from arena.errors import RecordError, SubmissionError
from arena.journal import RecordJournal, no_edit
from arena.listener import Listener
from arena.types import FileEntry
from tests.arena.edits import START, a_run, journal

NEW = (*START.files, FileEntry(b"new", "file", b"1"))
DONE = EditResult(EditOutcome("submitted", "fine"), 2, 1.5, "better now")


class Heard(Listener):
    def __init__(self) -> None:
        self.steps: list[tuple[str, int]] = []

    def step(self, player: str, steps: int) -> None:
        self.steps.append((player, steps))


def a_step(saved: Saved, before: str, result: CommandResult | None = None, **more: Any) -> Step:
    plain = {"thought": "t", "command": "c", "kind": "command", "unsaved": ""} | more
    return Step(result=result, before=before, after=saved, **plain)


def take_steps(writing: RecordJournal) -> None:
    """Two steps, of which the second changes nothing."""
    writing.begin()
    start = writing.save(None)
    saved = writing.save(NEW)
    writing.step(a_step(saved, start.tree, CommandResult(3, "out\ufffdput", 0.2, True, 17)))
    writing.step(a_step(writing.save(None), saved.tree, None, unsaved="too large", kind="write"))


def test_an_edit_is_written_down_as_it_happens(tmp_path: Path) -> None:
    heard = Heard()
    with a_run(tmp_path) as record:
        writing = journal(record, listener=heard)
        take_steps(writing)
        first, second = record.steps("ada", 1)
        assert (first.exit_code, first.output, first.timed_out, first.omitted_bytes) == (3, "out\ufffdput", True, 17)
        assert (second.exit_code, second.output, second.seconds, second.unsaved) == (None, "", 0.0, "too large")
        assert first.tree_before == START.tree
        assert first.tree_after == second.tree_before == second.tree_after != START.tree
        assert heard.steps == [("ada", 1), ("ada", 2)]
        document = writing.finish(DONE)
        assert record.edit("ada", 1) == document
        assert (document.ended, document.detail, document.message) == ("submitted", "fine", "better now")
        assert (document.diff.files, document.diff.added, document.tree) == (1, 1, first.tree_after)
        assert [event.type for event in record.events()][-2:] == ["edit_begun", "edit_finished"]


def test_equal_histories_have_equal_commits_whenever_and_wherever_they_happen(tmp_path: Path) -> None:
    commits = []
    for name in ("one", "two"):
        with a_run(tmp_path / name) as record:
            writing = journal(record)
            take_steps(writing)
            commits.append(writing.finish(DONE).commit)
    assert commits[0] == commits[1]


def test_an_interrupted_attempt_stays_in_the_record_and_the_next_ends_the_same(tmp_path: Path) -> None:
    with a_run(tmp_path / "whole") as record:
        writing = journal(record)
        take_steps(writing)
        undisturbed = writing.finish(DONE)
    with a_run(tmp_path / "cut") as record:
        writing = journal(record)
        writing.begin()
        writing.save((FileEntry(b"half", "file", b"done"),))
        again = journal(record)
        assert again.begin() == START
        assert again.save(None).tree == START.tree
        take_steps(again)
        document = again.finish(DONE)
        assert (document.commit, document.tree) == (undisturbed.commit, undisturbed.tree)
        assert document.attempt == 3
        assert record.attempts("ada", 1) == 3
        with pytest.raises(RecordError, match="never done again"):
            journal(record).begin()


def test_what_no_codebase_may_hold_is_not_committed(tmp_path: Path) -> None:
    with a_run(tmp_path) as record:
        writing = journal(record)
        writing.begin()
        with pytest.raises(SubmissionError):
            writing.save((FileEntry(b"../x", "file", b""),))
        assert writing.save(None).tree == START.tree


def test_saving_the_same_files_again_is_no_change(tmp_path: Path) -> None:
    with a_run(tmp_path) as record:
        writing = journal(record)
        writing.begin()
        assert writing.save(NEW).changed
        assert not writing.save(NEW).changed
        assert not writing.save(None).changed


def test_a_player_that_never_edits_has_the_code_of_the_round_before(tmp_path: Path) -> None:
    with a_run(tmp_path) as record:
        document = no_edit(record, "ada", 1, "never edits")
        assert (document.tree, document.steps, document.attempt) == (START.tree, 0, 0)
        assert (document.spend.cost, document.diff.files, document.detail) == (0.0, 0, "never edits")
