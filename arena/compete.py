"""The competition phase of a round: validate the submissions, play the batches, judge timeouts again, score.

The two units of work, `prepare` and `play`, are functions of plain values, for any executor.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from arena import build, referee, registry, schedule
from arena.errors import GameError, SandboxError, SubmissionError
from arena.executor.base import Executor
from arena.game import EngineGame, Game, TurnGame
from arena.listener import Listener
from arena.sandbox.select import backend
from arena.types import TIMEOUTS, Batch, Code, Limits, Pair, Played, Verdict, seat_order

BATCHES_A_ROUND = 8
MAX_RECHECKS = 3  # a player whose timeouts were confirmed so often is believed to be slow
MAX_TRIES = 3  # of a unit whose worker or sandbox was lost


@dataclass(frozen=True, slots=True)
class Prepared:
    """A submission after validation: `code` is what plays, built where it has a build step; None if invalid."""

    verdict: Verdict
    code: Code | None


def prepare(
    game_id: str, game_config: Mapping[str, Any], code: Code, limits: Limits, sandbox: str, trusted: bool
) -> Prepared:
    """Unit of work: build and validate one submission under match settings. Raises SandboxError."""
    game, place = registry.game(game_id, game_config), backend(sandbox)
    try:
        if isinstance(game, EngineGame):
            verdict = game.validate(code, place, limits, trusted=trusted)
            return Prepared(verdict, code if verdict.valid else None)
        assert isinstance(game, TurnGame)
        built = build.built(code, place, trusted=trusted)
        referee.validate(game, built, place, limits, trusted=trusted)
    except SubmissionError as error:
        return Prepared(Verdict(False, str(error)), None)
    return Prepared(Verdict(True), built)


def play(batch: Batch) -> list[Played]:
    """Unit of work: every match of `batch`, void ones included. Raises SandboxError, GameError."""
    game, place = registry.game(batch.game, batch.game_config), backend(batch.sandbox)
    played = list(matches(game, batch, place))
    _require_all(batch, played)
    return played


def _require_all(batch: Batch, played: Sequence[Played]) -> None:
    """Results are exactly those that were asked for. Raises SandboxError if some are missing, GameError for others."""
    seeds = {(pair.index, turn): pair.seed for pair in batch.pairs for turn in range(len(batch.players))}
    counts = Counter((each.pair, each.rotation) for each in played if each.outcome is not None)
    for each in played:
        if seeds.get((each.pair, each.rotation)) != each.seed or counts[each.pair, each.rotation] > 1:
            where = f"pair {each.pair} rotation {each.rotation} of seed {each.seed}"
            raise GameError(f"{batch.game} gave a result for {where} that nobody asked for")
    if len(counts) < len(seeds):
        raise SandboxError(f"{batch.game} gave {len(counts)} results for {len(seeds)} matches")


def matches(game: Game, batch: Batch, place: Any) -> Iterator[Played]:
    """The matches of `batch` as they finish, whichever kind of game it is."""
    if isinstance(game, EngineGame):
        return game.play(batch, place)
    assert isinstance(game, TurnGame)
    return referee.play(game, batch, place)


def frames(game: Game, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Frames of a recorded replay, whichever kind of game it is."""
    if isinstance(game, EngineGame):
        return game.frames(raw)
    assert isinstance(game, TurnGame)
    return referee.frames(game, raw)


def batch_size(pairs: int, most: int) -> int:
    """Pairs a batch, where a round has `pairs` in all and the game allows `most` a batch.

    Enough batches to keep several cores busy, as few as that allows, for each has to start its sandboxes. It depends on
    the config only, never on the machine: where bots are kept, the batch is what can be repeated.
    """
    return max(1, min(most, -(-pairs // BATCHES_A_ROUND)))


def batches_of(template: Batch, pairs: Sequence[Pair], size: int) -> list[Batch]:
    """`template` once for every chunk of `pairs`."""
    return [replace(template, pairs=chunk) for chunk in schedule.batches(pairs, size)]


def run_batches(
    batches: Sequence[Batch],
    executor: Executor,
    listener: Listener,
    keep: Callable[[Batch, list[Played]], None],
) -> None:
    """Play `batches`, handing each to `keep` once, whole. Batches with timeouts come last, when those are judged again.

    A lost unit is tried again; when one is lost MAX_TRIES times the others are still played and kept, then SandboxError
    is raised.
    """
    held: list[tuple[Batch, list[Played]]] = []
    for batch, played in _completed(batches, executor):
        listener.played(sum(each.outcome is not None for each in played))
        if any(_late_seats(each) for each in played):
            held.append((batch, played))
        else:
            keep(batch, played)
    if held:
        listener.phase(held[0][0].round, "recheck")
    confirmed: Counter[str] = Counter()
    for batch, played in sorted(held, key=lambda entry: (entry[0].matchup, entry[0].pairs[0].index)):
        keep(batch, [_judged_again(batch, each, executor, confirmed) for each in played])


def _completed(batches: Sequence[Batch], executor: Executor) -> Iterator[tuple[Batch, list[Played]]]:
    waiting: dict[Future[list[Played]], Batch] = {executor.submit(play, batch): batch for batch in batches}
    tries: Counter[tuple[int, int]] = Counter()
    lost: SandboxError | None = None
    while waiting:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            batch = waiting.pop(future)
            try:
                yield batch, future.result()
            except SandboxError as error:
                key = (batch.matchup, batch.pairs[0].index)
                tries[key] += 1
                if tries[key] < MAX_TRIES:
                    waiting[executor.submit(play, batch)] = batch
                else:
                    lost = error
    if lost is not None:
        raise lost


def _late_seats(played: Played) -> list[int]:
    if played.outcome is None:
        return []
    return [fault.seat for fault in played.outcome.faults if fault.kind in TIMEOUTS]


def _judged_again(batch: Batch, played: Played, executor: Executor, confirmed: Counter[str]) -> Played:
    """A match with a timeout, played again alone: what comes of that counts."""
    late = _late_players(batch, played)
    if all(confirmed[player] >= MAX_RECHECKS for player in late):
        return played
    pair = next(pair for pair in batch.pairs if pair.index == played.pair)
    ((_, alone),) = _completed([replace(batch, pairs=(pair,), hosting="fresh")], executor)
    again = next(each for each in alone if each.rotation == played.rotation and each.outcome is not None)
    confirmed.update(_late_players(batch, again))
    return replace(again, rechecked=True)


def _late_players(batch: Batch, played: Played) -> list[str]:
    order = seat_order(len(batch.players), played.rotation)
    return [batch.players[order[seat]] for seat in _late_seats(played)]
