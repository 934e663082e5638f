"""`bots: kept`: one process a player for a whole batch, a new bot object a match, many game states in one message.

The group of matches moves in lockstep, and its time limit is that of its matches together. Whatever breaks the protocol
of a group, a late or missing answer included, sends its undecided matches back to be played singly, each with fresh
processes, so that a fault is always found in the match it belongs to. The unit that can be repeated exactly is the
batch.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from arena import referee, seeds
from arena.errors import SandboxError
from arena.game import TurnGame
from arena.referee import Bench, Table
from arena.seat import BotFault, Seat, decode
from arena.types import Batch, Outcome, Pair, Played, seat_order

GROUP = 64  # matches in lockstep


@dataclass(slots=True)
class _Game:
    """One match of a group; `id` is unique within the batch."""

    id: int
    pair: Pair
    rotation: int
    order: Sequence[int]
    table: Table


def play(game: TurnGame, batch: Batch, bench: Bench) -> Iterator[Played]:
    """Every match of `batch`; groups that could not be played together are played singly. Raises SandboxError.

    What the kept processes logged stands with the last match that was played with them.
    """
    matches = [(pair, rotation) for pair in batch.pairs for rotation in range(len(batch.players))]
    groups = [matches[start : start + GROUP] for start in range(0, len(matches), GROUP)]
    with ExitStack() as stack:
        team: list[Seat] = []
        last: Played | None = None
        for number, group in enumerate(groups):
            started = time.perf_counter()
            games = [_game(game, batch, number * GROUP + i, *match) for i, match in enumerate(group)]
            try:
                team = team or _team(batch, bench, stack)
                _play_group(games, team, batch)
            except (BotFault, SandboxError):
                team = []
                bench.replace_all()
            seconds = (time.perf_counter() - started) / len(games)
            for each in games:
                if each.table.done:
                    yield from [] if last is None else [last]
                    outcome = _outcome(each, batch)
                    last = Played(each.pair.index, each.rotation, each.pair.seed, outcome, "kept", seconds)
                else:
                    yield from referee.play_until_valid(game, batch, bench, each.pair, each.rotation)
        if last is not None:
            yield _with_logs(last, team)


def _with_logs(last: Played, team: Sequence[Seat]) -> Played:
    if last.outcome is None or not team:
        return last
    logs = tuple(team[player].log() for player in seat_order(len(team), last.rotation))
    return replace(last, outcome=replace(last.outcome, stderr=logs))


def _game(game: TurnGame, batch: Batch, number: int, pair: Pair, rotation: int) -> _Game:
    players = len(batch.players)
    table = Table(referee.new_engine(game, players, pair.seed), game.id)
    return _Game(number, pair, rotation, seat_order(players, rotation), table)


def _team(batch: Batch, bench: Bench, stack: ExitStack) -> list[Seat]:
    team = []
    for player in range(len(batch.players)):
        seed = seeds.bot_seed(batch.pairs[0].seed, player)
        seat = Seat(bench[player], bench.process(player, seed, "kept"), batch.limits)
        stack.callback(seat.close)
        team.append(seat)
    for seat in team:
        seat.rivals = team
    return team


def _play_group(games: list[_Game], team: Sequence[Seat], batch: Batch) -> None:
    active = [each for each in games if not each.table.done]
    over: list[int] = []
    while active:
        moving = [(each, each.table.questions()) for each in active]
        asked = [_ask(player, seat, moving, over, batch) for player, seat in enumerate(team)]
        replies: dict[int, dict[int, dict[str, Any]]] = {each.id: {} for each in active}
        for seat, wanted in zip(team, asked, strict=True):
            for (number, position), reply in zip(wanted, _hear(seat, wanted, batch), strict=True):
                replies[number][position] = reply
        for each in active:
            each.table.play(replies[each.id])
        over = [each.id for each in active if each.table.done]
        active = [each for each in active if not each.table.done]


def _ask(
    player: int, seat: Seat, moving: Sequence[tuple[_Game, Mapping[int, str]]], over: Sequence[int], batch: Batch
) -> list[tuple[int, int]]:
    """Send `player` its states of the games in which it is `moving`; which (game, seat) were asked.

    Ids in `over` are done with.
    """
    wanted, parts = [], [f"[{number},null]" for number in over]
    for each, questions in moving:
        position = each.order.index(player)
        if position in questions:
            wanted.append((each.id, position))
            parts.append(f"[{each.id},{questions[position]}]")
    if wanted:
        seat.allow(len(wanted) * batch.limits.move_seconds + (0 if seat.answered else batch.limits.start_seconds))
        seat.ask(f"[{','.join(parts)}]\n".encode())
    return wanted


def _hear(seat: Seat, wanted: Sequence[tuple[int, int]], batch: Batch) -> list[dict[str, Any]]:
    if not wanted:
        return []
    line = seat.answer_line(len(wanted) * batch.limits.reply_bytes)
    try:
        answers = decode(line)
        numbers, replies = [number for number, _ in answers], [reply for _, reply in answers]
    except (ValueError, TypeError) as error:
        raise BotFault("not_json", f"{type(error).__name__}: {error}") from error
    if numbers != [number for number, _ in wanted] or not all(isinstance(reply, dict) for reply in replies):
        raise BotFault("not_json", "answers do not fit the questions")
    most = batch.limits.reply_bytes
    if len(line) > most and any(len(json.dumps(reply)) >= most for reply in replies):
        raise BotFault("oversize", f"a reply of more than {most} bytes")
    return replies


def _outcome(each: _Game, batch: Batch) -> Outcome:
    seats, faults = len(each.order), tuple(each.table.faults)
    raw = each.table.replay(each.pair.seed) if each.pair.index < batch.replays or faults else None
    return each.table.outcome(faults, (None,) * seats, ("",) * seats, raw)
