"""One player's edit phase: open its sandbox, let its agent work, commit every step that changed the codebase."""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from arena.agent import Agent, Brief, CommandResult, EditOutcome
from arena.config import EditLimits
from arena.errors import AgentError, LimitExceeded, SandboxError, SubmissionError, boundary
from arena.sandbox.base import Backend, Mount, SandboxSpec
from arena.types import Code, FileEntry
from arena.workspace import Allowance, SandboxWorkspace

MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Saved:
    """The codebase after a step: commit and tree, 40 hex digits each; `changed`: whether the step changed it."""

    commit: str
    tree: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Step:
    """What one step was, for the journal."""

    thought: str
    command: str
    kind: str
    result: CommandResult | None
    before: str
    after: Saved
    unsaved: str


class Journal(Protocol):
    """Where an edit is written down while it happens."""

    def begin(self) -> Code:
        """Start an attempt from the last tag, keeping what an earlier attempt left; the codebase to start from."""

    def save(self, files: tuple[FileEntry, ...] | None) -> Saved:
        """Commit `files`, the whole codebase; None: nothing changed."""

    def step(self, step: Step) -> None:
        """Append a step to the record."""


@dataclass(frozen=True, slots=True)
class EditJob:
    """Everything an edit depends on."""

    agent: Agent
    brief: Brief
    limits: EditLimits
    mounts: tuple[Mount, ...]
    trusted: bool


@dataclass(frozen=True, slots=True)
class EditResult:
    """How an edit ended, what it took, and what the agent said of it."""

    outcome: EditOutcome
    steps: int
    seconds: float
    message: str


class StepBudget:
    """Steps and wall time of one edit phase."""

    def __init__(self, limits: EditLimits) -> None:
        self._limits = limits
        self._steps = 0
        self._deadline = time.monotonic() + 60 * limits.minutes

    def charge_step(self) -> None:
        """Raises LimitExceeded when no step or no time is left."""
        if self._steps >= self._limits.steps:
            raise LimitExceeded(f"all {self._limits.steps} steps are used")
        if time.monotonic() >= self._deadline:
            raise LimitExceeded(f"{self._limits.minutes:g} minutes are over")
        self._steps += 1

    @property
    def step_seconds(self) -> float:
        """Most wall seconds the next command may take."""
        return max(0.1, min(self._limits.step_seconds, self._deadline - time.monotonic()))


class StepRecorder:
    """The `Recorder` of an edit: after every step the codebase is looked at, and committed if it changed."""

    def __init__(self, workspace: SandboxWorkspace, journal: Journal, start: Saved) -> None:
        self._workspace, self._journal, self._last = workspace, journal, start
        self.steps = 0
        self.message = ""

    def step(self, *, thought: str, command: str, result: CommandResult | None, kind: str = "command") -> str:
        """Record one finished step; returns why the codebase could not be saved, or ""."""
        unsaved, before = "", self._last.tree
        try:
            files = self._workspace.snapshot()
            self._last = self._journal.save(files)
        except (LimitExceeded, SubmissionError) as error:
            unsaved = str(error)
        self.steps += 1
        self._journal.step(Step(thought, command, kind, result, before, self._last, unsaved))
        return unsaved

    def note(self, message: str) -> None:
        """The agent's closing message."""
        self.message = message


def edit(job: EditJob, backend: Backend, journal: Journal) -> EditResult:
    """Run the phase; an attempt whose sandbox is lost starts again from the last tag.

    Raises SandboxError after MAX_ATTEMPTS, ModelError as the agent raised it.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        with suppress(SandboxError):
            return _attempt(job, backend, journal)
    return _attempt(job, backend, journal)


def _attempt(job: EditJob, backend: Backend, journal: Journal) -> EditResult:
    started, code = time.monotonic(), journal.begin()
    limits = job.limits
    spec = SandboxSpec(
        purpose="work",
        label=job.brief.player,
        mounts=job.mounts,
        memory_mb=limits.memory_mb,
        processes=limits.processes,
        disk_mb=limits.disk_mb,
        trusted=job.trusted,
    )
    with backend.open(spec) as sandbox:
        workspace = SandboxWorkspace(sandbox, allowance(limits))
        workspace.load(code.files)
        recorder = StepRecorder(workspace, journal, journal.save(None))
        outcome = _work(job, workspace, recorder)
    return EditResult(outcome, recorder.steps, time.monotonic() - started, recorder.message)


def allowance(limits: EditLimits) -> Allowance:
    """What a workspace under `limits` may use."""
    return Allowance(
        limits.memory_mb,
        limits.processes,
        limits.disk_mb,
        limits.output_bytes,
        limits.codebase_bytes,
        limits.codebase_files,
        limits.step_seconds,
    )


def _work(job: EditJob, workspace: SandboxWorkspace, recorder: StepRecorder) -> EditOutcome:
    try:
        with boundary(AgentError, f"agent of {job.brief.player}"):
            return job.agent.edit(job.brief, workspace, StepBudget(job.limits), recorder)
    except LimitExceeded as error:
        return EditOutcome("limit", str(error))
    except AgentError as error:
        return EditOutcome("failed", str(error))
