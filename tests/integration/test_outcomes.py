"""Equal input gives equal matches; schedules of more than two; ratings of extreme runs."""

import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from arena.record import Record
from tests.integration.runs import (
    HUNGRY,
    LEGAL,
    Place,
    facts,
    frozen,
    matches_of,
    strict_json,
)


@pytest.fixture
def hog() -> Iterator[None]:
    """Every core is busy with something else."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    yield
    for process in busy:
        process.kill()
        process.wait()


def test_the_same_seed_gives_the_same_matches(place: Place, request: pytest.FixtureRequest) -> None:
    sets = LEGAL.replace(
        "for name, (dx, dy) in STEPS.items()",
        "for name, (dx, dy) in sorted(STEPS.items(), key=lambda step: random.random())",
    )
    players = [
        frozen("sets", place.bot("sets", "import random\n" + sets)),
        frozen("hungry", place.bot("hungry", HUNGRY)),
        frozen("legal", place.bot("legal")),
    ]
    config = place.config(players, rounds=0, matches=4)
    expected = facts(place.play(config, "workers=1", name="alone"))
    assert len({match["state_hash"] for match in expected["matches"]}) > 12
    assert facts(place.play(config, "workers=4", name="together", PYTHONHASHSEED="77")) == expected
    request.getfixturevalue("hog")
    assert facts(place.play(config, "workers=2", name="crowded", PYTHONHASHSEED="3")) == expected


def test_another_seed_gives_other_matches(place: Place) -> None:
    config = place.config([frozen("a", place.bot("a")), frozen("b", place.bot("b", HUNGRY))], rounds=0, matches=3)
    first, second = (facts(place.play(config, f"seed={seed}", name=f"run{seed}")) for seed in (1, 2))
    assert not {m["seed"] for m in first["matches"]} & {m["seed"] for m in second["matches"]}


def test_all_players_sit_in_one_match_in_every_rotation(place: Place) -> None:
    names = ["a", "b", "c", "d"]
    bots = [LEGAL, HUNGRY, LEGAL, "def move(state):\n    raise ValueError('never')\n"]
    players = [frozen(name, place.bot(name, bot)) for name, bot in zip(names, bots, strict=True)]
    run = place.play(place.config(players, schedule="all", rounds=1, matches=2, game_config={"max_turns": 60}))
    record = Record.read(run)
    for n in (0, 1):
        (matchup,) = record.round(n).matchups
        assert (matchup.players, matchup.planned, matchup.played) == (tuple(names), 8, 8)
        seats = Counter((name, seat) for match in record.matches(n) for seat, name in enumerate(match.seats))
        assert set(seats.values()) == {2}
        assert len(seats) == 16
        assert matchup.forfeits == {"d": {"invalid_submission": 8}}
        assert record.round(n).standings["d"] == 4
    place.arena("verify", run)


def test_three_snakes_play_on_after_one_has_crashed(place: Place) -> None:
    crash = LEGAL.replace("def move(state):\n", "def move(state):\n    assert state['turn'] < 3, 'enough'\n")
    players = [frozen(name, place.bot(name, bot)) for name, bot in (("a", LEGAL), ("b", HUNGRY), ("c", crash))]
    run = place.play(place.config(players, schedule="all", rounds=0, matches=2, game_config={"max_turns": 60}))
    for match in matches_of(run):
        assert [(fault.player, fault.kind, fault.turn) for fault in match.faults] == [("c", "crash", 3)]
        assert "enough" in match.faults[0].detail
        assert match.ranks[match.seats.index("c")] == 3
        assert match.termination == "completed"
        assert match.turns > 4
    place.arena("verify", run)


def test_ties_leave_ratings_equal(place: Place) -> None:
    run = place.play(place.config([frozen(name, place.bot(name)) for name in ("a", "b", "c")], rounds=3))
    record = Record.read(run)
    for n in range(4):
        document = record.round(n)
        assert document.winner is None
        assert {standing.share for m in document.matchups for standing in m.standings.values()} == {0.5}
        assert set(document.standings.values()) == {1}
    mus = [rating.mu for rating in record.run.ratings.values()]
    assert mus == pytest.approx([25.0] * 3, abs=1e-2)
    assert record.run.winner is None


def test_ratings_of_an_endless_winner_stay_finite_and_strict(place: Place) -> None:
    invalid = place.bot("invalid", "raise ValueError('never')\n")
    run = place.play(place.config([frozen("w", place.bot("legal")), frozen("l", invalid)], rounds=60))
    document = strict_json((run / "run.json").read_bytes())
    assert document["winner"] == "w"
    assert document["ratings"]["w"]["mu"] > document["ratings"]["l"]["mu"]
    values = [value for rating in document["ratings"].values() for value in rating.values()]
    assert all(math.isfinite(value) for value in values)
    shown = strict_json(place.arena("show", run, "--json").stdout)
    assert len(shown["rounds"]) == 61


def test_a_run_without_matches_has_no_winner_and_no_numbers(place: Place) -> None:
    run = place.play(place.config([frozen(name, place.bot(name)) for name in "ab"], rounds=2, matches=0))
    shown = strict_json(place.arena("show", run, "--json").stdout)
    assert shown["run"]["winner"] is None
    assert [standing["share"] for m in shown["rounds"][1]["matchups"] for standing in m["standings"].values()] == [
        None,
        None,
    ]
    assert shown["run"]["ratings"]["a"] == shown["run"]["ratings"]["b"]
    assert not re.search("nan|None", place.arena("show", run).stdout)
    place.arena("verify", run)
