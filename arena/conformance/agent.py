"""The suite for agents: they act through their workspace alone, and end cleanly whatever happens to it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena import registry, tree
from arena.agent import Agent, Brief
from arena.config import EditLimits
from arena.conformance.check import Check, Omitted, Probe, demand, perform
from arena.conformance.stand_ins import Fragile, Notebook, Penniless, Spied
from arena.edit import MAX_ATTEMPTS, EditJob, EditResult, edit
from arena.errors import AgentError, ConfigError, SandboxError
from arena.sandbox.base import Backend
from arena.types import Code, FileEntry

_LIMITS = EditLimits(steps=50, minutes=5)
_ENDINGS = {"submitted", "limit"}
_UNKNOWN = "no_option_of_any_agent"
_CODE = tree.code_of([FileEntry(b"main.py", "file", b"def move(state):\n    return {}\n")])
_BRIEF = Brief("conformance", "There are no rules.", "conformance", 1, 1, "lost", "lost 0 to 1", "")


@dataclass(frozen=True)
class Subject:
    """The agent under check, how it is made, and what it is made to edit."""

    cls: type[Agent]
    options: Mapping[str, Any]
    base: Path
    backend: Backend
    code: Code

    def make(self) -> Agent:
        """A new agent. Raises ConfigError where its options are wrong, PrerequisiteError."""
        try:
            options = self.cls.Options.model_validate(dict(self.options))
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"{'.'.join(map(str, ('options', *first['loc'])))}: {first['msg']}") from error
        agent = self.cls(options, self.base)
        agent.check()
        return agent


def check_agent(
    name: str,
    backend: Backend,
    options: Mapping[str, Any] | None = None,
    *,
    base: Path = Path(),
    code: Code = _CODE,
) -> Iterator[Check]:
    """Carry out the suite on the agent called `name` in sandboxes of `backend`.

    `options`: as in a player's config, with paths relative to `base`; without them, what an agent that can't do
    without is not checked for, and the check says so. `code`: the codebase it gets to edit.
    Raises ConfigError, PrerequisiteError before it starts.
    """
    subject = Subject(registry.agent_class(name), options or {}, base, backend, code)
    if options is not None:
        subject.make()
    backend.check()
    yield from perform(_probes(subject), blame=AgentError)


def _probes(subject: Subject) -> list[Probe]:
    always: tuple[tuple[str, Callable[[Subject], str]], ...] = (
        ("unknown options refused", unknown_options),
        ("describes itself", describes_itself),
    )
    editing: tuple[tuple[str, Callable[[Subject], str]], ...] = (
        ("an edit ends", edit_ends),
        ("acts through its workspace alone", acts_through_workspace),
        ("accounts for its steps", accounts_for_steps),
        ("a spent budget ends it cleanly", budget_spent),
        ("a lost sandbox is tried again", sandbox_lost_once),
        ("a sandbox lost every time is our fault", sandbox_lost_always),
    )
    probes: list[Probe] = [(name, partial(check, subject)) for name, check in always]
    return probes + [(name, partial(_edits, subject, check)) for name, check in editing]


def _edits(subject: Subject, check: Callable[[Subject], str]) -> str:
    """`check`, where the agent edits and can be made."""
    if not subject.cls.edits:
        raise Omitted("it never edits")
    try:
        subject.make()
    except ConfigError as error:
        raise Omitted(f"it needs options to be tried with: {error}") from error
    return check(subject)


def unknown_options(subject: Subject) -> str:
    """A misspelt option is an error, not a default."""
    try:
        subject.cls.Options.model_validate({**subject.options, _UNKNOWN: 1})
    except ValidationError as error:
        named = [each for each in error.errors() if _UNKNOWN in each["loc"]]
        demand(named, f"refused, but not for the unknown key: {error.errors()[0]['msg']}")
        return str(named[0]["msg"])
    raise AgentError(f"its options accept the unknown key {_UNKNOWN}")


def describes_itself(subject: Subject) -> str:
    """Facts for the record are text."""
    demand(isinstance(subject.cls.id, str) and subject.cls.id, "it has no id")
    try:
        facts = subject.make().describe()
    except ConfigError as error:
        raise Omitted(f"it needs options to be tried with: {error}") from error
    odd = {key: value for key, value in facts.items() if not (isinstance(key, str) and isinstance(value, str))}
    demand(not odd, f"facts must be text to text, not {odd}")
    return f"{subject.cls.id}: {dict(facts)}"


def _edit(subject: Subject, journal: Notebook, backend: Backend, limits: EditLimits = _LIMITS) -> EditResult:
    return edit(EditJob(subject.make(), _BRIEF, limits, (), trusted=True), backend, journal)


def edit_ends(subject: Subject) -> str:
    """With an ample budget it ends by itself or at a limit, and what it did is on record step by step."""
    journal = Notebook(subject.code)
    result = _edit(subject, journal, subject.backend)
    demand(result.outcome.ended in _ENDINGS, f"it ended as {result.outcome.ended}: {result.outcome.detail}")
    demand(journal.attempts == 1, f"it took {journal.attempts} attempts")
    gaps = [
        i for i, (a, b) in enumerate(zip(journal.steps, journal.steps[1:], strict=False)) if a.after.tree != b.before
    ]
    demand(not gaps, f"step {gaps[:1]} changed the codebase without being recorded")
    return f"{result.outcome.ended} after {result.steps} steps, {result.seconds:.1f} s"


def _spied(subject: Subject) -> Spied:
    agent = Spied(subject.make())
    edit(EditJob(agent, _BRIEF, _LIMITS, (), trusted=True), subject.backend, Notebook(subject.code))
    return agent


def acts_through_workspace(subject: Subject) -> str:
    """While it edits, nothing of this machine is written, started or removed but through the workspace."""
    agent = _spied(subject)
    demand(not agent.seen, f"it went around its workspace: {'; '.join(agent.seen[:5])}")
    return f"{agent.spy.acted if agent.spy else 0} actions, all of them inside"


def accounts_for_steps(subject: Subject) -> str:
    """Every action was charged before, and every charged step is recorded after."""
    agent = _spied(subject)
    spy = agent.spy
    if spy is None:
        raise AgentError("its edit was never begun")
    demand(not spy.uncharged, f"not charged to its budget: {'; '.join(spy.uncharged[:5])}")
    demand(spy.recorded <= spy.charged, f"{spy.recorded} steps are recorded, {spy.charged} were charged")
    demand(spy.acted == 0 or spy.recorded > 0, f"none of its {spy.acted} actions is recorded")
    return f"{spy.charged} steps charged, {spy.recorded} recorded"


def budget_spent(subject: Subject) -> str:
    """With one step, and with none, it ends as `limit` or by itself, never as failed, and does no more than it may."""
    journal = Notebook(subject.code)
    result = _edit(subject, journal, subject.backend, EditLimits(steps=1, minutes=5))
    demand(result.outcome.ended in _ENDINGS, f"one step: it ended as {result.outcome.ended}: {result.outcome.detail}")
    demand(result.steps <= 1, f"one step: it took {result.steps}")
    journal = Notebook(subject.code)
    job = EditJob(Penniless(subject.make()), _BRIEF, _LIMITS, (), trusted=True)
    none = edit(job, subject.backend, journal)
    demand(none.outcome.ended in _ENDINGS, f"no step: it ended as {none.outcome.ended}: {none.outcome.detail}")
    demand(none.steps == 0, f"no step: it took {none.steps}")
    return f"{result.outcome.ended} ({result.outcome.detail})"


def sandbox_lost_once(subject: Subject) -> str:
    """The first sandbox is lost right after the start: the edit begins again from the last tag and ends as it would."""
    undisturbed = Notebook(subject.code)
    wanted = _edit(subject, undisturbed, subject.backend)
    if not undisturbed.steps:
        raise Omitted("it takes no step here, so it never meets its sandbox")
    backend = Fragile(subject.backend)
    journal = Notebook(subject.code)
    journal.on_begun = lambda: backend.lose() if journal.attempts == 1 else None
    result = _edit(subject, journal, backend)
    demand(journal.attempts == 2, f"{journal.attempts} attempts: the loss was taken for something else")
    demand(
        result.outcome.ended == wanted.outcome.ended, f"it ended as {result.outcome}, undisturbed as {wanted.outcome}"
    )
    return f"{result.outcome.ended} at the second attempt"


def sandbox_lost_always(subject: Subject) -> str:
    """A SandboxError goes through the agent to where it is counted, and comes out after the last attempt."""
    if not _steps_of(subject):
        raise Omitted("it takes no step here, so it never meets its sandbox")
    backend = Fragile(subject.backend)
    journal = Notebook(subject.code, on_begun=backend.lose)
    try:
        result = _edit(subject, journal, backend)
    except SandboxError as error:
        demand(journal.attempts == MAX_ATTEMPTS, f"given up after {journal.attempts} attempts")
        return f"{MAX_ATTEMPTS} attempts, then: {error}"
    raise AgentError(f"it hid the loss of its sandbox and ended as {result.outcome.ended}")


def _steps_of(subject: Subject) -> int:
    return _edit(subject, Notebook(subject.code), subject.backend).steps
