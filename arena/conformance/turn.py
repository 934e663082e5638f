"""Checks of turn games: the pure engine, what bots see, what becomes of bots that misbehave."""

import copy
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from arena import referee
from arena.conformance import hostile
from arena.conformance.check import Omitted, Probe, demand
from arena.conformance.hostile import Misdeed
from arena.conformance.inside import listening
from arena.conformance.matches import Arena, outcome
from arena.conformance.replays import as_recorded, check_frames
from arena.errors import GameError
from arena.game import Engine, TurnGame
from arena.types import Limits, Outcome, ranks_of, seat_order

_REPLAYS, _TIMED_SECONDS = 3, 0.5
_STDERR_NOTE = 100  # bytes of the line that says how much is missing
_ODD_REPLIES: tuple[dict[str, Any], ...] = (
    {},
    {"": None},
    {"move": None},
    {"move": -1},
    {"move": 1e308},
    {"move": [[]]},
    {"move": {"move": "move"}},
    {"move": "\ud800 \x00" * 1000},
    {"x" * 4000: True},
)
_CALL_HOME = """
try:
    socket.create_connection(("127.0.0.1", {port}), 2).sendall(b"reached")
    said = "reached"
except OSError as error:
    said = str(error)
print("network:", said)
raise RuntimeError("tried")
"""


def probes(arena: Arena) -> Iterator[Probe]:
    """The part of the suite that turn games alone have."""
    for name, check in (
        ("replays end in the recorded result", replays),
        ("observations", observations),
        ("odd replies", odd_replies),
        ("everybody falls out", everybody_falls_out),
    ):
        yield name, partial(check, arena)
    for misdeed in hostile.MISDEEDS:
        yield misdeed.name, partial(punished, arena, misdeed, arena.few)
    if arena.many != arena.few:
        yield f"crash among {arena.many}", partial(punished, arena, hostile.CRASH, arena.many)
    for misdeed in hostile.IN_MID_MATCH:
        yield misdeed.name, partial(punished_later, arena, misdeed)
    yield "no network from inside", partial(no_network, arena)
    yield "speed", partial(speed, arena)


def _turn_game(arena: Arena) -> TurnGame:
    if not isinstance(arena.game, TurnGame):
        raise GameError(f"{arena.game.id} is no turn game")
    return arena.game


def states(game: TurnGame, raw: Mapping[str, Any]) -> Iterator[Engine]:
    """The engine at the start of a recorded match and after each turn, re-simulated; always the same object."""
    engine = referee.new_engine(game, raw["seats"], raw["seed"])
    yield engine
    for turn, replies in enumerate(raw["moves"]):
        for fell, seat in raw["fallen"]:
            if fell == turn:
                engine.forfeit(seat)
        engine.apply({int(seat): reply for seat, reply in replies.items()})
        yield engine


def recorded(arena: Arena) -> list[Outcome]:
    """Matches of the starter against itself, with replays."""
    played = arena.play([arena.starter] * arena.few, _REPLAYS, replays=_REPLAYS)
    return [outcome(each) for each in played]


def replays(arena: Arena) -> str:
    """Re-simulated moves give the recorded scores, details and hash, and the frames that are shown."""
    count = 0
    for came in recorded(arena):
        count += ends_as_recorded(_turn_game(arena), came)
    return f"{count} frames"


def ends_as_recorded(game: TurnGame, came: Outcome) -> int:
    """Compare a recorded match with its re-simulation; number of frames. Raises Unmet, GameError."""
    raw = as_recorded(came)
    frames = []
    for engine in states(game, raw):
        frames.append(copy.deepcopy(engine.frame()))
    check_frames(game, frames)
    demand(list(referee.frames(game, raw)) == frames, "two re-simulations of one replay differ")
    demand(engine.done, "the replay ends before the match does")
    demand(len(frames) == came.turns + 1, f"{len(frames)} frames of {came.turns} turns")
    scores = tuple(engine.scores())
    demand(scores == came.scores, f"the replay ends with {scores}, the record says {came.scores}")
    details = json.loads(json.dumps([engine.details(), came.details]))
    demand(details[0] == details[1], f"the replay ends with {details[0]}, the record says {details[1]}")
    moves = [{int(seat): reply for seat, reply in turn.items()} for turn in raw["moves"]]
    demand(referee.digest(engine, moves, came.faults) == came.state_hash, "the replay's moves give another hash")
    return len(frames)


def observations(arena: Arena) -> str:
    """Each is one line of a JSON object, without the seed; looking changes nothing."""
    count = 0
    for came in recorded(arena):
        raw = as_recorded(came)
        for engine in states(_turn_game(arena), raw):
            if engine.done:
                break
            before = copy.deepcopy(engine.frame())
            movers = list(engine.to_move())
            demand(movers, "nobody is to move, and the match is not over")
            demand(set(movers) <= set(range(raw["seats"])), f"to_move names seats that are not there: {movers}")
            for seat in movers:
                _check_observation(engine.observe(seat), raw["seed"])
                demand(engine.observe(seat) == engine.observe(seat), f"seat {seat} sees something else the second time")
                count += 1
            demand(engine.frame() == before, "observing changed the state of the match")
    return f"{count} observations"


def _check_observation(line: str, seed: int) -> None:
    demand("\n" not in line and "\r" not in line, f"an observation of more than a line: {line[:80]!r}")
    demand(isinstance(json.loads(line), dict), f"an observation is no JSON object: {line[:80]!r}")
    shown = [form for form in (str(seed), f"{seed:x}", f"{seed:X}") if form in line]
    demand(not shown, f"an observation shows the match seed {shown}")


def odd_replies(arena: Arena) -> str:
    """`illegal` gives a reason or None for any JSON object and never raises; asking changes nothing."""
    for came in recorded(arena)[:1]:
        for engine in states(_turn_game(arena), as_recorded(came)):
            before = copy.deepcopy(engine.frame())
            for seat in () if engine.done else engine.to_move():
                for reply in _ODD_REPLIES:
                    reason = engine.illegal(seat, reply)
                    told = reason is None or (isinstance(reason, str) and reason)
                    demand(told, f"illegal gave {reason!r} for {reply}")
            demand(engine.frame() == before, "asking whether a reply is legal changed the state of the match")
    return f"{len(_ODD_REPLIES)} kinds of reply in every state of a match"


def everybody_falls_out(arena: Arena) -> str:
    """A match whose bots are all gone is over, with finite scores."""
    for seats in arena.game.seats:
        engine = referee.new_engine(_turn_game(arena), seats, seed=1)
        for seat in range(seats):
            engine.forfeit(seat)
        engine.apply({})
        demand(engine.done, f"{seats} seats: all have fallen out, and the match is not over")
        scores = list(engine.scores())
        demand(len(scores) == seats, f"{len(scores)} scores for {seats} seats")
        json.dumps([scores, engine.details(), engine.frame()], allow_nan=False)
    return f"with {', '.join(map(str, arena.game.seats))} seats"


def _strict(arena: Arena) -> Limits:
    """Limits that a hanging bot meets soon."""
    limits = arena.game.limits
    return replace(limits, start_seconds=min(limits.start_seconds, 1.0), wall_factor=1.0)


def punished(arena: Arena, misdeed: Misdeed, seats: int) -> str:
    """The bot that does `misdeed` forfeits, on every seat and under the right name; the others are not touched."""
    limits, codes = _strict(arena), [hostile.bot(arena.starter, misdeed)] + [arena.starter] * (seats - 1)
    called = []
    for each in arena.play(codes, limits=limits):
        came, seat = outcome(each), seat_order(seats, each.rotation).index(0)
        at_fault = [fault.seat for fault in came.faults]
        demand(at_fault == [seat], f"seats {at_fault} are at fault where seat {seat} is: {came.faults}")
        (fault,) = came.faults
        demand(fault.kind in misdeed.called, f"called {fault.kind} ({fault.detail}), not {' or '.join(misdeed.called)}")
        demand(fault.turn == misdeed.after, f"said to be of turn {fault.turn}, not {misdeed.after}")
        ranks = ranks_of(came.scores, came.faults)
        demand(ranks[seat] == seats, f"ranks {ranks} with seat {seat} at fault")
        kept = max(len(text) for text in came.stderr)
        demand(kept <= limits.stderr_bytes + _STDERR_NOTE, f"{kept} bytes of a bot's log were kept")
        ends_as_recorded(_turn_game(arena), came)
        called.append(fault.kind)
    demand(len(called) == seats, f"{len(called)} of {seats} rotations were played")
    return f"{', '.join(sorted(set(called)))} on each of {seats} seats"


def punished_later(arena: Arena, misdeed: Misdeed) -> str:
    """The same after honest answers."""
    if not hostile.can_start_honest(arena.starter):
        raise Omitted("the starter is no hosted Python bot, so it can't be made to misbehave later")
    return punished(arena, misdeed, arena.few)


def no_network(arena: Arena) -> str:
    """A bot can't reach a listener of this machine."""
    if not arena.backend.isolation().network:
        raise Omitted(f"{arena.backend.name} does not cut the network: it runs trusted code only")
    with listening() as listeners:
        misdeed = replace(hostile.CRASH, body=_CALL_HOME.strip())
        attacker = hostile.bot(arena.starter, misdeed, {"port": listeners.request["tcp"]})
        for each in arena.play([attacker] + [arena.starter] * (arena.few - 1)):
            log = outcome(each).stderr[seat_order(arena.few, each.rotation).index(0)]
            said = [line for line in log.splitlines() if line.startswith("network:")]
            demand(said, f"the bot could not even try: {log[-300:]}")
            demand(said != ["network: reached"], "a bot reached a listener of this machine")
        demand(not listeners.visited(), "somebody reached a listener of this machine")
    return said[0]


def speed(arena: Arena) -> str:
    """For information: turns a second of the engine alone, observations included."""
    raws = [as_recorded(came) for came in recorded(arena)]
    turns, started = 0, time.perf_counter()
    while time.perf_counter() - started < _TIMED_SECONDS:
        for raw in raws:
            for engine in states(_turn_game(arena), raw):
                for seat in () if engine.done else engine.to_move():
                    engine.observe(seat)
                turns += 1
    return f"{turns / (time.perf_counter() - started):,.0f} turns/s in one process, with observations"
