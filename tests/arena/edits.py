"""What tests of editing share: a run with one player's codebase in it, and the means to edit it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arena import tree
from arena.agent import Agent, AgentOptions, Brief, EditOutcome
from arena.config import EditLimits
from arena.edit import EditJob, EditResult, edit
from arena.journal import RecordJournal
from arena.listener import Listener
from arena.record import RecordWriter
from arena.repo import Repo
from arena.sandbox.base import Backend, SandboxSpec
from arena.sandbox.process import ProcessBackend
from arena.types import Code, FileEntry
from arena.workspace import Allowance, SandboxWorkspace
from tests.arena.samples import create

START = tree.code_of([FileEntry(b"main.py", "file", b"x = 1\n"), FileEntry(b"old.txt", "file", b"old\n")])
LIMITS = EditLimits(steps=20, minutes=2, step_seconds=5)
ALLOWANCE = Allowance(
    memory_mb=512,
    processes=64,
    disk_mb=16,
    output_bytes=4096,
    codebase_bytes=100_000,
    codebase_files=20,
    step_seconds=5.0,
)
Work = Callable[..., EditOutcome]


class Does(Agent):
    """An agent that does what it was made with."""

    id = "does"

    def __init__(self, work: Work) -> None:
        super().__init__(AgentOptions(), Path())
        self._work = work

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        return self._work(workspace, budget, recorder)


def brief(round_: int = 1, last_outcome: str = "lost") -> Brief:
    return Brief("guess", "no rules", "ada", round_, 3, last_outcome, "lost 0 to 1", "")  # type: ignore[arg-type]


def a_run(folder: Path, start: Code = START) -> RecordWriter:
    """A run in which ada's codebase is tagged for round 0."""
    record = create(folder)
    record.player_folder("ada").mkdir(parents=True, exist_ok=True)
    repo = Repo.create(record.repo_path("ada"))
    repo.commit(start.files, "round 0", 0)
    repo.tag(0)
    return record


def journal(record: RecordWriter, round_: int = 1, listener: Listener | None = None) -> RecordJournal:
    return RecordJournal(record, "ada", round_, listener or Listener())


def work(
    agent: Agent,
    to: RecordJournal,
    told: Brief | None = None,
    limits: EditLimits = LIMITS,
    where: Backend | None = None,
) -> EditResult:
    return edit(EditJob(agent, told or brief(), limits, (), True), where or ProcessBackend(), to)


@contextmanager
def a_workspace(where: Backend, allowance: Allowance = ALLOWANCE) -> Iterator[SandboxWorkspace]:
    """An empty workspace."""
    spec = SandboxSpec("work", "test", memory_mb=allowance.memory_mb, disk_mb=allowance.disk_mb, trusted=True)
    with where.open(spec) as sandbox:
        yield SandboxWorkspace(sandbox, allowance)
