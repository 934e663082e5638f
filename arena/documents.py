"""What is on disk, document by document: strict JSON with a `schema_version`, unknown keys refused."""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from arena import SCHEMA_VERSION
from arena.errors import GameError
from arena.types import Batch, Fault, FaultKind, Outcome, Played, points_of, ranks_of, seat_order, winner_of

STDERR_CHARACTERS = 4_096
DETAIL_CHARACTERS = 2_000
Hosting = Literal["fresh", "kept", "engine", "none"]


def _clean(value: Any) -> Any:
    """Text that UTF-8 can hold: what bots and models wrote may have lone surrogates."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    """`value` as strict JSON knows it. Raises ValueError."""
    if isinstance(value, Mapping):
        return {_clean(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no JSON")
    if value is None or isinstance(value, str | int | float):
        return _clean(value)
    raise ValueError(f"{type(value).__name__} is no JSON")


Text = Annotated[str, BeforeValidator(_clean)]
JsonObject = Annotated[dict[str, Any], BeforeValidator(_plain)]
Rank = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """Base of what stands inside a document: frozen, unknown keys refused, finite numbers only."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Document(Part):
    """Base of every document and of every line of a JSONL file."""

    schema_version: Literal[SCHEMA_VERSION] = SCHEMA_VERSION  # type: ignore[valid-type]


class Rating(Part):
    """A TrueSkill belief: mean and standard deviation of a player's strength."""

    mu: float
    sigma: float = Field(gt=0)


class Spend(Part):
    """What model calls took. `cost` in US dollars; None: unknown, never 0."""

    tokens: Count
    cost: float | None


class SeatFault(Part):
    """What one player did wrong in a match; seconds are of the move at fault."""

    seat: Count
    player: Text
    kind: FaultKind
    detail: Text
    turn: Count
    cpu_seconds: float | None
    wall_seconds: float | None


class MatchRecord(Document):
    """One match. All sequences are by seat; `seats` are the players' names."""

    match_id: str
    round: Count
    matchup: Count
    pair: Count
    rotation: Count
    seed: Count
    batch: tuple[int, int]  # first and last pair of the batch it was played in: what `kept` hosting repeats exactly
    seats: tuple[Text, ...]
    scores: tuple[float, ...]
    ranks: tuple[Rank, ...]
    points: tuple[Share, ...]
    winner: Text | None
    termination: FaultKind | Literal["completed"]
    faults: tuple[SeatFault, ...]
    turns: Count
    state_hash: str
    hosting: Hosting
    wall_seconds: float
    cpu_seconds: tuple[float | None, ...]
    rechecked: bool
    voids: Count
    stderr: tuple[Text, ...]
    replay: bool
    details: JsonObject


class PartDocument(Document):
    """One batch of matches as it was finished; joined with its like when the round closes."""

    matches: Annotated[tuple[MatchRecord, ...], Field(min_length=1)]


class Standing(Part):
    """One player's matches of a matchup. `low` and `high` bound the share of match points, 95 %, over pairs."""

    share: Share | None  # None: no match
    low: Share
    high: Share
    mean_rank: float | None  # tied ranks averaged: a draw of two is 1.5 for both


class MatchupResult(Document):
    """All matches of the same players in one round. planned = played + spoilt + missing."""

    players: tuple[Text, ...]
    planned: Count
    played: Count  # on the board or forfeited: all that is scored
    spoilt: Count  # void to the last, by our fault
    missing: Count  # never came to a result
    voids: Count  # attempts of the played matches that were spoilt before one counted
    draws: Count
    forfeits: dict[Text, dict[FaultKind, Count]]
    standings: dict[Text, Standing]


class Submission(Part):
    """A codebase at a round."""

    tree: str
    commit: str
    valid: bool
    reason: Text = ""


class DiffSummary(Part):
    """How much an edit changed. Lines are of text files."""

    files: Count
    added: Count
    deleted: Count
    binary: Count


class EditDocument(Document):
    """A finished edit: players/<name>/NNN.edit.json. Once it is there the edit is never done again."""

    player: Text
    round: Count
    attempt: Count
    ended: Literal["submitted", "limit", "failed"]
    detail: Text
    message: Text  # what the agent claims to have done
    steps: Count
    seconds: float
    spend: Spend  # of all attempts
    commit: str
    tree: str
    diff: DiffSummary


class RoundDocument(Document):
    """rounds/NNN/round.json; writing it is what makes a round a fact."""

    round: Count
    matchups: tuple[MatchupResult, ...]
    submissions: dict[Text, Submission]
    edits: dict[Text, EditDocument]
    winner: Text | None
    decisive: bool
    standings: dict[Text, Rank]  # by place, ties share one; empty: nothing was played
    ratings: dict[Text, Rating]  # after this round
    wall_seconds: float


class Totals(Part):
    """Sums over the run. `cost` in US dollars; None: unknown."""

    cost: float | None
    tokens: Count
    matches: Count
    wall_seconds: float


class RunDocument(Document):
    """run.json: where the run stands. Rewritten atomically; all that listings need."""

    status: Literal["running", "paused", "finished"]
    reason: Text = ""  # why it is paused
    game: str
    players: tuple[Text, ...]
    rounds_planned: Count  # after round 0
    rounds_done: int = Field(ge=-1)  # last closed round; -1: none
    winner: Text | None
    totals: Totals
    ratings: dict[Text, Rating]
    started: str  # ISO 8601, UTC
    updated: str


class LockDocument(Document):
    """lock.json: everything that decides a run and is not in its config."""

    game: str
    game_version: str
    arena_version: str
    python: str
    platform: str
    packages: dict[str, str]
    git_commit: str | None
    images: dict[str, str]  # name to digest
    isolation: JsonObject
    prompt_hashes: dict[str, str]
    argv: tuple[Text, ...]


class StepDocument(Document):
    """One line of players/<name>/NNN.steps.jsonl: an action of an agent and what it returned."""

    player: Text
    round: Count
    attempt: Rank
    step: Count
    thought: Text
    command: Text
    kind: str
    exit_code: int | None
    output: Text
    seconds: float
    timed_out: bool
    omitted_bytes: Count
    tokens: Count
    cost: float | None
    tree_before: str
    tree_after: str
    commit: str
    unsaved: Text  # why this state of the codebase could not be committed
    time: str


class LedgerDocument(Document):
    """One line of players/<name>/ledger.jsonl: money and tokens spent, never taken back."""

    round: Count
    attempt: Rank
    what: Text
    tokens: Count
    cost: float | None
    time: str


def total(spends: Iterable[Spend]) -> Spend:
    """Sum of `spends`; the cost is unknown if one of them is."""
    parts = list(spends)
    costs = [part.cost for part in parts if part.cost is not None]
    return Spend(tokens=sum(part.tokens for part in parts), cost=sum(costs, 0.0) if len(costs) == len(parts) else None)


def match_id(round_: int, matchup: int, pair: int, rotation: int) -> str:
    """Name of a match within its run, for example 003-01-0007-1."""
    return f"{round_:03d}-{matchup:02d}-{pair:04d}-{rotation}"


def match_record(batch: Batch, played: Played, voids: int = 0) -> MatchRecord:
    """The record of a match that came to a result, after `voids` attempts that did not.

    Raises GameError for numbers that no result may have, such as NaN.
    """
    if played.outcome is None:
        raise GameError(f"pair {played.pair} rotation {played.rotation} is void ({played.void}); a void has no record")
    outcome = played.outcome
    seats = tuple(batch.players[player] for player in seat_order(len(batch.players), played.rotation))
    ranks = ranks_of(outcome.scores, outcome.faults)
    winner = winner_of(ranks)
    name = match_id(batch.round, batch.matchup, played.pair, played.rotation)
    try:
        return MatchRecord(
            match_id=name,
            round=batch.round,
            matchup=batch.matchup,
            pair=played.pair,
            rotation=played.rotation,
            seed=played.seed,
            batch=(batch.pairs[0].index, batch.pairs[-1].index),
            seats=seats,
            ranks=ranks,
            points=points_of(ranks),
            winner=None if winner is None else seats[winner],
            termination=_termination(outcome.faults, len(seats)),
            faults=tuple(_seat_fault(fault, seats) for fault in outcome.faults),
            hosting=played.hosting,
            wall_seconds=played.wall_seconds,
            rechecked=played.rechecked,
            voids=voids,
            **_told(outcome),
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise GameError(f"match {name} of {batch.game}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _told(outcome: Outcome) -> dict[str, Any]:
    return {
        "scores": outcome.scores,
        "turns": outcome.turns,
        "state_hash": outcome.state_hash,
        "cpu_seconds": outcome.cpu_seconds or (None,) * len(outcome.scores),
        "stderr": tuple(
            _head_and_tail(text, STDERR_CHARACTERS) for text in outcome.stderr or ("",) * len(outcome.scores)
        ),
        "replay": outcome.replay is not None,
        "details": outcome.details,
    }


def _termination(faults: tuple[Fault, ...], seats: int) -> FaultKind | Literal["completed"]:
    """The last fault, where faults left fewer than two players (of a solo match: none) to play on."""
    standing = seats - len({fault.seat for fault in faults})
    if not faults or standing > 1:
        return "completed"
    return max(faults, key=lambda fault: fault.turn).kind


def _seat_fault(fault: Fault, seats: tuple[str, ...]) -> SeatFault:
    return SeatFault(
        seat=fault.seat,
        player=seats[fault.seat],
        kind=fault.kind,
        detail=_head_and_tail(fault.detail, DETAIL_CHARACTERS),
        turn=fault.turn,
        cpu_seconds=fault.cpu_seconds,
        wall_seconds=fault.wall_seconds,
    )


def _head_and_tail(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
