"""What an agent is: something that edits a codebase through a workspace, within a budget, on the record."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from arena.types import FileEntry


class AgentOptions(BaseModel):
    """Base of every agent's own settings (`options` of a player): unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Brief:
    """What the agent is told at the start of an edit phase."""

    game: str
    rules: str
    player: str
    round: int
    rounds: int
    last_outcome: Literal["won", "lost", "drawn"]
    last_result: str  # the same in one line, with figures
    invalid_reason: str  # why the last submission was invalid or forfeited; empty if it was not


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one command gave. `output`: stdout and stderr as they came, undecodable bytes replaced, bounded."""

    exit_code: int  # 128 + signal for a signal; 124 for a timeout
    output: str
    seconds: float
    timed_out: bool = False
    omitted_bytes: int = 0


class Workspace(Protocol):
    """The agent's only way to act: everything happens inside its sandbox, in its codebase."""

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run `command` in a fresh `bash` in the codebase; every process it leaves is killed. Raises SandboxError."""

    def read(self, path: str) -> bytes:
        """Content of a file of the codebase. Raises FileNotFoundError."""

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file of the codebase, with its folders. Raises SandboxError, LimitExceeded."""

    def load(self, files: Sequence[FileEntry]) -> None:
        """Create or replace several files. Raises SandboxError, LimitExceeded."""


class Budget(Protocol):
    """What is left for this edit phase."""

    def charge_step(self) -> None:
        """Account for a step that is about to run. Raises LimitExceeded when none is left or time is up."""

    @property
    def step_seconds(self) -> float:
        """Most wall seconds the next command may take."""


class Recorder(Protocol):
    """Writes the steps of an edit to the record, and commits what each changed."""

    def step(self, *, thought: str, command: str, result: CommandResult | None, kind: str = "command") -> str:
        """Record one finished step and commit the codebase if the step changed it.

        Returns what the agent should be told: "" or why this state of the codebase could not be saved.
        """

    def note(self, message: str) -> None:
        """The agent's closing message: what it claims to have done."""


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """How an edit ended, with one line of detail."""

    ended: Literal["submitted", "limit", "failed"]
    detail: str = ""


class Agent(ABC):
    """An editor of codebases. One instance a player, for the whole tournament."""

    id: ClassVar[str]
    Options: ClassVar[type[AgentOptions]] = AgentOptions
    edits: ClassVar[bool] = True  # False: never edits, needs no sandbox
    needs_bot: ClassVar[bool] = False  # True: the player's config must name the code to play

    def __init__(self, options: AgentOptions, base: Path) -> None:
        """`base`: the folder that relative paths in the options are relative to (the config file's)."""
        self.options = options
        self.base = base

    @abstractmethod
    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        """Work on the codebase until done. May raise LimitExceeded, ModelError, SandboxError."""

    def check(self) -> None:  # noqa: B027  most agents have nothing to look at
        """Look at what the options name (files, keys) before anything starts. Raises ConfigError, PrerequisiteError."""

    def cost_ceiling(self) -> float | None:
        """Most US dollars that one edit phase can cost; None if that can't be known."""
        return 0.0

    def describe(self) -> Mapping[str, str]:
        """Facts for the record: model name and the like."""
        return {}
