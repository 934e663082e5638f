"""What stands between an agent under check and the arena: a journal in memory, a spy, a sandbox that gets lost."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from arena import tree
from arena.agent import Agent, Brief, Budget, CommandResult, EditOutcome, Recorder, Workspace
from arena.conformance.watch import watched
from arena.edit import Saved, Step
from arena.errors import LimitExceeded
from arena.sandbox.base import Backend, Isolation, Sandbox, SandboxSpec
from arena.types import Code, FileEntry


@dataclass
class Notebook:
    """A journal in memory. `on_begun` runs when an attempt has its codebase in its sandbox."""

    code: Code
    on_begun: Callable[[], None] = lambda: None
    attempts: int = 0
    trees: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def begin(self) -> Code:
        """A new attempt from the start."""
        self.attempts += 1
        self.trees, self.steps = [self.code.tree], []
        return self.code

    def save(self, files: tuple[FileEntry, ...] | None) -> Saved:
        """Remember the tree."""
        if files is None and not self.steps:
            self.on_begun()
        found = self.trees[-1] if files is None else tree.tree_hash(files)
        changed = found != self.trees[-1]
        self.trees.append(found)
        return Saved(found, found, changed)

    def step(self, step: Step) -> None:
        """Remember the step."""
        self.steps.append(step)


class Fragile(Backend):
    """Sandboxes of another backend, of which the last can be lost on purpose."""

    name = "fragile"

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self._last: list[Sandbox] = []

    def check(self) -> None:
        """As the other backend."""
        self._inner.check()

    def isolation(self) -> Isolation:
        """As the other backend."""
        return self._inner.isolation()

    def open(self, spec: SandboxSpec) -> Sandbox:
        """One of the other backend."""
        self._last = [self._inner.open(spec)]
        return self._last[0]

    def lose(self) -> None:
        """Take the running sandbox away."""
        self._last[0].close()


class Spy:
    """Workspace, budget and recorder of an edit in one: passes on to the real ones, and counts."""

    def __init__(
        self,
        workspace: Workspace,
        budget: Budget,
        recorder: Recorder,
        allowed: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._workspace, self._budget, self._recorder, self._allowed = workspace, budget, recorder, allowed
        self.charged = self.recorded = self.acted = 0
        self.uncharged: list[str] = []

    def _acts(self, what: str) -> None:
        self.acted += 1
        if self.charged <= self.recorded:
            self.uncharged.append(what)

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """As the workspace."""
        self._acts(f"run {command[:60]!r}")
        with self._allowed():
            return self._workspace.run(command, timeout)

    def read(self, path: str) -> bytes:
        """As the workspace."""
        with self._allowed():
            return self._workspace.read(path)

    def write(self, path: str, data: bytes) -> None:
        """As the workspace."""
        self._acts(f"write {path!r}")
        with self._allowed():
            self._workspace.write(path, data)

    def load(self, files: Sequence[FileEntry]) -> None:
        """As the workspace."""
        self._acts(f"load {len(files)} files")
        with self._allowed():
            self._workspace.load(files)

    def charge_step(self) -> None:
        """As the budget."""
        self._budget.charge_step()
        self.charged += 1

    @property
    def step_seconds(self) -> float:
        """As the budget."""
        return self._budget.step_seconds

    def step(self, *, thought: str, command: str, result: CommandResult | None, kind: str = "command") -> str:
        """As the recorder."""
        self.recorded += 1
        with self._allowed():
            return self._recorder.step(thought=thought, command=command, result=result, kind=kind)

    def note(self, message: str) -> None:
        """As the recorder."""
        self._recorder.note(message)


class Spied(Agent):
    """The agent under check with a spy between it and its workspace."""

    id = "spied"

    def __init__(self, inner: Agent) -> None:
        super().__init__(inner.options, inner.base)
        self._inner = inner
        self.spy: Spy | None = None
        self.seen: list[str] = []

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        """The edit of the agent under check, looked at."""
        with watched() as watch:
            self.spy = Spy(workspace, budget, recorder, watch.allowed)
            try:
                return self._inner.edit(brief, self.spy, self.spy, self.spy)
            finally:
                self.seen = list(watch.seen)


class _Spent:
    """A budget with nothing left."""

    step_seconds = 0.1

    def charge_step(self) -> None:
        raise LimitExceeded("nothing is left")


class Penniless(Agent):
    """The agent under check, with a budget that is spent from the start."""

    id = "penniless"

    def __init__(self, inner: Agent) -> None:
        super().__init__(inner.options, inner.base)
        self._inner = inner

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        """The edit of the agent under check, with nothing to spend."""
        del budget
        return self._inner.edit(brief, workspace, _Spent(), recorder)
