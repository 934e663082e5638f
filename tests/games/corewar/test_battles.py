"""Battles: the same as stock pMARS plays, the same every time, fair to every seat."""

import subprocess
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.errors import GameError, SandboxError
from arena.sandbox.base import Backend
from arena.sandbox.process import ProcessBackend
from arena.types import Batch, Limits, seat_order
from games.corewar import engine as engine_module
from games.corewar import game as game_module
from games.corewar import pmars
from games.corewar.engine import Battle, Mars, Result, opened
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig
from tests.games.corewar.samples import DWARF, IMP, SUICIDE, batch, code, hashes

BASELINES = ("aeka", "rave", "flash-paper")


@pytest.fixture
def sources(game: CoreWar, built: pmars.Engine) -> dict[str, bytes]:
    return {name: game.baselines()[name].files["warrior.red"].read_bytes() for name in BASELINES}


def stock(built: pmars.Engine, names: Sequence[str], position: int, rounds: int = 1) -> list[list[int]]:
    """What the unmodified command line says: per seat wins and ties (two warriors), or score first."""
    files = {"aeka": "aeka.red", "rave": "rave.red", "flash-paper": "flashpaper.red"}
    argv = [built.pmars, "-b", "-k", "-r", str(rounds), "-F", str(position)]
    done = subprocess.run(
        [*argv, *(built.warriors / files[name] for name in names)], capture_output=True, text=True, check=True
    )
    return [[int(field) for field in line.split()] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("names", [BASELINES[:2], BASELINES, [*BASELINES, "rave", "aeka"], ["rave", "aeka"] * 4])
def test_every_battle_is_the_battle_of_stock_pmars(
    mars: Mars, built: pmars.Engine, sources: dict[str, bytes], names: Sequence[str]
) -> None:
    seats = len(names)
    warriors = [mars.assemble(sources[name], seats) for name in names]
    battles = [Battle(index % seats, 101 + 77_777_777 * index % 2**30) for index in range(12)]
    for battle, result in zip(battles, mars.play(warriors, battles), strict=True):
        order = [names[player] for player in seat_order(seats, battle.rotation)]
        told = stock(built, order, battle.position)
        expected = [3 * wins + ties for wins, ties in told[:2]] if seats == 2 else [line[0] for line in told]
        assert list(result.scores) == expected


def test_one_long_run_of_stock_pmars_is_the_sum_of_our_battles(
    mars: Mars, built: pmars.Engine, sources: dict[str, bytes]
) -> None:
    # A long run leaves the first warrior at 0 and has the warriors move first in turn. With addresses all relative,
    # "second moves first, at distance d" is "seats swapped, the other at core size - d".
    warriors = [mars.assemble(sources[name], 2) for name in ("aeka", "rave")]
    rounds, seed, battles = 40, 4242, []
    for number in range(rounds):
        distance = 100 + seed % (8000 - 200 + 1)
        battles.append(Battle(1, 8000 - distance) if number % 2 else Battle(0, distance))
        seed = 16807 * seed % 2147483647
    total = [[0, 0], [0, 0]]
    for battle, result in zip(battles, mars.play(warriors, battles), strict=True):
        for seat, player in enumerate(seat_order(2, battle.rotation)):
            total[player][0] += result.scores[seat] == 3
            total[player][1] += result.scores[seat] == 1
    assert stock(built, ("aeka", "rave"), 100 + 4242, rounds) == total
    assert total[0][0] > 0 < total[1][0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(101, 2**30), rotation=st.integers(0, 1), before=st.integers(0, 3))
def test_a_battle_does_not_depend_on_those_before_it(mars: Mars, position: int, rotation: int, before: int) -> None:
    warriors = [mars.assemble(DWARF, 2), mars.assemble(IMP, 2)]
    wanted = Battle(rotation, position)
    alone = mars.play(warriors, [wanted])[-1]
    assert mars.play(warriors, [*[Battle(0, 5000 + index) for index in range(before)], wanted])[-1] == alone


def test_p_space_is_empty_in_every_battle(mars: Mars) -> None:
    # Lives only as long as P-space cell 1 is 0, and cell 0 says that nothing went before; then marks cell 1.
    writer = b";assert 1\nldp.ab #1, 4\njmn.b 3, 3\nstp.ab #7, #1\njmp 0\ndat 0, 0\n"
    reader = b";assert 1\nldp.ab #0, 3\nsne.ab #CORESIZE-1, 2\njmp 0\ndat 0, 0\n"
    warriors = [mars.assemble(writer, 2), mars.assemble(reader, 2)]
    for result in mars.play(warriors, [Battle(index % 2, 4000) for index in range(6)]):
        assert result.scores == (1, 1)


def test_the_same_batch_gives_the_same_results(
    game: CoreWar, backend: Backend, sources: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    players = [code(sources[name]) for name in BASELINES[:2]]
    once = list(game.play(batch(players, 8), backend))
    monkeypatch.setattr(game_module, "_CHUNK_STEPS", 1)
    again = list(game.play(batch(players, 8), backend))
    later = list(game.play(batch(players, 3, first=5), backend))
    assert hashes(once) == hashes(again)
    assert hashes(later) == hashes(once)[10:]
    assert len(set(hashes(once))) == 16
    assert [(match.pair, match.rotation, match.hosting) for match in once] == [
        (pair, rotation, "engine") for pair in range(8) for rotation in (0, 1)
    ]


def test_another_sandbox_gives_the_same_results(game: CoreWar, backend: Backend, sources: dict[str, bytes]) -> None:
    players = [code(sources[name]) for name in BASELINES[:2]]
    plain = batch(players)
    trusted = Batch(
        **{name: getattr(plain, name) for name in plain.__slots__ if name != "trusted"}, trusted=(True, True)
    )
    assert hashes(list(game.play(trusted, ProcessBackend()))) == hashes(list(game.play(plain, backend)))


@pytest.mark.parametrize("seats", range(2, 9))
def test_two_to_eight_warriors_play_every_rotation(
    game: CoreWar, built: pmars.Engine, backend: Backend, seats: int
) -> None:
    players = [code(DWARF), *[code(IMP)] * (seats - 1)]
    played = list(game.play(batch(players, 2), backend))
    assert [match.rotation for match in played] == [*range(seats)] * 2
    for match in played:
        assert match.outcome is not None
        survivors = match.outcome.details["survivors"]
        share = (seats * seats - 1) // survivors
        assert sorted(match.outcome.scores) == [0.0] * (seats - survivors) + [float(share)] * survivors
        dead = [left for left in match.outcome.details["alive_at_death"] if left]
        assert sorted(dead) == list(range(survivors + 1, seats + 1))


def test_credit_follows_the_player_when_seats_are_swapped(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    for match in game.play(batch([code(IMP), code(SUICIDE)], 3), backend):
        assert match.outcome is not None
        winner = seat_order(2, match.rotation)[match.outcome.scores.index(3.0)]
        assert winner == 0
        assert match.outcome.turns <= 1


def test_a_mirror_match_is_exactly_even(game: CoreWar, backend: Backend, sources: dict[str, bytes]) -> None:
    points = [0.0, 0.0]
    decided = 0
    for match in game.play(batch([code(sources["rave"])] * 2, 20), backend):
        assert match.outcome is not None
        decided += 3.0 in match.outcome.scores
        for seat, player in enumerate(seat_order(2, match.rotation)):
            points[player] += match.outcome.scores[seat]
    assert points[0] == points[1]
    assert decided > 10


def test_positions_come_from_the_seed_alone_and_suit_pmars(game: CoreWar) -> None:
    positions = [game.position(seed) for seed in range(500)]
    assert positions == [game.position(seed) for seed in range(500)]
    assert len(set(positions)) == 500
    assert all(game.config.min_distance < position <= 2**30 for position in positions)


def test_more_than_the_machine_gets_done_is_a_lost_sandbox(
    mars: Mars, built: pmars.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = CoreWarConfig(max_cycles=10_000_000)
    real = engine_module.run
    monkeypatch.setattr(engine_module, "run", lambda *a, timeout, **k: real(*a, timeout=min(timeout, 0.2), **k))
    patient = Mars(mars._sandbox, slow, Limits())
    with pytest.raises(SandboxError, match="did not finish 50 battles"):
        patient.play([mars.assemble(IMP, 2)] * 2, [Battle(0, 4000)] * 50)


def test_a_lost_sandbox_is_no_result(built: pmars.Engine, backend: Backend) -> None:
    with opened(backend, CoreWarConfig(), Limits(), "corewar-test", trusted=False) as mine:
        one = mine.assemble(IMP, 2)
        mine._sandbox.close()
        with pytest.raises((SandboxError, OSError)):
            mine.play([one, one], [Battle(0, 4000)])


def test_an_engine_that_refuses_its_orders_stops_the_run(mars: Mars) -> None:
    one = mars.assemble(IMP, 2)
    with pytest.raises(GameError, match="no such rotation or position"):
        mars.play([one, one], [Battle(0, 7)])


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"done\n",
        b"battle 0 5 1 3 0 0 2\n",
        b"battle 1 5 1 3 0 0 2\ndone\n",
        b"battle 0 5 1 3 0 0\ndone\n",
        b"battle 0 5 1 3 0 0 x\ndone\n",
        b"\xff\ndone\n",
        b"frame 0 . 1 1 0 0\nbattle 0 5 1 3 0 0 2\ndone\n",
        b"battle 0 5 1 3 0 0 2\nframe 0 .. 1 1 0\nend\ndone\n",
    ],
)
def test_output_that_is_no_result_is_never_read_as_one(output: bytes) -> None:
    with pytest.raises(GameError, match="no result"):
        list(engine_module._results(output, 2, 1))


def test_a_result_is_read() -> None:
    output = b"battle 0 5 1 3 0 0 2\nframe 0 .1 1 1 0 1\nend\ndone\n"
    (result,) = engine_module._results(output, 2, 1)
    assert (result.cycles, result.survivors, result.scores, result.alive_at_death) == (5, 1, (3, 0), (0, 2))
    assert isinstance(result, Result)
    assert result.frames[0].owners == ".1"


def test_a_broken_engine_is_not_taken_for_a_broken_warrior(game: CoreWar, backend: Backend, fake_engine) -> None:
    fake_engine("arena-mars", "exit 3")
    with pytest.raises(GameError, match="build it again"):
        game.validate(code(IMP), backend, Limits(), trusted=False)
