"""Every planned match is in the record, with a reason of its own; invalid submissions forfeit and are told why."""

import re
import shutil
from pathlib import Path

import pytest

from arena import seeds
from arena.record import Record
from tests.integration.runs import (
    LEGAL,
    Place,
    frozen,
    strict_json,
)

ROOT_SEED = 7


def _bot_seeds(round_: int, matchup: int, pair: int) -> list[str]:
    seed = seeds.match_seed(ROOT_SEED, round_, matchup, pair)
    return [str(seeds.bot_seed(seed, seat)) for seat in range(2)]


MOODY = """\
import os

MOODS = @MOODS@
MOOD = MOODS.get(os.environ["ARENA_SEED"], "")


def move(state):
    if state["turn"] == 2:
        if MOOD == "hang":
            import time
            time.sleep(600)
        while MOOD == "burn":
            pass
        if MOOD == "crash":
            os._exit(139)
        if MOOD == "cheat":
            return {"move": "sideways"}
    return legal(state)
"""
MOODS = {0: "burn", 1: "hang", 2: "crash", 3: "burn", 4: "cheat"}  # by pair; hangs on seat 0 only, for they take long
KINDS = {"hang": "silence", "crash": "crash", "burn": "move_timeout", "cheat": "illegal_move"}


@pytest.fixture(scope="module")
def moody(shared_place: Place) -> Path:
    """Three players, six pairs a matchup: one bot hangs, crashes, burns and cheats in a pair each, one is late."""
    place = shared_place
    moods = {
        seed: mood for pair, mood in MOODS.items() for seed in _bot_seeds(0, 0, pair)[: 1 if mood == "hang" else 2]
    }
    place.bot("moody", LEGAL.replace("def move", "def legal") + MOODY.replace("@MOODS@", repr(moods)))
    place.bot("late", "while True:\n    pass\n")
    place.bot("legal")
    players = [frozen("moody", "moody"), frozen("honest", "legal"), frozen("late", "late")]
    limits = {"start_seconds": 0.5, "wall_factor": 1.0, "move_seconds": 0.3}
    return place.play(place.config(players, rounds=0, matches=6, seed=ROOT_SEED, limits=limits), name="moody-run")


def test_every_match_has_a_record_and_a_reason_of_its_own(moody: Path) -> None:
    record = Record.read(moody)
    for match in record.matches(0)[:12]:
        mood = MOODS.get(match.pair, "")
        expected = [KINDS[mood]] if mood and (mood != "hang" or match.seats[0] == "moody") else []
        assert [(fault.player, fault.kind, fault.turn) for fault in match.faults] == [("moody", k, 2) for k in expected]
        assert match.termination == (expected or ["completed"])[0]
        assert match.winner == "honest" or not expected
        assert match.replay == (match.pair < 5)
    (late, honest) = (record.round(0).submissions[name] for name in ("late", "honest"))
    assert honest.valid
    assert not late.valid
    assert late.reason.startswith("start_timeout on the first move: ")
    assert all(match.winner != "late" for match in record.matches(0))


def test_counts_never_vanish(moody: Path, shared_place: Place) -> None:
    document = Record.read(moody).round(0)
    assert [(m.planned, m.played, m.spoilt, m.missing) for m in document.matchups] == [(12, 12, 0, 0)] * 3
    first = document.matchups[0]
    assert first.forfeits == {"moody": {"silence": 1, "crash": 2, "move_timeout": 4, "illegal_move": 2}}
    matches = [match for match in Record.read(moody).matches(0) if match.matchup == 0]
    points = sum(match.points[match.seats.index("honest")] for match in matches)
    assert first.standings["honest"].share == pytest.approx(points / 12)
    assert document.matchups[1].forfeits == {"late": {"invalid_submission": 12}}
    assert document.matchups[2].forfeits == {"late": {"invalid_submission": 12}}
    assert Record.read(moody).run.totals.matches == 36


def test_timeouts_count_only_after_they_were_judged_again_alone(moody: Path) -> None:
    late = [match for match in Record.read(moody).matches(0) if match.termination in ("silence", "move_timeout")]
    assert [match.rechecked for match in late] == [True] * 3 + [False] * 2  # three times confirmed is believed
    for match in late:
        assert all(fault.cpu_seconds is not None and fault.wall_seconds is not None for fault in match.faults)
        assert all(fault.cpu_seconds > 0.3 for fault in match.faults if fault.kind == "move_timeout")


def test_a_lost_record_is_missed(moody: Path, shared_place: Place, tmp_path: Path) -> None:
    from arena.store import pack, read_bytes

    run = Path(shutil.copytree(moody, tmp_path / "run"))
    path = run / "rounds/000/matches.jsonl.gz"
    lines = read_bytes(path).splitlines(keepends=True)
    path.write_bytes(pack(b"".join(lines[:2] + lines[3:])))
    said = shared_place.arena("verify", run, "-n", "0", code=1).stdout
    assert "matchup 0 is not what its matches give" in said


INVALID = {  # what is in the codebase, and what the reason has to name
    "nofile": ({"main.py": None}, "main"),
    "syntax": ({"main.py": "def move(state):\n    return {\n"}, "SyntaxError"),
    "raises": ({"main.py": "import sys\n\nraise RuntimeError('no luck today')\n"}, "no luck today"),
    "nofunction": ({"main.py": "def other(state):\n    return {}\n"}, "move"),
    "comment": ({"main.py": "# def move(state): return {'move': 'up'}\n"}, "move"),
}


@pytest.fixture(scope="module")
def told(shared_place: Place) -> Path:
    """Invalid submissions of every kind, whose agents write down what they are told; and one that only prints."""
    place, players = shared_place, [frozen("legal", "legal")]
    place.bot("legal")
    for name, (files, _) in INVALID.items():
        place.write(f"{name}/bot.toml", 'entry = "main:move"\n')
        for file, content in files.items():
            if content is not None:
                place.write(f"{name}/{file}", content)
    place.bot("prints", "print('hello, I am here')\n" + LEGAL)
    for name in (*INVALID, "prints"):
        players.append({"name": name, "agent": "tests.integration.parts:Teller", "bot": name})
    return place.play(place.config(players, rounds=1, matches=1), name="told")


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_submission_forfeits_and_its_agent_is_told_why(told: Path, name: str) -> None:
    record = Record.read(told)
    names = INVALID[name][1]
    for n in (0, 1):
        submission = record.round(n).submissions[name]
        assert not submission.valid
        assert names in submission.reason
        (matchup,) = (m for m in record.round(n).matchups if set(m.players) == {"legal", name})
        assert matchup.standings["legal"].share == 1.0
        assert matchup.forfeits == {name: {"invalid_submission": 2}}
        own = [match for match in record.matches(n) if set(match.seats) == {"legal", name}]
        assert {(match.termination, match.winner, match.hosting) for match in own} == {
            ("invalid_submission", "legal", "none")
        }
    brief = strict_json(record.repo(name).code("round-001").get("brief-1.json") or b"")
    assert brief["last_outcome"] == "drawn"  # two others were best
    assert names in brief["invalid_reason"]
    assert "\n" not in brief["invalid_reason"]
    assert brief["last_result"].startswith("Round 0 ended")


@pytest.mark.parametrize(("name", "line"), [("syntax", 2), ("raises", 3)])
def test_the_reason_of_an_invalid_submission_names_file_and_line(told: Path, name: str, line: int) -> None:
    assert re.search(rf"main\.py\W+line {line}\b", Record.read(told).round(0).submissions[name].reason)


def test_a_bot_that_prints_plays_and_is_told_of_no_fault(told: Path) -> None:
    record = Record.read(told)
    assert record.round(0).submissions["prints"].valid
    played = [match for match in record.matches(0) if set(match.seats) == {"legal", "prints"}]
    assert [match.termination for match in played] == ["completed"] * 2
    assert all(match.stderr[match.seats.index("prints")] == "hello, I am here\n" for match in played)
    brief = strict_json(record.repo("prints").code("round-001").get("brief-1.json") or b"")
    assert brief["invalid_reason"] == ""
