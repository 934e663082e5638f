"""Faults on our side: what is lost is played again, or the run pauses and says why."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arena.record import Record
from tests.integration.runs import (
    LEGAL,
    PATIENCE,
    Place,
    descendants,
    facts,
    frozen,
    git,
    matches_of,
    scripted,
    wait_for,
    wait_for_line,
)

LEISURELY = LEGAL.replace("def move(state):\n", "import time\n\n\ndef move(state):\n    time.sleep(0.02)\n")


def _duel(place: Place, **settings: Any) -> Path:
    """Matches of bots that take their time, not their CPU time: long enough to be killed in."""
    place.bot("one", LEISURELY)
    place.bot("two", LEISURELY.replace('"up": (0, 1), "left": (-1, 0)', '"left": (-1, 0), "up": (0, 1)'))
    return place.config([frozen("one", "one"), frozen("two", "two")], **{"rounds": 0, "matches": 5, **settings})


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
