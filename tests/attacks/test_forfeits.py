"""Attacks that must end in a forfeit of the attacker, and of nobody else.

All attackers are one codebase that picks its attack by the seed it is given, so they share one sandbox, match after
match, as bots of a batch do; each attack is followed by a match of the same players and by one of two honest ones.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from arena import referee, registry, seeds
from arena.referee import Bench
from arena.sandbox.base import Backend
from arena.types import Batch, Code, Limits, Outcome, Pair
from tests.attacks.arenas import (
    LIMITS,
    PAIR,
    PYTHON,
    Bout,
    assert_only_attacker_lost,
    attacking_module,
    code,
    honest,
)
from tests.attacks.catalogue import FORFEITS

PICK = """
import os
from importlib import import_module
move = import_module(@ATTACKS@.get(os.environ["ARENA_SEED"], "honest")).move
"""


def pair_of(number: int) -> Pair:
    return Pair(number, PAIR.seed + number)


def seat_of(number: int) -> int:
    return number % 2


def all_attackers() -> Code:
    files, attacks = dict(PYTHON), {}
    for number, attack in enumerate(FORFEITS):
        seed = str(seeds.bot_seed(pair_of(number).seed, seat_of(number)))
        files[f"attack{number}.py"] = attacking_module(attack.body, seed, attack.turn)
        attacks[seed] = f"attack{number}"
    return code({**files, "main.py": PICK.replace("@ATTACKS@", repr(attacks))})


class Arena:
    """Open sandboxes of an attacker, its opponent, and two who have nothing to do with it."""

    def __init__(self, backend: Backend, stack: ExitStack) -> None:
        self.game = registry.game("battlesnake")
        self.batches = [
            Batch("battlesnake", {}, 1, 0, ("a", "b"), codes, (False, False), (), LIMITS)
            for codes in ((all_attackers(), honest()), (honest(), honest()))
        ]
        self.benches = [stack.enter_context(Bench(backend, batch)) for batch in self.batches]

    def play(self, which: int, pair: Pair, rotation: int, limits: Limits) -> Outcome:
        """One match, which must not be void."""
        batch = replace(self.batches[which], limits=limits)
        played = list(referee.play_until_valid(self.game, batch, self.benches[which], pair, rotation))  # type: ignore[arg-type]
        assert [each.void for each in played] == [""], "a bot made our side fail"
        assert played[0].outcome is not None
        return played[0].outcome


@pytest.fixture(scope="module")
def arena(backend: Backend) -> Iterator[Arena]:
    with ExitStack() as stack:
        yield Arena(backend, stack)


@pytest.mark.parametrize("number", range(len(FORFEITS)), ids=lambda number: FORFEITS[number].name)
def test_only_the_attacker_loses(number: int, arena: Arena, happened: Callable[[str, str], None]) -> None:
    attack, seat, pair = FORFEITS[number], seat_of(number), pair_of(number)
    started = time.perf_counter()
    result = Bout(arena.play(0, pair, seat, attack.limits), arena.play(0, pair, 1 - seat, attack.limits))
    fault = result.attack.faults[0] if result.attack.faults else None
    happened(attack.name, f"{fault.kind}: {fault.detail[:90]}" if fault else "nothing")
    assert_only_attacker_lost(result, seat)
    assert fault is not None
    assert fault.kind in attack.kinds, fault
    assert re.search(attack.detail, fault.detail), fault
    assert fault.turn >= attack.turn
    undisturbed = arena.play(1, pair, 0, attack.limits)
    assert not result.after.faults + undisturbed.faults, "the next match suffered"
    assert result.after.state_hash == undisturbed.state_hash
    assert time.perf_counter() - started < 12
