"""Matches against an attacker: an honest opponent, short limits, and what must hold afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from arena import referee, registry, seeds
from arena.sandbox.base import Backend
from arena.tree import code_of
from arena.types import Batch, Code, FileEntry, Limits, Outcome, Pair, Played, ranks_of

PAIR = Pair(0, 20_240_229)
TURN = 3  # of the attack, unless it comes with the import
LIMITS = Limits(move_seconds=0.1, match_seconds=1.0, start_seconds=1.0, wall_factor=1.0, memory_mb=256, threads=16)
PATIENT = replace(LIMITS, move_seconds=3.0, match_seconds=9.0, start_seconds=3.0)  # for bots that look around

HONEST = """
STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}

def move(state):
    board, head = state["board"], state["you"]["body"][0]
    taken = {(p["x"], p["y"]) for snake in board["snakes"] for p in snake["body"]}
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            return {"move": name}
    return {"move": "up"}
"""
# Attacks in the one match whose seed it was given, at one turn; in every other match it is the honest bot.
ATTACKER = """
import os, sys, time, json, signal, socket
from honest import move as honest

ATTACKING, turn = os.environ["ARENA_SEED"] == "@SEED@", -1
PROTOCOL = 3

@BODY@

def move(state):
    global turn
    turn += 1
    if ATTACKING and turn == @TURN@:
        return attack(state)
    return honest(state)
"""
PYTHON = {"bot.toml": 'entry = "main:move"\n', "honest.py": HONEST}


def code(files: Mapping[str, str | bytes]) -> Code:
    """A codebase of `files`; those named `*.bin` or `*.sh` are executable."""
    entries = [
        FileEntry(
            path.encode(),
            "executable" if path.endswith((".bin", ".sh")) else "file",
            data if isinstance(data, bytes) else data.encode(),
        )
        for path, data in files.items()
    ]
    return code_of(entries)


def honest(**extra: str) -> Code:
    """The honest bot; `extra` files besides."""
    return code({**PYTHON, "main.py": "from honest import move\n", **extra})


def attacker(body: str, seat: int, turn: int = TURN, **extra: str | bytes) -> Code:
    """A bot that runs `attack(state)` of `body` at `turn` of the first match, where it sits on `seat`."""
    main = attacking_module(body, str(seeds.bot_seed(PAIR.seed, seat)), turn)
    return code({**PYTHON, "main.py": main, **extra})


def attacking_module(body: str, seed: str, turn: int) -> str:
    """Source that attacks with `body` at `turn` of the match in which ARENA_SEED is `seed`."""
    return ATTACKER.replace("@BODY@", body).replace("@SEED@", seed).replace("@TURN@", str(turn))


@dataclass(frozen=True, slots=True)
class Bout:
    """Both matches of a batch, the one of the attack and the next one with the same players."""

    attack: Outcome
    after: Outcome


def play(backend: Backend, codes: tuple[Code, Code], limits: Limits = LIMITS, **options: object) -> list[Played]:
    """All matches of one pair between `codes`, as the referee yields them."""
    batch = Batch("battlesnake", {}, 1, 0, ("a", "b"), codes, (False, False), (PAIR,), limits, **options)  # type: ignore[arg-type]
    return list(referee.play(registry.game("battlesnake"), batch, backend))  # type: ignore[arg-type]


def bout(backend: Backend, attacking: Code, seat: int, limits: Limits = LIMITS) -> Bout:
    """Attacker on `seat` of the first match against the honest bot. No match may be void."""
    codes = (attacking, honest()) if seat == 0 else (honest(), attacking)
    played = play(backend, codes, limits)
    assert [each.void for each in played] == ["", ""], "a bot made our side fail"
    first, second = (each.outcome for each in played)
    assert first is not None
    assert second is not None
    return Bout(first, second)


@cache
def reference(name: str, limits: Limits) -> str:
    """State hash of the honest bot against itself."""
    from arena.sandbox.select import backend

    return undisturbed(backend(name), limits)


def undisturbed(backend: Backend, limits: Limits = LIMITS) -> str:
    """Play honest bots in a new batch; the one state hash of both matches."""
    outcomes = [each.outcome for each in play(backend, (honest(), honest()), limits)]
    assert all(outcome is not None and not outcome.faults for outcome in outcomes), outcomes
    hashes = {outcome.state_hash for outcome in outcomes if outcome}
    assert len(hashes) == 1
    return hashes.pop()


def assert_only_attacker_lost(result: Bout, seat: int) -> None:
    """One fault in the first match, the attacker's, with a reason; the opponent wins."""
    faults = result.attack.faults
    assert [fault.seat for fault in faults] == [seat], faults
    assert faults[0].detail
    assert ranks_of(result.attack.scores, faults)[1 - seat] == 1
