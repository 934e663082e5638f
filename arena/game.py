"""What a game is. Two kinds: a turn game brings a pure engine, an engine game wraps a real external engine."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from arena.types import Batch, Code, Limits, Played, Verdict

if TYPE_CHECKING:
    from arena.sandbox.base import Backend


class GameConfig(BaseModel):
    """Base of every game's settings: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Engine(Protocol):
    """One match of a turn game: pure, deterministic, all chance from one `random.Random(seed)`; no I/O.

    The referee calls, until `done`: `to_move`, `observe` for each of those seats, `illegal` for each answer, then
    `apply` with the legal answers and `forfeit` for every seat that fell out.
    """

    @property
    def done(self) -> bool:
        """True once the match is decided."""

    def to_move(self) -> Sequence[int]:
        """Seats that must answer now; simultaneous games name all that are alive."""

    def observe(self, seat: int) -> str:
        """What `seat` sees, as one line of JSON (an object, no newline)."""

    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        """Why `reply` (any JSON object) is no legal move for `seat`, or None when it is. Never raises."""

    def apply(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        """Play the legal replies of the seats that were to move; seats that fell out are absent."""

    def forfeit(self, seat: int) -> None:
        """Take `seat` out of the match: its bot is gone. Called before `apply` of the same turn."""

    def scores(self) -> Sequence[float]:
        """The game's own score by seat, higher is better; equal means tied. Meaningful once `done`."""

    def details(self) -> Mapping[str, Any]:
        """Small JSON-able facts about the end kept in the match record (causes of elimination and the like)."""

    def frame(self) -> Mapping[str, Any]:
        """JSON-able picture of the present state, enough for `board.js` and `Game.render`."""


class Game(ABC):
    """The part every game has. Instances hold their validated settings and nothing that changes."""

    id: ClassVar[str]
    version: ClassVar[str]  # bumped whenever behaviour changes; part of every rating key
    seats: ClassVar[tuple[int, ...]]  # allowed player counts
    Config: ClassVar[type[GameConfig]] = GameConfig
    limits: ClassVar[Limits] = Limits()
    batch_pairs: ClassVar[int] = 64  # most pairs of one unit of work
    folder: ClassVar[Path]  # holds rules.md, starter/, bots/, board.js, baselines.toml

    def __init__(self, config: GameConfig) -> None:
        self.config = config

    def brief(self) -> str:
        """Rules and submission contract, as the agent reads them (markdown)."""
        return (self.folder / "rules.md").read_text(encoding="utf-8")

    @property
    def starter(self) -> Path:
        """Folder of the legal but weak codebase that every player starts from."""
        return self.folder / "starter"

    def house_bots(self) -> Mapping[str, Path]:
        """Name to folder of the bots written for this project, weakest first."""
        return {path.name: path for path in sorted((self.folder / "bots").iterdir()) if path.is_dir()}

    def baselines(self) -> Mapping[str, "Baseline"]:
        """Human-written bots found on this machine, by name."""
        return {}

    def tools(self) -> Mapping[str, Path]:
        """Programs to put on the PATH of an agent's sandbox, name to file on this machine."""
        return {}

    def prerequisites(self) -> Iterable[str]:
        """One line for each thing this machine lacks to play the game, with the way to get it."""
        return ()

    @classmethod
    def setup(cls, source: Path | None) -> str:
        """Get and build what the game needs into a cache of the user's; `source` says from what. Returns what was done.

        Raises ConfigError, PrerequisiteError.
        """
        del source
        return f"{cls.id} needs no setting up"

    @abstractmethod
    def render(self, frame: Mapping[str, Any]) -> str:
        """One frame as plain text for a terminal."""


class Baseline(BaseModel):
    """A human-written bot and where it comes from. `files` maps a path in the codebase to a file on this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    author: str
    source: str
    licence: str
    title: str = ""
    year: int | None = None
    files: dict[str, Path]


class TurnGame(Game):
    """A game with a pure engine; `arena.referee` validates, plays and re-simulates it."""

    @abstractmethod
    def engine(self, seats: int, seed: int) -> Engine:
        """A new match."""


class EngineGame(Game):
    """A game whose referee is a real external engine, run in a sandbox of its own over the submissions' files."""

    @abstractmethod
    def validate(self, code: Code, backend: "Backend", limits: Limits, *, trusted: bool) -> Verdict:
        """Whether `code` may play, found out with the real engine under match settings. Raises SandboxError."""

    @abstractmethod
    def play(self, batch: Batch, backend: "Backend") -> Iterator[Played]:
        """Play every pair of `batch` in all rotations, in order, yielding matches as they finish.

        Raises SandboxError when the engine's sandbox is lost; matches not yielded by then are replayed.
        """

    @abstractmethod
    def frames(self, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Frames of a recorded replay (`Outcome.replay`), first to last; the last has the `scores` by seat."""
