from pathlib import Path
from typing import Any

import pytest

from arena.agent import EditOutcome
from arena.edit import MAX_ATTEMPTS, EditResult, StepBudget, allowance
from arena.errors import LimitExceeded, ModelError, SandboxError
from arena.sandbox.base import SandboxSpec
from arena.sandbox.process import ProcessBackend
from tests.arena.edits import LIMITS, Does, a_run, journal, work


def step(command: str) -> Any:
    """A step of an agent: a command, charged and recorded."""

    def take(workspace: Any, budget: Any, recorder: Any) -> str:
        budget.charge_step()
        return str(recorder.step(thought="", command=command, result=workspace.run(command, budget.step_seconds)))

    return take


def steps(*commands: str, note: str = "") -> Does:
    def all_of_them(*means: Any) -> EditOutcome:
        for command in commands:
            step(command)(*means)
        means[2].note(note)
        return EditOutcome("submitted", "done")

    return Does(all_of_them)


def edited(folder: Path, agent: Does, **more: Any) -> tuple[EditResult, list[Any], dict[str, bytes]]:
    """Result, recorded steps and codebase after one edit."""
    with a_run(folder) as record:
        writing = journal(record)
        result = work(agent, writing, **more)
        writing.finish(result)
        files = {entry.path.decode(): entry.data for entry in record.repo("ada").code("main").files}
        return result, record.steps("ada", 1), files


def test_every_step_that_changed_something_is_a_commit(tmp_path: Path) -> None:
    result, recorded, files = edited(tmp_path, steps("echo 2 > new.txt", "ls", "rm old.txt; exit 3", note="all better"))
    assert (result.outcome.ended, result.steps, result.message) == ("submitted", 3, "all better")
    assert files == {"main.py": b"x = 1\n", "new.txt": b"2\n"}
    assert [each.exit_code for each in recorded] == [0, 0, 3]
    assert [each.tree_before == each.tree_after for each in recorded] == [False, True, False]
    assert [each.tree_after for each in recorded[:2]] == [each.tree_before for each in recorded[1:]]
    assert "new.txt" in recorded[1].output
    assert len({each.commit for each in recorded}) == 2


def test_a_spent_budget_ends_an_edit_cleanly(tmp_path: Path) -> None:
    def greedy(*means: Any) -> EditOutcome:
        for number in range(99):
            step(f"echo {number} > n")(*means)
        raise AssertionError("never reached")

    result, recorded, files = edited(tmp_path, Does(greedy), limits=LIMITS.model_copy(update={"steps": 3}))
    assert result.outcome == EditOutcome("limit", "all 3 steps are used")
    assert len(recorded) == 3
    assert files["n"] == b"2\n"


def test_steps_and_minutes_are_counted() -> None:
    budget = StepBudget(LIMITS.model_copy(update={"steps": 2, "step_seconds": 9.0}))
    assert budget.step_seconds == 9.0
    budget.charge_step()
    budget.charge_step()
    with pytest.raises(LimitExceeded, match="all 2 steps are used"):
        budget.charge_step()
    over = StepBudget(LIMITS.model_copy(update={"minutes": 1e-9}))
    with pytest.raises(LimitExceeded, match="1e-09 minutes are over"):
        over.charge_step()
    assert over.step_seconds == 0.1


def test_the_last_command_gets_no_more_than_the_time_that_is_left() -> None:
    assert StepBudget(LIMITS.model_copy(update={"minutes": 1 / 60, "step_seconds": 60.0})).step_seconds <= 1.0


def test_an_agent_that_raises_has_failed_and_what_it_saved_stays(tmp_path: Path) -> None:
    def broken(*means: Any) -> EditOutcome:
        step("echo saved > saved")(*means)
        raise LookupError("a bug of ours")

    result, recorded, files = edited(tmp_path, Does(broken))
    assert result.outcome == EditOutcome("failed", "agent of ada: LookupError: a bug of ours")
    assert len(recorded) == 1
    assert files["saved"] == b"saved\n"


def test_a_failing_provider_is_nobodys_loss(tmp_path: Path) -> None:
    def unanswered(*_: Any) -> EditOutcome:
        raise ModelError("overloaded")

    with pytest.raises(ModelError, match="overloaded"):
        edited(tmp_path, Does(unanswered))


def test_a_codebase_too_large_is_told_and_saved_once_it_fits(tmp_path: Path) -> None:
    told: list[str] = []

    def fat(*means: Any) -> EditOutcome:
        for command in ("head -c 9000 /dev/zero > fat", "true", "rm fat; echo 1 > slim"):
            told.append(step(command)(*means))
        return EditOutcome("submitted")

    limits = LIMITS.model_copy(update={"codebase_bytes": 1000})
    _, recorded, files = edited(tmp_path, Does(fat), limits=limits)
    assert "9010 bytes in all, 1000 are allowed; largest: 'fat' 9000 bytes" in told[0]
    assert told[1] == told[0]
    assert told[2] == ""
    assert [each.unsaved for each in recorded] == told
    assert set(files) == {"main.py", "old.txt", "slim"}


def test_names_that_git_takes_for_its_own_are_left_out(tmp_path: Path) -> None:
    _, recorded, files = edited(tmp_path, steps("echo x > 'git~1'", "rm 'git~1'; echo y > y"))
    assert recorded[0].unsaved == ""
    assert set(files) == {"main.py", "old.txt", "y"}


class Frail(ProcessBackend):
    """Its first `losses` sandboxes are lost at the second command."""

    def __init__(self, losses: int) -> None:
        self.left, self.opened = losses, 0

    def open(self, spec: SandboxSpec) -> Any:
        sandbox = super().open(spec)
        self.opened += 1
        if self.left:
            self.left -= 1
            sandbox.losing = 2
            start = sandbox.start

            def start_or_lose(*arguments: Any) -> None:
                sandbox.losing -= 1
                if not sandbox.losing:
                    sandbox._process.kill()
                    sandbox._process.wait()
                start(*arguments)

            sandbox.start = start_or_lose  # type: ignore[method-assign]
        return sandbox


def test_a_lost_sandbox_starts_the_edit_again_from_the_last_tag(tmp_path: Path) -> None:
    frail = Frail(2)
    with a_run(tmp_path) as record:
        writing = journal(record)
        result = work(steps("echo 1 >> log", "echo 2 >> log"), writing, where=frail)
        writing.finish(result)
        assert frail.opened == 3
        assert record.attempts("ada", 1) == 3
        assert [(each.attempt, each.step) for each in record.all_steps("ada", 1)] == [(1, 1), (2, 1), (3, 1), (3, 2)]
        assert [each.attempt for each in record.steps("ada", 1)] == [3, 3]
        assert record.repo("ada").code("main").get("log") == b"1\n2\n"


def test_a_sandbox_lost_every_time_pauses_the_run(tmp_path: Path) -> None:
    frail = Frail(99)
    with a_run(tmp_path) as record, pytest.raises(SandboxError, match="the sandbox is gone"):
        work(steps("true", "true"), journal(record), where=frail)
    assert frail.opened == MAX_ATTEMPTS


def test_commands_get_what_the_config_allows() -> None:
    given = allowance(LIMITS)
    assert (given.memory_mb, given.processes, given.disk_mb) == (LIMITS.memory_mb, LIMITS.processes, LIMITS.disk_mb)
    assert (given.codebase_bytes, given.codebase_files) == (LIMITS.codebase_bytes, LIMITS.codebase_files)
    assert (given.output_bytes, given.step_seconds) == (LIMITS.output_bytes, LIMITS.step_seconds)
