"""`arena verify`: sound runs are found sound, and whatever was changed in one is found and named."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.record import Record
from arena.store import pack, read_bytes
from games.corewar import pmars
from tests.integration.runs import HUNGRY, Place, frozen, git, scripted, strict_json


def _tournament(place: Place, name: str, **settings: Any) -> Path:
    steps = {1: [{"run": "echo 1 > note"}], 2: [{"run": "echo 2 > note"}]}
    players = [scripted("a", place.script("a", steps), place.bot("legal")), frozen("b", place.bot("hungry", HUNGRY))]
    return place.play(place.config(players, f"{name}.yaml", rounds=2, matches=3, replays=1, **settings), name=name)


@pytest.fixture(scope="module")
def sound(shared_place: Place) -> Path:
    """A run with nothing wrong."""
    return _tournament(shared_place, "sound")


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to be tampered with."""
    return Path(shutil.copytree(sound, tmp_path / "run"))


def test_a_sound_run_is_found_sound_wherever_it_lies(run: Path, shared_place: Place) -> None:
    said = strict_json(shared_place.arena("verify", run, "--json").stdout)
    assert said == {"sound": True, "checked": 18, "agreed": 18, "replays": 6, "by_clock": [], "problems": []}
    text = shared_place.arena("verify", run, "-n", "2").stdout
    assert "2 of 2 matches played again agree" in text
    assert "the record is sound" in text


def test_a_run_with_kept_bots_repeats_batch_by_batch(shared_place: Place) -> None:
    kept = _tournament(shared_place, "kept", bots="kept")
    assert {match.hosting for match in Record.read(kept).matches(0)} == {"kept"}
    said = strict_json(shared_place.arena("verify", kept, "--json").stdout)
    assert (said["sound"], said["checked"], said["agreed"]) == (True, 18, 18)
    assert "1 of 1 matches" in shared_place.arena("verify", kept, "-n", "1").stdout


@pytest.mark.skipif(not pmars.engine(), reason=f"pmars: {pmars.FIX}")
def test_a_run_of_a_real_engine_is_verified_and_tampering_with_it_found(shared_place: Place, tmp_path: Path) -> None:
    players = [frozen("dwarf", "house:dwarf"), frozen("paper", "house:paper")]
    config = shared_place.config(players, "corewar.yaml", game="corewar", game_config={}, matches=3, replays=1)
    run = shared_place.play(config, name="corewar")
    said = strict_json(shared_place.arena("verify", run, "--json").stdout)
    assert (said["sound"], said["checked"], said["agreed"], said["replays"]) == (True, 12, 12, 4)
    frame = shared_place.arena("replay", run, "000-00-0000-0", "--frame", "-1").stdout
    assert "000-00-0000-0" in frame
    damaged = Path(shutil.copytree(run, tmp_path / "damaged"))
    _edit_replay(damaged, "000-00-0000-0", lambda raw: raw.update(scores=raw["scores"][::-1]))
    _edit_replay(damaged, "001-00-0000-0", lambda raw: raw.clear())
    problems = _problems(shared_place, damaged, "-n", "0")
    assert any(p.startswith("match 001-00-0000-0: its replay is damaged") for p in problems)
    assert "match 000-00-0000-0: its replay does not end in its result" in problems


def _problems(place: Place, run: Path, *options: str) -> list[str]:
    said = strict_json(place.arena("verify", run, "--json", *options, code=1).stdout)
    assert not said["sound"]
    return list(said["problems"])


def _edit_json(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(read_bytes(path))
    change(document)
    data = json.dumps(document).encode()
    path.write_bytes(pack(data) if path.suffix == ".gz" else data)


def _edit_replay(run: Path, match: str, change: Callable[[Any], object]) -> None:
    path = run / "rounds" / match[:3] / "replays" / f"{match}.json.gz"
    _edit_json(path, lambda document: change(document["raw"]))


def _edit_match(run: Path, index: int, **change: Any) -> str:
    path = run / "rounds/001/matches.jsonl.gz"
    lines = read_bytes(path).splitlines()
    document = json.loads(lines[index])
    document.update(change)
    lines[index] = json.dumps(document).encode()
    path.write_bytes(pack(b"\n".join(lines) + b"\n"))
    return str(document["match_id"])


def test_a_changed_winner_of_a_match_is_found(run: Path, shared_place: Place) -> None:
    match = Record.read(run).matches(1)[4]
    other = "a" if match.winner == "b" else "b"
    points = [float(seat == other) for seat in match.seats]
    name = _edit_match(run, 4, winner=other, points=points, ranks=[2 - int(p) for p in points])
    problems = _problems(shared_place, run)
    assert any(p.startswith(f"match {name}: winner {other} then, {match.winner} now") for p in problems)
    assert "round 1: matchup 0 is not what its matches give" in problems


def test_a_changed_state_is_found(run: Path, shared_place: Place) -> None:
    name = _edit_match(run, 3, state_hash="0" * 64)
    (problem,) = _problems(shared_place, run)
    assert problem.startswith(f"match {name}: state 0000")


def test_a_match_of_another_seed_is_refused(run: Path, shared_place: Place) -> None:
    name = _edit_match(run, 2, seed=99)
    said = shared_place.arena("verify", run, code=1).stderr
    assert f"match {name} has a seed of another run" in said


def _a_wins(document: dict[str, Any]) -> None:
    document["winner"] = "a" if document["winner"] != "a" else "b"


@pytest.mark.parametrize(
    ("file", "change", "problem"),
    [
        ("rounds/001/round.json", _a_wins, "round 1: winner or standings are not what the matches give"),
        (
            "rounds/002/round.json",
            lambda document: document["ratings"]["a"].update(mu=40.0),
            "round 2: the ratings are not what the standings give",
        ),
        (
            "rounds/001/round.json",
            lambda document: document["submissions"]["a"].update(tree="0" * 40),
            "round 1: the codebase of a is not the one that was played",
        ),
        ("run.json", _a_wins, "run.json: the winner is not what the rounds give"),
        (
            "run.json",
            lambda document: document["ratings"]["b"].update(mu=1.0),
            "run.json: the ratings are not those after the last round",
        ),
    ],
)
def test_a_changed_document_is_found(
    run: Path, shared_place: Place, file: str, change: Callable[[Any], object], problem: str
) -> None:
    _edit_json(run / file, change)
    assert problem in _problems(shared_place, run, "-n", "0")


def test_an_edited_event_breaks_the_chain(run: Path, shared_place: Place) -> None:
    log = run / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    for changed in (
        [*lines[:1], lines[1].replace(b'"round":0', b'"round":1'), *lines[2:]],
        [*lines[:1], *lines[2:]],
        [lines[1], lines[0], *lines[2:]],
    ):
        log.write_bytes(b"".join(changed))
        said = shared_place.arena("verify", run, "-n", "0", code=1).stderr
        assert "events.jsonl: line" in said
        assert "does not follow the line before it" in said


def test_a_tag_moved_to_another_commit_is_found(run: Path, shared_place: Place) -> None:
    git(Record.read(run), "a", "update-ref", "refs/tags/round-001", "refs/tags/round-002")
    assert "round 1: the codebase of a is not the one that was played" in _problems(shared_place, run, "-n", "0")


def test_another_content_under_the_name_of_a_blob_is_found(run: Path, shared_place: Place) -> None:
    record = Record.read(run)
    blob = git(record, "a", "rev-parse", "round-001:note").strip()
    repo = record.repo_path("a")
    subprocess.run(["git", f"--git-dir={repo}", "unpack-objects"], check=False, stdin=subprocess.DEVNULL)
    loose = repo / "objects" / blob[:2] / blob[2:]
    if not loose.exists():  # it is in a pack: unpack
        for pack_file in list((repo / "objects/pack").glob("*.pack")):
            moved = run / pack_file.name
            pack_file.rename(moved)
            pack_file.with_suffix(".idx").unlink()
            subprocess.run(["git", f"--git-dir={repo}", "unpack-objects", "-q"], check=True, stdin=moved.open("rb"))
    other = git(record, "a", "rev-parse", "round-002:note").strip()
    loose.chmod(0o644)
    shutil.copy(repo / "objects" / other[:2] / other[2:], loose)
    said = shared_place.arena("verify", run, code=1).stderr
    assert "damaged" in said


def test_replays_that_are_not_those_of_their_match_are_found(run: Path, shared_place: Place) -> None:
    replays = run / "rounds/001/replays"
    first, second = sorted(replays.iterdir())
    names = [path.name.removesuffix(".json.gz") for path in (first, second)]
    swapped = first.read_bytes(), second.read_bytes()
    second.write_bytes(swapped[0])
    assert f"match {names[1]}: its replay does not end in its result" in _problems(shared_place, run, "-n", "0")
    second.write_bytes(swapped[1])
    _edit_replay(run, names[0], lambda raw: raw["moves"].pop())
    assert f"match {names[0]}: its replay does not end in its result" in _problems(shared_place, run, "-n", "0")
    _edit_replay(run, names[0], lambda raw: raw.pop("moves"))
    first.rename(replays / "001-00-0002-1.json.gz")
    _edit_replay(run, names[1], lambda raw: raw.update(moves=[{"9": {}}]))
    problems = _problems(shared_place, run, "-n", "0")
    assert any(p.startswith(f"match {names[0]}: its replay is damaged") for p in problems)
    assert any(p.startswith(f"match {names[1]}: its replay") for p in problems)


CLOCKED = """\
import time

SECOND = time.time_ns()


def move(state):
    return {"move": ("up", "left", "down", "right")[SECOND // 1000 * (state["turn"] + 3) % 1009 % 4]}
"""


def test_a_bot_that_uses_the_clock_is_reported_as_differing(shared_place: Place) -> None:
    place = shared_place
    players = [frozen("clocked", place.bot("clocked", CLOCKED)), frozen("b", place.bot("hungry", HUNGRY))]
    run = place.play(place.config(players, "clocked.yaml", rounds=0, matches=5), name="clocked-run")
    problems = _problems(place, run)
    assert any("state " in problem for problem in problems)


def test_another_version_of_the_game_is_refused(run: Path, shared_place: Place) -> None:
    _edit_json(run / "lock.json", lambda document: document.update(game_version="0"))
    assert "was played on battlesnake 0" in shared_place.arena("verify", run, code=1).stderr
