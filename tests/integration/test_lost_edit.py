"""The sandbox of an agent is lost in the middle of its edit: the edit starts again, or the run pauses; never a loss."""

import os
import signal
from pathlib import Path
from typing import Any, ClassVar

import pytest

from arena.agent import Agent, AgentOptions, Brief, Budget, EditOutcome, Recorder, Workspace
from arena.record import Record
from arena.sandbox.base import peer
from tests.integration.runs import Place, facts, frozen, git


class UnluckyOptions(AgentOptions):
    """How often the sandbox is killed, and where the times are counted."""

    times: int
    counter: Path


class Unlucky(Agent):
    """Loses its sandbox between its two steps, a given number of times in all."""

    id: ClassVar[str] = "unlucky"
    Options: ClassVar[type[AgentOptions]] = UnluckyOptions
    options: UnluckyOptions

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        for number in (1, 2):
            budget.charge_step()
            workspace.write(f"step-{number}", b"done")
            recorder.step(thought="", command=f"step {number}", result=None, kind="write")
            if number == 1 and self._strikes():
                os.kill(peer(workspace._sandbox._control), signal.SIGKILL)  # type: ignore[attr-defined]
        return EditOutcome("submitted")

    def _strikes(self) -> bool:
        struck = len(self.options.counter.read_bytes()) if self.options.counter.exists() else 0
        self.options.counter.write_bytes(b"x" * (struck + 1))
        return struck < self.options.times


def _config(place: Place, times: int) -> Path:
    place.bot("legal")
    options = {"times": times, "counter": str(place.path / f"struck-{times}")}
    unlucky: dict[str, Any] = {"name": "a", "agent": f"{__name__}:Unlucky", "bot": "legal", "options": options}
    return place.config([unlucky, frozen("b", "legal")], name=f"config-{times}.yaml")


def test_the_edit_starts_again_and_ends_as_if_nothing_had_been(place: Place) -> None:
    expected = facts(place.play(_config(place, 0), name="undisturbed"))
    run = place.play(_config(place, 2))
    assert facts(run) == expected
    record = Record.read(run)
    assert (record.edit("a", 1).attempt, record.edit("a", 1).ended) == (3, "submitted")
    commands = [(step.attempt, step.command) for step in record.all_steps("a", 1)]
    assert commands == [(1, "step 1"), (2, "step 1"), (3, "step 1"), (3, "step 2")], "no step after the loss"
    assert git(record, "a", "for-each-ref", "refs/attempts").count("refs/attempts/001/") >= 1
    place.arena("verify", run)


@pytest.mark.parametrize("ends_well", [True, False])
def test_lost_three_times_in_a_row_the_run_pauses_and_can_go_on(place: Place, ends_well: bool) -> None:
    run = place.play(_config(place, 3 if ends_well else 6), code=1)
    record = Record.read(run)
    assert record.run.status == "paused"
    assert "the sandbox is gone" in record.run.reason
    assert record.rounds() == [0], "nothing of the round was scored"
    said = place.arena("resume", run, code=0 if ends_well else 1)
    assert Record.read(run).run.status == ("finished" if ends_well else "paused"), said.stderr
