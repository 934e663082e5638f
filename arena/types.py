"""Values that pass between the layers. Plain data: no I/O, no behaviour beyond small derivations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

FileKind = Literal["file", "executable", "symlink"]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a codebase. `path` is relative, with `/` between parts; `data` is a link's target for symlinks."""

    path: bytes
    kind: FileKind
    data: bytes


@dataclass(frozen=True, slots=True)
class Code:
    """A codebase by value: its git tree hash (40 hex digits) and the files that make it."""

    tree: str
    files: tuple[FileEntry, ...]

    def get(self, path: str) -> bytes | None:
        """Content of the regular file at `path`, or None."""
        wanted = path.encode()
        return next((f.data for f in self.files if f.path == wanted and f.kind != "symlink"), None)


NO_CODE = Code("", ())  # stands for a player without valid code


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a submission may play; `reason` is one line for the agent that wrote it."""

    valid: bool
    reason: str = ""


FaultKind = Literal[
    "crash",  # the bot's process ended: exception, signal, exit
    "move_timeout",  # more CPU time than one move may take
    "match_timeout",  # more CPU time than the bank of the whole match
    "start_timeout",  # no first answer in time
    "silence",  # no answer by the wall-clock backstop, though little CPU was used
    "illegal_move",
    "oversize",  # a line longer than the protocol allows
    "not_json",  # a line that is no JSON object, not UTF-8, or not asked for
    "closed_pipe",  # the bot closed its end and lived on
    "invalid_submission",
    "rejected",  # an engine refused the bot's code (assembly error and the like)
]
TIMEOUTS: frozenset[FaultKind] = frozenset({"move_timeout", "match_timeout", "start_timeout", "silence"})


@dataclass(frozen=True, slots=True)
class Fault:
    """What one seat did wrong, and when. `cpu_seconds` and `wall_seconds` are of the move at fault."""

    seat: int
    kind: FaultKind
    detail: str = ""
    turn: int = 0
    cpu_seconds: float | None = None
    wall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One played match as the game tells it; all sequences are by seat.

    `scores` are the game's own numbers, higher is better. `state_hash` is a SHA-256 over everything that
    decided the match, equal for equal (game version, config, code, seats, seed). `replay` is the raw material of
    `Game.replay`, JSON-able, or None where it was not asked for.
    """

    scores: tuple[float, ...]
    turns: int
    state_hash: str
    faults: tuple[Fault, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    cpu_seconds: tuple[float | None, ...] = ()
    stderr: tuple[str, ...] = ()
    replay: Mapping[str, Any] | None = None


def ranks_of(scores: Sequence[float], faults: Sequence[Fault] = ()) -> tuple[int, ...]:
    """Ranks by seat, 1 is best, ties share a rank.

    The one place that decides who beat whom: higher score first; a seat at fault stands below every seat that is
    not, and among seats at fault the later fault stands higher.
    """
    fault_turn = {f.seat: f.turn for f in faults}
    keys = [(0, fault_turn[s]) if s in fault_turn else (1, score) for s, score in enumerate(scores)]
    return tuple(1 + sum(other > key for other in keys) for key in keys)


def points_of(ranks: Sequence[int]) -> tuple[float, ...]:
    """Match points by seat: the share of opponents beaten, a draw counting half. A lone seat gets 1 for rank 1."""
    others = len(ranks) - 1
    if others == 0:
        return (1.0,)
    return tuple(
        sum((r < o) + 0.5 * (r == o) for j, o in enumerate(ranks) if j != i) / others for i, r in enumerate(ranks)
    )


def winner_of(ranks: Sequence[int]) -> int | None:
    """Seat of the sole best rank; None for a draw of the best."""
    best = [seat for seat, rank in enumerate(ranks) if rank == 1]
    return best[0] if len(best) == 1 else None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one bot may use. Seconds of CPU time unless the name says wall."""

    move_seconds: float = 0.1
    match_seconds: float = 10.0
    start_seconds: float = 5.0
    wall_factor: float = 10.0  # wall-clock backstop = factor x CPU limit, at least 2 s more than it
    memory_mb: int = 1024
    threads: int = 16
    reply_bytes: int = 8_192
    replies_bytes: int = 1_048_576  # of one seat in one match, together
    stderr_bytes: int = 16_384


@dataclass(frozen=True, slots=True)
class Pair:
    """The unit of scheduling: one seed, played once in every cyclic rotation of the seats."""

    index: int
    seed: int


@dataclass(frozen=True, slots=True)
class Batch:
    """A unit of work: some pairs of one matchup. `players` are in matchup order; rotation k puts
    player (seat + k) % n on a seat. `replays`: pair indices below it keep a replay."""

    game: str
    game_config: Mapping[str, Any]
    round: int
    matchup: int
    players: tuple[str, ...]
    codes: tuple[Code, ...]
    trusted: tuple[bool, ...]
    pairs: tuple[Pair, ...]
    limits: Limits
    hosting: Literal["fresh", "kept"] = "fresh"
    sandbox: str = "bubblewrap"
    replays: int = 0
    absent: Mapping[str, str] = field(default_factory=dict)  # players without valid code, and why: they forfeit


@dataclass(frozen=True, slots=True)
class Played:
    """One match of a batch: which pair and rotation, and what came of it. `outcome` None: void, with the reason."""

    pair: int
    rotation: int
    seed: int
    outcome: Outcome | None
    hosting: Literal["fresh", "kept", "engine"]
    wall_seconds: float
    void: str = ""  # why our side spoilt it
    rechecked: bool = False  # a timeout, judged again alone on an idle machine


def seat_order(players: int, rotation: int) -> tuple[int, ...]:
    """Player index on each seat under `rotation`."""
    return tuple((seat + rotation) % players for seat in range(players))
