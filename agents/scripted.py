"""An agent that follows a script: the same steps in the same rounds, whatever happens.

A script is a YAML file, `rounds` mapping a round (or `default`) to steps. A step does one thing:

    - run: python3 -m unittest        # a shell command in the codebase
    - write: main.py                  # with `content`, or `from`, a file beside the script
    - patch: |                        # a unified diff, applied with patch -p1

and may carry `thought` and `when: won | lost | drawn` (the outcome of the round before). `message` is the closing
claim.
Instead of a script, `playback` repeats what a player of another run did, tree by tree.
"""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arena.agent import Agent, AgentOptions, Brief, Budget, CommandResult, EditOutcome, Recorder, Workspace
from arena.errors import ConfigError, RecordError, boundary

if TYPE_CHECKING:
    from arena.record import Record
    from arena.repo import Repo


class ScriptStep(BaseModel):
    """One step of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    run: str | None = None
    write: str | None = None
    content: str | None = None
    source: str | None = Field(default=None, alias="from")
    patch: str | None = None
    thought: str = ""
    when: Literal["won", "lost", "drawn"] | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        if sum(part is not None for part in (self.run, self.write, self.patch)) != 1:
            raise ValueError("a step has exactly one of run, write, patch")
        if (self.write is None) != (self.content is None and self.source is None):
            raise ValueError("write goes with content or from, and they with write")
        return self


class RoundScript(BaseModel):
    """What happens in one round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: tuple[ScriptStep, ...] = ()
    message: str = ""


class Script(BaseModel):
    """A whole script."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str = ""
    rounds: dict[int | Literal["default"], RoundScript]

    def of(self, round_: int) -> RoundScript:
        """The script of `round_`."""
        return self.rounds.get(round_) or self.rounds.get("default") or RoundScript()


class Playback(BaseModel):
    """Which player of which run to repeat."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Path
    player: str


class ScriptedOptions(AgentOptions):
    """Exactly one of the two."""

    script: Path | None = Field(default=None, description="YAML file, relative to the config")
    playback: Playback | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.script is None) == (self.playback is None):
            raise ValueError("give either script or playback")
        return self


class ScriptedAgent(Agent):
    """Follows its script to the letter; a command that fails does not stop it."""

    id: ClassVar[str] = "scripted"
    Options: ClassVar[type[AgentOptions]] = ScriptedOptions
    options: ScriptedOptions

    def check(self) -> None:
        """Read the script and every file it takes content from, or find the run to play back. Raises ConfigError."""
        if self.options.playback is not None:
            _found(self.base, self.options.playback)
            return
        for round_ in self._script().rounds.values():
            for step in round_.steps:
                _content(step, self._folder())

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        """Do this round's steps, one after the other."""
        if self.options.playback is not None:
            return _play_back(self.base, self.options.playback, brief.round, workspace, budget, recorder)
        script = self._script().of(brief.round)
        for step in script.steps:
            if step.when is None or step.when == brief.last_outcome:
                budget.charge_step()
                _do(step, self._folder(), workspace, budget, recorder)
        recorder.note(script.message)
        return EditOutcome("submitted")

    def _path(self) -> Path:
        assert self.options.script is not None
        return self.base / self.options.script

    def _folder(self) -> Path:
        return self._path().parent

    def _script(self) -> Script:
        path = self._path()
        try:
            source = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"script {path}: {error.strerror}") from error
        with boundary(
            ConfigError, f"script {path}: no valid YAML"
        ):  # the parser lets many an error of Python's through
            data = yaml.safe_load(source)
        try:
            return Script.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"script {path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _content(step: ScriptStep, folder: Path) -> bytes:
    if step.source is None:
        return (step.content or "").encode()
    try:
        return (folder / step.source).read_bytes()
    except OSError as error:
        raise ConfigError(f"script file {folder / step.source}: {error.strerror}") from error


def _do(step: ScriptStep, folder: Path, workspace: Workspace, budget: Budget, recorder: Recorder) -> None:
    if step.run is not None:
        result = workspace.run(step.run, budget.step_seconds)
        recorder.step(thought=step.thought, command=step.run, result=result)
    elif step.write is not None:
        workspace.write(step.write, _content(step, folder))
        recorder.step(thought=step.thought, command=step.write, result=None, kind="write")
    else:
        patch = f"patch -p1 --no-backup-if-mismatch <<'END-OF-PATCH'\n{step.patch}\nEND-OF-PATCH"
        result = workspace.run(patch, budget.step_seconds)
        recorder.step(thought=step.thought, command=patch, result=result, kind="patch")


def _found(base: Path, source: Playback) -> "tuple[Record, Repo]":
    from arena.record import Record

    try:
        record = Record.read(base / source.run)
        return record, record.repo(source.player)
    except RecordError as error:
        raise ConfigError(f"playback of {source.player!r}: {error}") from error


def _play_back(
    base: Path, source: Playback, round_: int, workspace: Workspace, budget: Budget, recorder: Recorder
) -> EditOutcome:
    """Bring the codebase, step by step, to the trees the other player had after the same steps."""
    record, repo = _found(base, source)
    for step in record.steps(source.player, round_):
        budget.charge_step()
        result: CommandResult | None = None
        if step.tree_after != step.tree_before:
            before, after = repo.code(step.tree_before), repo.code(step.tree_after)
            gone = {entry.path for entry in before.files} - {entry.path for entry in after.files}
            if gone:
                names = " ".join(shlex.quote(os.fsdecode(path)) for path in sorted(gone))
                result = workspace.run(f"rm -rf -- {names}", budget.step_seconds)
            known = set(before.files)
            workspace.load([entry for entry in after.files if entry not in known])
        recorder.step(thought=step.thought, command=step.command, result=result, kind="playback")
    return EditOutcome("submitted", f"played back {source.player}")
