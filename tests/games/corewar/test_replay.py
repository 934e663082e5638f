"""Replays: bounded, and ending in the recorded result."""

import json

import pytest

from arena.errors import GameError
from arena.sandbox.base import Backend
from games.corewar import pmars
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig
from tests.games.corewar.samples import DWARF, IMP, batch, code


def test_a_replay_ends_in_the_recorded_result(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    rave = code(game.baselines()["rave"].files["warrior.red"])
    played = list(game.play(batch([rave, code(DWARF), code(IMP)], 3, replays=2), backend))
    assert [match.outcome is not None and match.outcome.replay is not None for match in played] == [True] * 6 + [
        False
    ] * 3
    for match in played[:6]:
        assert match.outcome is not None
        assert match.outcome.replay is not None
        frames = list(game.frames(json.loads(json.dumps(match.outcome.replay))))
        assert [frame["scores"] for frame in frames[:-1]] == [None] * (len(frames) - 1)
        assert tuple(frames[-1]["scores"]) == match.outcome.scores
        alive = [count > 0 for count in frames[-1]["processes"]]
        assert alive == [score > 0 for score in match.outcome.scores]
        assert frames[-1]["cycle"] == match.outcome.turns
        assert [frame["cycle"] for frame in frames] == sorted(frame["cycle"] for frame in frames)


def test_the_first_frame_shows_every_warrior_where_it_was_loaded(
    game: CoreWar, built: pmars.Engine, backend: Backend
) -> None:
    (match, _) = game.play(batch([code(DWARF), code(IMP)], 1, replays=1), backend)
    assert match.outcome is not None
    assert match.outcome.replay is not None
    first = next(iter(game.frames(match.outcome.replay)))
    where = game.position(match.seed)
    expected = (100 + (where - 100) % (8000 - 200 + 1)) // first["block"]
    assert first["processes"] == [1, 1]
    assert first["heads"] == [0, expected]
    assert first["owners"][0] == "0"
    assert first["owners"][expected] == "1"


@pytest.mark.parametrize("core", [800, 8000, 55_440, 1_000_000])
def test_a_replay_is_bounded_whatever_the_settings(built: pmars.Engine, backend: Backend, core: int) -> None:
    big = CoreWar(CoreWarConfig(core_size=core, max_cycles=20_000))
    (match, _) = big.play(batch([code(IMP), code(IMP)], 1, replays=1), backend)
    assert match.outcome is not None
    assert match.outcome.replay is not None
    assert len(json.dumps(match.outcome.replay)) < 130_000
    assert 48 <= len(match.outcome.replay["frames"]) <= 96
    frame = list(big.frames(match.outcome.replay))[-1]
    assert frame["cycle"] == 20_000
    assert (len(frame["owners"]) - 1) * frame["block"] < core <= len(frame["owners"]) * frame["block"]


def test_a_replay_that_tells_another_story_stops_the_run(game: CoreWar, backend: Backend, fake_engine) -> None:
    fake_engine("arena-mars-trace", "echo battle 0 1 1 3 0 0 2; echo frame 1 . 1 0 0 -1; echo end; echo done")
    with pytest.raises(GameError, match="ended otherwise"):
        list(game.play(batch([code(IMP), code(IMP)], 1, replays=1), backend))


def test_a_frame_is_shown_as_text(game: CoreWar) -> None:
    frame = {
        "core_size": 24,
        "block": 8,
        "cycle": 7,
        "owners": "0.1",
        "processes": [2, 0],
        "heads": [0, -1],
        "scores": [3, 0],
    }
    assert game.render(frame).splitlines() == [
        "cycle 7, 8 cells a character",
        "A.b",
        "seat 0 (a): 2 processes, 1 blocks, score 3",
        "seat 1 (b): dead, 1 blocks, score 0",
    ]
