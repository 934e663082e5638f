"""Small true documents for tests of the record."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from arena import schedule
from arena.documents import (
    DiffSummary,
    EditDocument,
    LockDocument,
    MatchRecord,
    RoundDocument,
    RunDocument,
    Spend,
    StepDocument,
    Submission,
    Totals,
    match_record,
)
from arena.record import Record, RecordWriter
from arena.scoring import matchup_result, round_result
from arena.types import Batch, Code, Fault, Limits, Outcome, Pair, Played

SEED = 7
TREE = "a" * 40


def batch(pairs: Sequence[Pair], players: Sequence[str] = ("ada", "bob"), round_: int = 0, matchup: int = 0) -> Batch:
    codes = tuple(Code(f"{index:040x}", ()) for index in range(len(players)))
    trusted = (True,) * len(players)
    return Batch("chess", {}, round_, matchup, tuple(players), codes, trusted, tuple(pairs), Limits())


def outcome(scores: Sequence[float], faults: Iterable[Fault] = (), **more: Any) -> Outcome:
    seats = len(scores)
    plain = {"turns": 9, "state_hash": "f" * 64, "cpu_seconds": (0.1,) * seats, "stderr": ("",) * seats}
    return Outcome(tuple(scores), faults=tuple(faults), **plain | more)


def record_of(of: Batch, pair: Pair, rotation: int, result: Outcome, voids: int = 0, **more: Any) -> MatchRecord:
    return match_record(of, Played(pair.index, rotation, pair.seed, result, "fresh", 0.5, **more), voids)


def whole_batch(of: Batch, strength: Sequence[float] = (1, 0), **more: Any) -> list[MatchRecord]:
    """Every match of `of`; the score of a player is its `strength`."""
    size = len(of.players)
    return [
        record_of(of, pair, turn, outcome([strength[(seat + turn) % size] for seat in range(size)], **more))
        for pair in of.pairs
        for turn in range(size)
    ]


def pairs(count: int, round_: int = 0, matchup: int = 0) -> tuple[Pair, ...]:
    return schedule.pairs(SEED, round_, matchup, count)


def run_document(status: Any = "running", players: Sequence[str] = ("ada", "bob"), **more: Any) -> RunDocument:
    plain = {
        "game": "chess",
        "players": tuple(players),
        "rounds_planned": 3,
        "rounds_done": -1,
        "winner": None,
        "totals": Totals(cost=None, tokens=0, matches=0, wall_seconds=0),
        "ratings": {},
        "started": "2026-01-01T00:00:00+00:00",
        "updated": "2026-01-01T00:00:00+00:00",
    }
    return RunDocument(status=status, **plain | more)


def lock_document() -> LockDocument:
    return LockDocument(
        game="chess",
        game_version="1",
        arena_version="0",
        python="3.11",
        platform="linux",
        packages={},
        git_commit=None,
        images={},
        isolation={"network": True},
        prompt_hashes={},
        argv=("arena", "run"),
    )


def create(results: Path, output: Path | None = None, **more: Any) -> RecordWriter:
    config = {"seed": SEED, "rounds": 3, "players": [{"name": "ada"}, {"name": "bob"}]}
    return Record.create(
        results, source=b"seed: 7\n", config=config, lock=lock_document(), run=run_document(**more), output=output
    )


def round_document(matches: Sequence[MatchRecord], round_: int = 0, planned: int | None = None) -> RoundDocument:
    players = ("ada", "bob")
    count = len(matches) // 2 if planned is None else planned
    result = round_result(players, matches)
    return RoundDocument(
        round=round_,
        matchups=(matchup_result(players, matches, count),),
        submissions={name: Submission(tree=TREE, commit=TREE, valid=True) for name in players},
        edits={},
        winner=result.winner,
        decisive=result.decisive,
        standings=dict(result.standings),
        ratings={},
        wall_seconds=1.0,
    )


def step(player: str, number: int, round_: int = 1, attempt: int = 1, **more: Any) -> StepDocument:
    plain = {
        "thought": "try",
        "command": "ls",
        "kind": "command",
        "exit_code": 0,
        "output": "x" * 300,
        "seconds": 0.1,
        "timed_out": False,
        "omitted_bytes": 0,
        "tokens": 0,
        "cost": 0.0,
        "tree_before": TREE,
        "tree_after": TREE,
        "commit": TREE,
        "unsaved": "",
        "time": "2026-01-01T00:00:00+00:00",
    }
    return StepDocument(player=player, round=round_, attempt=attempt, step=number, **plain | more)


def edit_document(player: str, round_: int = 1, attempt: int = 1) -> EditDocument:
    return EditDocument(
        player=player,
        round=round_,
        attempt=attempt,
        ended="submitted",
        detail="",
        message="done",
        steps=1,
        seconds=1.0,
        spend=Spend(tokens=0, cost=None),
        commit=TREE,
        tree=TREE,
        diff=DiffSummary(files=1, added=2, deleted=0, binary=0),
    )
