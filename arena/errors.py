"""The error vocabulary, the one boundary that catches broadly, and the table of outcomes."""

from dataclasses import dataclass
from types import TracebackType


class ArenaError(Exception):
    """Base of everything the arena raises on purpose. Its text is fit to show a user."""


class ConfigError(ArenaError):
    """The user's file, flag or argument is wrong."""


class PrerequisiteError(ArenaError):
    """Something this machine must have is missing: a sandbox, an engine, an image, a key."""


class LimitExceeded(ArenaError):
    """A budget of an edit phase is spent."""


class SandboxError(ArenaError):
    """A sandbox could not be made, or was lost through no fault of what ran in it."""


class ModelError(ArenaError):
    """A model provider failed after bounded retries."""


class AgentError(ArenaError):
    """Agent code of ours raised."""


class SubmissionError(ArenaError):
    """A bot is invalid, or broke the rules of play."""


class GameError(ArenaError):
    """An engine broke its own contract; results would be wrong."""


class RecordError(ArenaError):
    """A run directory is damaged, locked or of another schema."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the arena does about one kind of error."""

    exit_code: int
    meaning: str
    handling: str


OUTCOMES: dict[type[ArenaError], Outcome] = {
    ConfigError: Outcome(2, "the user's file or flag is wrong", "message only"),
    PrerequisiteError: Outcome(3, "docker, image, engine or key missing", "message and the fix"),
    LimitExceeded: Outcome(4, "budget or time spent", "clean end of the edit; the committed code plays"),
    SandboxError: Outcome(1, "a sandbox could not be made or kept", "replayed three times, then the run pauses"),
    ModelError: Outcome(1, "the provider failed after bounded retries", "the edit is retried, then the run pauses"),
    AgentError: Outcome(1, "our agent code raised", "the edit is recorded as failed; the committed code plays"),
    SubmissionError: Outcome(1, "a bot invalid, crashed, late or illegal", "scored forfeit of that seat"),
    GameError: Outcome(1, "an engine broke its own contract", "the run stops: results would be wrong"),
    RecordError: Outcome(1, "a run directory is damaged or in use", "message only; nothing is written"),
}

INTERRUPTED = 130


def exit_code(error: ArenaError) -> int:
    """Exit code of the command line for `error`; 1 for an ArenaError without an entry of its own."""
    return next((OUTCOMES[kind].exit_code for kind in type(error).__mro__ if kind in OUTCOMES), 1)


class boundary:  # a class, because the hot path enters it every turn
    """Turn whatever escapes foreign code into `error`; ArenaErrors pass unchanged.

    The one place that catches broadly: foreign code may raise anything.
    """

    __slots__ = ("_error", "_what")

    def __init__(self, error: type[ArenaError], what: str) -> None:
        self._error, self._what = error, what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, cause: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(cause, Exception) and not isinstance(cause, ArenaError):
            raise self._error(f"{self._what}: {type(cause).__name__}: {cause}") from cause
