"""Plays matches now, between codes given by reference, without a tournament around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena import codes, compete, schedule, scoring
from arena.documents import MatchRecord, MatchupResult, match_record
from arena.errors import ConfigError, SubmissionError
from arena.executor.base import Executor
from arena.game import Game
from arena.listener import Listener
from arena.types import Batch, Code, Played


@dataclass(frozen=True, slots=True)
class Duel:
    """What to play: `references` as in `arena.codes.resolve`, in seat order of rotation 0; `name` finds the game."""

    name: str
    game: Game
    references: tuple[str, ...]
    matches: int
    seed: int
    kept: bool
    trusted: bool


def play(duel: Duel, sandbox: str, executor: Executor, listener: Listener) -> tuple[MatchupResult, list[MatchRecord]]:
    """Every match and what comes of them. Raises ConfigError, SubmissionError, SandboxError."""
    seats = len(duel.references)
    if seats not in duel.game.seats:
        raise ConfigError(f"{duel.game.id} takes {', '.join(map(str, duel.game.seats))} players, not {seats}")
    if duel.matches % seats:
        raise ConfigError(
            f"-n {duel.matches}: give a multiple of {seats}: every seed is played in all {seats} seat orders"
        )
    template = _template(duel, sandbox, executor)
    pairs = schedule.pairs(duel.seed, 0, 0, duel.matches // seats)
    found: list[MatchRecord] = []

    def keep(batch: Batch, played: Sequence[Played]) -> None:
        found.extend(match_record(batch, each) for each in played if each.outcome is not None)

    listener.phase(0, "compete")
    listener.planned(duel.matches, 0)
    size = compete.batch_size(len(pairs), duel.game.batch_pairs)
    compete.run_batches(compete.batches_of(template, pairs, size), executor, listener, keep)
    found.sort(key=lambda match: (match.pair, match.rotation))
    return scoring.matchup_result(template.players, found, len(pairs)), found


def _template(duel: Duel, sandbox: str, executor: Executor) -> Batch:
    limits, config = duel.game.limits, duel.game.config.model_dump(mode="json")
    given = [codes.resolve(duel.game, reference, Path()) for reference in duel.references]
    futures = [executor.submit(compete.prepare, duel.name, config, c, limits, sandbox, duel.trusted) for c in given]
    ready: list[Code] = []
    for reference, future in zip(duel.references, futures, strict=True):
        prepared = future.result()
        if prepared.code is None:
            raise SubmissionError(f"{reference} is no valid submission: {prepared.verdict.reason}")
        ready.append(prepared.code)
    return Batch(
        game=duel.name,
        game_config=config,
        round=0,
        matchup=0,
        players=_names(duel.references),
        codes=tuple(ready),
        trusted=(duel.trusted,) * len(ready),
        pairs=(),
        limits=limits,
        hosting="kept" if duel.kept else "fresh",
        sandbox=sandbox,
    )


def _names(references: Sequence[str]) -> tuple[str, ...]:
    """The references, told apart where one is given twice."""
    return tuple(
        f"{name} ({references[: index + 1].count(name)})" if references.count(name) > 1 else name
        for index, name in enumerate(references)
    )
