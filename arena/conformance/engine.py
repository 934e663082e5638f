"""Checks of engine games: forfeits of invalid submissions, and replays as the engine gave them."""

from collections.abc import Iterator
from functools import partial

from arena.conformance.check import Probe, demand
from arena.conformance.matches import Arena, outcome, with_contents
from arena.conformance.replays import as_recorded, check_frames
from arena.errors import GameError
from arena.game import EngineGame
from arena.types import ranks_of, seat_order

_REPLAYS, _TIMED_PAIRS = 2, 20


def probes(arena: Arena) -> Iterator[Probe]:
    """The part of the suite that engine games alone have."""
    yield "invalid code forfeits on its own seat", partial(forfeits, arena)
    yield "replays end in the recorded result", partial(replays, arena)
    yield "speed", partial(speed, arena)


def forfeits(arena: Arena) -> str:
    """Code that the engine refuses stands last in every match, on whatever seat, and alone."""
    broken = with_contents(arena.starter, bytes(range(256)) * 16)
    for seats in sorted({arena.few, arena.many}):
        codes = [broken] + [arena.starter] * (seats - 1)
        played = arena.play(codes)
        demand(len(played) == seats, f"{len(played)} matches of a pair with {seats} seats")
        for each in played:
            came, seat = outcome(each), seat_order(seats, each.rotation).index(0)
            seen = [(fault.seat, fault.kind) for fault in came.faults]
            demand(seen == [(seat, "rejected")], f"faults {seen} where seat {seat} is to be rejected")
            ranks = ranks_of(came.scores, came.faults)
            demand(ranks[seat] == seats and ranks.count(seats) == 1, f"ranks {ranks} with seat {seat} rejected")
    return f"with {' and '.join(str(seats) for seats in sorted({arena.few, arena.many}))} seats"


def replays(arena: Arena) -> str:
    """Frames can be had from the record, and the `scores` of the last one are those of the match."""
    game, count = arena.game, 0
    if not isinstance(game, EngineGame):
        raise GameError(f"{game.id} is no engine game")
    for each in arena.play([arena.starter] * arena.few, _REPLAYS, replays=_REPLAYS):
        came = outcome(each)
        raw = as_recorded(came)
        frames = list(game.frames(raw))
        check_frames(game, frames)
        demand("scores" in frames[-1], "the last frame has no scores, by which it could be compared with the match")
        shown = tuple(float(score) for score in frames[-1]["scores"])
        demand(shown == came.scores, f"the replay ends with {shown}, the record says {came.scores}")
        demand(frames == list(game.frames(raw)), "the same replay gives other frames the second time")
        count += len(frames)
    return f"{count} frames"


def speed(arena: Arena) -> str:
    """For information: battles of the starter against itself."""
    played = arena.play([arena.starter] * arena.few, _TIMED_PAIRS)
    seconds = sum(each.wall_seconds for each in played)
    return f"{len(played) / max(seconds, 1e-9):,.0f} matches/s in one process"
