"""Faults on our side and the players', met by whole runs."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena import seeds
from arena.record import Record
from tests.integration.runs import (
    HUNGRY,
    LEGAL,
    PATIENCE,
    Place,
    descendants,
    facts,
    files_of,
    frozen,
    git,
    matches_of,
    scripted,
    strict_json,
    wait_for,
    wait_for_line,
)

ROOT_SEED = 7
LEISURELY = LEGAL.replace("def move(state):\n", "import time\n\n\ndef move(state):\n    time.sleep(0.02)\n")


def _duel(place: Place, **settings: Any) -> Path:
    """Matches of bots that take their time, not their CPU time: long enough to be killed in."""
    place.bot("one", LEISURELY)
    place.bot("two", LEISURELY.replace('"up": (0, 1), "left": (-1, 0)', '"left": (-1, 0), "up": (0, 1)'))
    return place.config([frozen("one", "one"), frozen("two", "two")], **{"rounds": 0, "matches": 5, **settings})


# Our side fails


def test_a_lost_bubblewrap_is_void_and_its_match_is_played_again(place: Place, bubblewrap: str) -> None:
    config = _duel(place, sandbox=bubblewrap)
    expected = facts(place.play(config, name="undisturbed"))
    process = place.start("run", config, "--output", place.path / "run")
    wait_for_line(process, "10 matches")
    wait_for("a sandbox to kill", lambda: _kill_one(process.pid), process)
    _assert_recovered(place, process, expected)
    (result,) = Record.read(place.path / "run").round(0).matchups
    assert result.voids >= 1
    assert (result.planned, result.played, result.spoilt, result.missing) == (10, 10, 0, 0)


def _kill_one(root: int) -> bool:
    """Kill a sandbox in which a bot is running."""
    for pid, (_, line) in descendants(root).items():
        if re.search(r"^\S*bwrap .* bot", line) and len(descendants(pid)) >= 2:
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def _assert_recovered(place: Place, process: "subprocess.Popen[str]", expected: dict[str, Any]) -> None:
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, stdout + stderr
    assert facts(place.path / "run") == expected


def test_a_lost_container_is_void_and_its_match_is_played_again(place: Place, docker: str) -> None:
    from arena.sandbox.docker import connect, labelled

    config = _duel(place, matches=2)
    expected = facts(place.play(config, name="undisturbed"))
    process = place.start("run", config, f"sandbox={docker}", "workers=1", "--output", place.path / "run")
    wait_for_line(process, "4 matches")
    api = connect()

    def kill_one() -> bool:
        ours = {str(pid) for pid in descendants(process.pid)}
        for row in labelled(api):
            if (
                row["Labels"]["arena.pid"] in ours
                and row["Labels"]["arena.label"] == "one"
                and row["State"] == "running"
            ):
                api.kill(row["Id"])
                return True
        return False

    wait_for("a container to kill", kill_one, process)
    _assert_recovered(place, process, expected)


def test_what_a_killed_worker_was_playing_is_played_again(place: Place) -> None:
    config = _duel(place, workers=2)
    expected = facts(place.play(config, name="undisturbed"))
    process = place.start("run", config, "--output", place.path / "run")
    wait_for_line(process, "10 matches")

    def kill_one() -> bool:
        below = descendants(process.pid)
        servers = {parent for parent, line in below.values() if "multiprocessing.forkserver" in line} - {process.pid}
        for pid, (parent, line) in below.items():
            if parent in servers and "multiprocessing.forkserver" in line:
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    wait_for("a worker to kill", kill_one, process)
    _assert_recovered(place, process, expected)


def test_a_sandbox_that_fails_for_good_pauses_the_run(place: Place, bubblewrap: str) -> None:
    broken = place.path / "broken"
    shim = place.write("bin/bwrap", f'#!/bin/sh\n[ ! -e {broken} ] || exit 9\nexec {shutil.which("bwrap")} "$@"\n')
    shim.chmod(0o755)
    path = f"{shim.parent}:{os.environ['PATH']}"
    place.bot("legal")
    steps = {1: [{"run": f"echo {n} > file{n}"} for n in range(2)]}
    players = [scripted("a", place.script("a", steps), "legal"), frozen("b", "legal")]
    config = place.config(players, sandbox=bubblewrap, rounds=2)
    expected = facts(place.play(config, name="undisturbed"))
    process = place.start("run", config, "--output", place.path / "run", PATH=path)
    wait_for("round 0", (place.path / "run/rounds/000/round.json").exists, process)
    broken.touch()
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, stderr
    assert "error: the sandbox did not start: exit code 9" in stderr
    run = Record.read(place.path / "run").run
    assert run.status == "paused"
    assert "exit code 9" in run.reason
    assert "paused: SandboxError" in place.arena("show", place.path / "run").stdout
    assert place.arena("resume", place.path / "run", code=3, PATH=path).stderr.startswith(
        "error: bubblewrap is installed"
    )
    broken.unlink()
    place.arena("resume", place.path / "run", PATH=path)
    assert facts(place.path / "run") == expected


@pytest.fixture
def quiet(place: Place) -> tuple[Place, Path, Path]:
    """A run of two rounds that was paused after round 0, because the engine gave no more results."""
    fault = place.path / "fault"
    place.bot("legal")
    config = place.config(
        [frozen("strong", "legal"), frozen("weak", "legal")],
        game="tests.integration.parts:Quiet",
        game_config={"fault": str(fault)},
        matches=3,
    )
    process = place.start("run", config, "--output", place.path / "run")
    place.write("fault", "")
    process.communicate(timeout=PATIENCE)
    run = place.path / "run"
    (run / "rounds/001/round.json").unlink()
    (run / "rounds/001/matches.jsonl.gz").unlink()
    document = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, "status": "paused", "winner": None, "rounds_done": 0}))
    return place, run, fault


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("nothing", "gave 0 results for 2 matches"),
        ("another seed", "that nobody asked for"),
        ("twice", "that nobody asked for"),
    ],
)
def test_an_engine_without_results_is_never_given_those_of_the_last_round(
    quiet: tuple[Place, Path, Path], fault: str, said: str
) -> None:
    place, run, file = quiet
    assert Record.read(run).round(0).matchups[0].standings["strong"].share == 1.0
    file.write_text(fault)
    assert said in place.arena("resume", run, code=1).stderr
    record = Record.read(run)
    assert (record.run.status, record.run.winner, record.rounds()) == ("paused", None, [0])
    assert record.matches(1) == []
    file.unlink()
    place.arena("resume", run)
    assert [match.round for match in matches_of(run)] == [0] * 6 + [1] * 6
    place.arena("verify", run)
    name = next(matches_of(run)).match_id
    assert "of" in place.arena("replay", run, name, "--frame", "0").stdout


def test_a_round_in_the_wrong_folder_is_refused_by_name(quiet: tuple[Place, Path, Path]) -> None:
    place, run, _ = quiet
    shutil.copy(run / "rounds/000/round.json", run / "rounds/001/round.json")
    shutil.copy(run / "rounds/000/matches.jsonl.gz", run / "rounds/001/matches.jsonl.gz")
    for verb in (("resume", run), ("show", run), ("verify", run)):
        assert f"{run / 'rounds/001/round.json'} is of round 0" in place.arena(*verb, code=1).stderr


def test_an_agent_that_raises_fails_its_edit_and_what_it_saved_plays(place: Place) -> None:
    place.bot("legal")
    raiser = {"name": "a", "agent": "tests.integration.parts:Raiser", "bot": "legal"}
    run = place.play(place.config([raiser, frozen("b", "legal")]))
    edit = Record.read(run).edit("a", 1)
    assert (edit.ended, edit.steps) == ("failed", 1)
    assert "LookupError: an agent of ours is broken" in edit.detail
    assert git(Record.read(run), "a", "show", "round-001:saved") == "before it raised"


# The players' code is what it is

SHOWS_FILES = """\
import os
import sys

try:
    from helper import NAME
except ImportError:
    NAME = "none"
root = os.path.dirname(os.path.abspath(__file__))
files = [os.path.relpath(os.path.join(folder, file), root) for folder, _, files in os.walk(root) for file in files]
print(NAME, sorted(files), file=sys.stderr)
"""


def test_exactly_the_tagged_tree_plays(place: Place) -> None:
    place.bot("start", SHOWS_FILES + LEGAL, **{"helper.py": "NAME = 'old'\n", "data": "1\n", "Case": "2\n"})
    steps = {
        1: [{"run": 'rm helper.py && sed -i \'s/"none"/"gone"/\' main.py'}],
        2: [{"run": "mv Case case && rm data && mkdir data && echo 3 > data/file"}],
        3: [{"run": "rm -r data && echo 4 > data && mkdir -p x/x && cp main.py x/x/"}],
    }
    players = [scripted("a", place.script("a", steps), "start"), frozen("b", place.bot("legal"))]
    config = place.config(players, rounds=3)
    expected = {
        0: "old ['Case', 'bot.toml', 'data', 'helper.py', 'main.py']",
        1: "gone ['Case', 'bot.toml', 'data', 'main.py']",
        2: "gone ['bot.toml', 'case', 'data/file', 'main.py']",
        3: "gone ['bot.toml', 'case', 'data', 'main.py', 'x/x/main.py']",
    }
    _assert_played(place.play(config), expected)
    # And the same with a kill between rounds 1 and 2.
    process = place.start("run", config, "--output", place.path / "killed")
    wait_for("round 1", (place.path / "killed/rounds/001/round.json").exists, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    place.arena("resume", place.path / "killed")
    _assert_played(place.path / "killed", expected)
    assert facts(place.path / "killed") == facts(place.path / "run")


def _assert_played(run: Path, expected: dict[int, str]) -> None:
    record = Record.read(run)
    for n, listing in expected.items():
        submission = record.round(n).submissions["a"]
        assert submission.tree == git(record, "a", "rev-parse", f"round-{n:03d}^{{tree}}").strip()
        assert submission.commit == git(record, "a", "rev-parse", f"round-{n:03d}^{{commit}}").strip()
        for match in record.matches(n):
            assert match.stderr[match.seats.index("a")].strip() == listing


ALL_BYTES = """\
import os
import sys

sys.stdout.buffer.write(bytes(range(256)))
sys.stdout.flush()
os.write(2, bytes(range(256)))
"""


def test_bytes_that_are_no_text_pass_through_a_whole_round(place: Place) -> None:
    place.bot("start", ALL_BYTES + LEGAL, **{"old": "x\n"})
    print_all = "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))'"
    steps = {
        1: [
            {"run": f"{print_all}; {print_all} > blob"},
            {"run": "printf x > $'new\\nline'; printf y > $'bad\\xff'; : > empty; rm old"},
        ]
    }
    players = [scripted("a", place.script("a", steps), "start"), frozen("b", place.bot("legal"))]
    run = place.play(place.config(players))
    record = Record.read(run)
    assert record.repo("a").code("round-001").get("blob") == bytes(range(256))
    names = {entry.path: entry.data for entry in record.repo("a").code("round-001").files}
    assert names == {**names, b"new\nline": b"x", b"bad\xff": b"y", b"empty": b""}
    assert b"old" not in names
    output = record.steps("a", 1)[0].output
    assert "ABC" in output
    assert "\N{REPLACEMENT CHARACTER}" in output
    edit = record.edit("a", 1)
    assert (edit.diff.files, edit.diff.binary, edit.diff.deleted) == (5, 1, 1)
    logged = [match.stderr[match.seats.index("a")] for match in record.matches(1)]
    assert all(text.count("ABC") == 2 for text in logged), logged
    for path in run.rglob("*.jsonl"):
        assert all(strict_json(line) for line in path.read_bytes().splitlines())
    place.arena("show", run)
    place.arena("verify", run)


# Nothing vanishes


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
@pytest.mark.xfail(reason="the reason of a crash is the last line of the log, without file and line", strict=True)
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


# The same everywhere


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


# Names

NAMES = ["gpt-4.1", "org/model", "a b", "x;touch pwned", "é", "n" * 200]


def test_names_are_shown_as_they_are_and_break_nothing(place: Place) -> None:
    place.bot("legal")
    options = place.script("steps", {1: [{"run": "echo $0 > file"}]})
    players = [scripted(name, options, "legal") for name in NAMES[:4]] + [frozen(name, "legal") for name in NAMES[4:]]
    config = place.config(players)
    before = set(place.path.iterdir())
    place.arena("run", config, "--results", "results")
    assert set(place.path.iterdir()) - before == {place.path / "results"}
    assert not list(place.path.rglob("pwned"))
    (run,) = (place.path / "results").iterdir()
    (listed,) = strict_json(place.arena("list", "results", "--json").stdout)
    assert listed["players"] == NAMES
    shown = strict_json(place.arena("show", run, "--json").stdout)
    assert sorted(shown["rounds"][1]["standings"]) == sorted(NAMES)
    for text in (
        place.arena("list", "results").stdout,
        place.arena("show", run).stdout,
        place.arena("replay", run).stdout,
    ):
        joined = re.sub(r"[\s│]+", "", text)
        assert all(re.sub(r"\s", "", name) in joined for name in NAMES), text
    match = next(match for match in matches_of(run) if set(match.seats) == {"org/model", "x;touch pwned"})
    said = place.arena("replay", run, match.match_id, "--frame", "-1").stdout
    assert f"seats 0={match.seats[0]} 1={match.seats[1]};" in said
    place.arena("verify", run, "-n", "3")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["../x", "b"], "players.0.name: a name must not be a path"),
        (["b", "/etc"], "players.1.name: a name must not be a path"),
        (["a", "a"], "players: 'a' and 'a' are the same name"),
        (["Ann", "aNN"], "players: 'Ann' and 'aNN' are the same name"),
        (["a", "n" * 201], "players.1.name: String should have at most 200 characters"),
        (["a", "b\n"], "players.1.name: use printable characters"),
    ],
)
def test_names_that_are_paths_or_given_twice_are_refused(place: Place, names: list[str], said: str) -> None:
    place.bot("legal")
    config = place.config([frozen(name, "legal") for name in names])
    before = set(place.path.iterdir())
    refused = place.arena("run", config, code=2).stderr
    assert said in refused
    assert str(config) in refused
    assert set(place.path.iterdir()) == before


# What players may know of one another

SECRET = ("zebra", "fish", "42")  # never in one piece but in the rival's code


def _search() -> list[dict[str, str]]:
    """Steps that look for the secret in every file and process that can be seen, and for anything of git."""
    others = " ".join(f"! -name {name}" for name in ("usr", "proc", "sys", "dev"))
    pattern = '"' + '""'.join(SECRET) + '"'
    return [
        {"run": f"find / -mindepth 1 -maxdepth 1 -type d {others} -exec grep -rlsa {pattern} {{}} + > found; true"},
        {"run": f"grep -lsa {pattern} /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/maps >> found; true"},
        {"run": "find / -path /usr -prune -o -path /proc -prune -o -path /sys -prune -o "
                "'(' -name '*.git' -o -name FETCH_HEAD -o -name ORIG_HEAD -o -name '*.pack' ')' -print >> found; true"},
    ]  # fmt: skip


@pytest.mark.parametrize("transparent", [False, True])
def test_rivals_code_is_seen_in_transparent_runs_only(place: Place, isolating: str, transparent: bool) -> None:
    secret = "".join(SECRET)
    rival = place.bot("rival", f"NOTE = '{secret}'\nprint(NOTE)\n" + LEGAL)
    writes = [
        {"write": "more.py", "content": f"# {secret}\n", "thought": secret},
        {"run": f"echo {secret}; rm more.py"},
    ]
    players = [
        scripted("spy", place.script("spy", {1: _search(), 2: _search()}), place.bot("legal")),
        scripted("rival", place.script("rival", {1: writes, 2: writes}), rival),
    ]
    run = place.play(place.config(players, sandbox=isolating, rounds=2, transparent=transparent))
    record = Record.read(run)
    assert all(secret in match.stderr[match.seats.index("rival")] for match in record.matches(0))
    for n in (1, 2):
        found = (record.repo("spy").code(f"round-{n:03d}").get("found") or b"").decode().splitlines()
        assert found == (["/rivals/rival/main.py"] if transparent else [])
        assert [step.exit_code for step in record.steps("spy", n)] == [0, 0, 0]


def test_files_of_a_run_are_only_in_its_folder(place: Place) -> None:
    config = place.config([frozen(name, place.bot(name)) for name in "ab"], rounds=0)
    before = files_of(place.path)
    place.play(config, name="deep/er/run")
    after = {name: data for name, data in files_of(place.path).items() if not name.startswith("deep/er/run/")}
    assert after == before
