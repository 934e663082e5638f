"""A player without valid code, in matches of more than two: it forfeits, and the others play all the same."""

from dataclasses import replace

import pytest

from arena import compete, referee, registry
from arena.sandbox.process import ProcessBackend
from arena.types import NO_CODE, Batch, Played, ranks_of, seat_order
from games.corewar import pmars
from tests.arena.parts import batch, python_bot
from tests.games.corewar import samples

STILL = "def move(state):\n    return {'move': 'up'}\n"
WANDERING = (
    "def move(state):\n    head = state['you']['head']\n    return {'move': 'right' if head['x'] < 6 else 'left'}\n"
)
REASON = "bot.toml is missing"


def without_second(asked: Batch) -> Batch:
    codes = (asked.codes[0], NO_CODE, *asked.codes[2:])
    return replace(asked, codes=codes, absent={asked.players[1]: REASON})


def assert_second_forfeits(asked: Batch, played: list[Played]) -> None:
    assert [(each.pair, each.rotation) for each in played] == [(p.index, k) for p in asked.pairs for k in range(3)]
    for each in played:
        assert each.outcome is not None
        absent = seat_order(3, each.rotation).index(1)
        assert [(f.seat, f.kind, f.detail) for f in each.outcome.faults] == [(absent, "invalid_submission", REASON)]
        assert ranks_of(each.outcome.scores, each.outcome.faults)[absent] == 3


@pytest.mark.parametrize("hosting", ["fresh", "kept"])
def test_two_snakes_play_on_without_the_third(hosting: str) -> None:
    game = registry.game("battlesnake")
    bots = (python_bot(STILL), python_bot(STILL), python_bot(WANDERING))
    asked = without_second(batch(*bots, pairs=4, game="battlesnake", hosting=hosting))
    played = list(referee.play(game, asked, ProcessBackend()))
    assert_second_forfeits(asked, played)
    outcomes = [each.outcome for each in played if each.outcome is not None]
    assert all(outcome.turns > 1 for outcome in outcomes), "the match went on after the forfeit"
    assert all(sorted(ranks_of(o.scores, o.faults)) in ([1, 2, 3], [1, 1, 3]) for o in outcomes)
    for outcome in outcomes:
        assert outcome.replay is not None
        assert referee.replayed(game, outcome.replay, outcome.faults) == (outcome.scores, outcome.state_hash)


def test_two_warriors_fight_on_without_the_third() -> None:
    if pmars.engine() is None:
        pytest.skip(f"pMARS is not here: {pmars.FIX}")
    dwarf = samples.code(b"add.ab #4, 3\nmov.i 2, @2\njmp -2\ndat #0, #0\n")
    imp = samples.code(b"mov.i 0, 1\n")
    asked = without_second(replace(samples.batch([dwarf, dwarf, imp], 4), trusted=(True,) * 3))
    played = list(compete.matches(registry.game("corewar"), asked, ProcessBackend()))
    assert_second_forfeits(asked, played)
    assert any(sum(each.outcome.scores) > 0 for each in played if each.outcome is not None)
