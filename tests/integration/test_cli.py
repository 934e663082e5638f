"""The command line as a user meets it: exit codes, messages, files, and output for machines."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter

from arena.config import TournamentConfig
from arena.record import Record
from tests.integration.runs import (
    ARENA,
    HUNGRY,
    LEGAL,
    PATIENCE,
    Place,
    facts,
    files_of,
    frozen,
    scripted,
    strict_json,
    wait_for,
    wait_for_line,
)

HEAVY = {"docker", "trueskill", "pydantic", "yaml", "concurrent.futures.process", "arena.config", "arena.record"}


def test_help_imports_nothing_heavy() -> None:
    command = [sys.executable, "-X", "importtime", ARENA, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for verb in ("run", "resume", "list", "show", "match", "replay", "verify", "games", "doctor", "init", "schema"):
        assert re.search(rf"\b{verb}\b", done.stdout)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert not {name for name in imported if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_version_and_no_arguments(place: Place) -> None:
    assert re.fullmatch(r"code-arena \d+\.\d+\.\d+\n", place.arena("--version").stdout)
    assert "Usage" in "".join(str(part) for part in place.start().communicate(timeout=PATIENCE))


def _config(place: Place, **settings: Any) -> Path:
    place.bot("legal")
    return place.config([frozen("a", "legal"), frozen("b", place.bot("hungry", HUNGRY))], **settings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rouns": 3}, "rouns: unknown key; did you mean rounds?"),
        ({"rounds": -1}, "rounds: Input should be greater than or equal to 0 (given: -1)"),
        ({"game": "chess"}, "no game is called 'chess'"),
        ({"game_config": {"width": 8}}, "game_config"),
        ({"game_config": {"widht": 7}}, "game_config.widht"),
        ({"players.0.agent": "gpt"}, "no agent is called 'gpt'"),
        ({"players.0.nmae": "x"}, "players.0.nmae: unknown key; did you mean name?"),
        ({"players.1.bot": None}, "players.1.bot: missing"),
        ({"players.1.options": {"script": "x"}}, "players.1.options.script"),
        ({"limits": {"move_second": 1}}, "limits.move_second: unknown key; did you mean move_seconds?"),
        ({"edit": {"steps": 0}}, "edit.steps"),
        ({"schedule": "all", "players": 5}, "players: 5 can't sit in one match"),
        ({"sandbox": "chroot"}, "sandbox"),
    ],
)
def test_a_wrong_config_is_refused_by_file_and_key_before_anything_starts(
    place: Place, change: dict[str, Any], said: str
) -> None:
    path = _config(place)
    document = yaml.safe_load(path.read_text())
    for key, value in change.items():
        parts = key.split(".")
        target = document
        for part in parts[:-1]:
            target = target[int(part)] if isinstance(target, list) else target[part]
        target[parts[-1]] = [{**document["players"][0], "name": str(n)} for n in range(5)] if value == 5 else value
    path.write_text(yaml.safe_dump(document))
    before = files_of(place.path)
    refused = place.arena("run", path, code=2)
    assert said in refused.stderr
    assert str(path) in refused.stderr
    assert refused.stderr.count("\n") <= 2
    assert files_of(place.path) == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("game: [", "no valid YAML"),
        ("- 1\n", "expected keys such as game, players, rounds"),
        ("game: battlesnake\ngame: corewar\n", "key 'game' is given twice"),
        ("game: battlesnake\n", "players: missing; add it"),
        ("\xff".encode("latin-1"), "no valid YAML"),
    ],
)
def test_a_file_that_is_no_config_is_refused(place: Place, content: str | bytes, said: str) -> None:
    path = place.write("bad.yaml", content)
    refused = place.arena("run", path, code=2).stderr
    assert said in refused
    assert str(path) in refused


def test_missing_files_and_folders_are_named(place: Place) -> None:
    assert "nowhere.yaml: No such file or directory" in place.arena("run", "nowhere.yaml", code=2).stderr
    config = place.config([frozen("a", "gone"), frozen("b", "house:gredy")])
    place.bot("legal")
    for override, said in (
        ("players.1.bot=legal", "bot 'gone': no such folder"),
        ("players.0.bot=legal", "'gredy' is no house bot of battlesnake; did you mean greedy?"),
    ):
        assert said in place.arena("run", config, override, "--output", place.path / override, code=2).stderr
    for verb in ("show", "verify", "resume", "replay"):
        refused = place.arena(verb, place.path / "nothing", code=1).stderr
        assert f"{place.path / 'nothing' / 'run.json'} can't be read" in refused


def test_untrusted_players_need_a_sandbox(place: Place) -> None:
    config = _config(place, sandbox="process")
    said = place.arena("run", config, "players.1.trusted=false", code=2).stderr
    assert "process isolates nothing, and b may not run without one" in said
    nowhere = {"PATH": str(_tools(place, "git")), "DOCKER_HOST": "unix:///nonexistent.sock"}
    said = place.arena("run", config, "sandbox=auto", "players.1.trusted=false", code=3, **nowhere).stderr
    assert "no sandbox works here, and b may not run without one: install bubblewrap" in said
    assert "bubblewrap: bubblewrap is not installed" in said
    said = place.arena("run", config, "sandbox=bubblewrap", code=3, **nowhere).stderr
    assert "apt-get install bubblewrap" in said
    run = place.path / "plain"
    said = place.arena("run", config, "sandbox=auto", "--output", run, **nowhere).stderr
    assert "NO ISOLATION" in said
    assert Record.read(run).lock.isolation["backend"] == "process"


def _tools(place: Place, *names: str) -> Path:
    """A PATH on which there is nothing but `names`."""
    folder = place.path / "tools"
    folder.mkdir()
    for name in names:
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True).stdout.strip()
        (folder / name).symlink_to(os.path.realpath(found))
    return folder


def test_without_git_the_run_says_so(place: Place) -> None:
    config = _config(place, sandbox="process")
    said = place.arena("run", config, code=3, PATH=str(_tools(place))).stderr
    assert "git is missing on this machine: apt-get install git" in said


def test_overrides_and_dry_run(place: Place) -> None:
    config = _config(place, rounds=9, matches=9)
    before = files_of(place.path)
    overrides = ["rounds=2", "matches=3", "players.0.name=ada", "game_config.max_turns=20", "limits.move_seconds=0.5"]
    plan = place.arena("run", config, *overrides, "--dry-run").stdout
    assert files_of(place.path) == before
    for part in ("ada", "rounds: 0 and 1 to 2", "6 a round (3 pairs a matchup), 18 in all", "worst-case cost: $0.00"):
        assert part in plan
    run = place.play(config, *overrides, "rounds=0")
    kept = Record.read(run).config
    assert (kept["rounds"], kept["matches"], kept["players"][0]["name"]) == (0, 3, "ada")
    assert (kept["game_config"]["max_turns"], kept["limits"]["move_seconds"]) == (20, 0.5)
    assert all(match.turns <= 20 for match in Record.read(run).matches(0))
    for wrong in ("rounds", "=3", "players.7.name=x", "players.x.name=x", "rounds.x=3", "rounds=["):
        assert f"override '{wrong}'" in place.arena("run", config, wrong, code=2).stderr


def test_schema_is_that_of_the_config(place: Place) -> None:
    schema = strict_json(place.arena("schema").stdout)
    assert schema == TypeAdapter(TournamentConfig).json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"game", "players", "rounds", "matches", "seed"}
    assert _dangling(schema, schema) == []


def _dangling(part: Any, schema: dict[str, Any]) -> list[str]:
    """References that lead nowhere."""
    if isinstance(part, dict):
        found = [name for value in part.values() for name in _dangling(value, schema)]
        reference = part.get("$ref", "")
        return found + [reference] * (bool(reference) and reference.removeprefix("#/$defs/") not in schema["$defs"])
    return [name for value in part for name in _dangling(value, schema)] if isinstance(part, list) else []


def test_init_writes_a_config_that_runs(place: Place) -> None:
    assert "next: arena run first.yaml" in place.arena("init", "first.yaml").stdout
    assert "is there already" in place.arena("init", "first.yaml", code=2).stderr
    run = place.play(place.path / "first.yaml", "matches=1", "rounds=1", f"sandbox={place.sandbox}")
    assert Record.read(run).run.status == "finished"


@pytest.fixture(scope="module")
def played(shared_place: Place) -> Path:
    """A finished run in a folder of runs."""
    place = shared_place
    steps = place.script("steps", {1: [{"run": "echo 1 > note"}]})
    players = [scripted("ada", steps, place.bot("legal")), frozen("bob", place.bot("hungry", HUNGRY))]
    return place.play(place.config(players, matches=2, replays=1), name="results/one")


def test_list_names_every_run_and_what_it_cannot_read(played: Path, shared_place: Place) -> None:
    bad = shared_place.write("results/two/run.json", "{}")
    rows = {Path(row["run"]).name: row for row in strict_json(shared_place.arena("list", "results", "--json").stdout)}
    assert rows["one"]["status"] == "finished"
    assert rows["one"]["players"] == ["ada", "bob"]
    assert rows["two"]["status"] == "unreadable"
    assert str(bad.parent.name) in rows["two"]["reason"]
    text = shared_place.arena("list", "results").stdout
    assert "finished" in text
    assert "unreadable" in text
    assert strict_json(shared_place.arena("list", "nothing", "--json").stdout) == []


def test_show_tells_how_it_went(played: Path, shared_place: Place) -> None:
    shown = strict_json(shared_place.arena("show", played, "--json").stdout)
    assert shown["run"]["rounds_done"] == 1
    assert [document["round"] for document in shown["rounds"]] == [0, 1]
    assert shown["rounds"][1]["winner"] == Record.read(played).round(1).winner
    text = shared_place.arena("show", played).stdout
    assert all(part in text for part in ("ada", "bob", "8 matches", f"record: {played}"))


def test_replay_shows_frames(played: Path, shared_place: Place) -> None:
    listed = shared_place.arena("replay", played).stdout
    assert all(name in listed for name in ("000-00-0000-0", "000-00-0000-1", "001-00-0000-0"))
    assert "0001" not in listed
    match = Record.read(played).matches(0)[0]
    whole = shared_place.arena("replay", played, match.match_id).stdout
    assert [int(n) for n in re.findall(r"(?m)^turn (\d+)", whole)] == [*range(match.turns + 1)]
    last = shared_place.arena("replay", played, match.match_id, "--frame", "-1").stdout
    assert f"turn {match.turns}\n" in last
    assert f"winner {match.winner or 'none'}" in last
    assert "--frame 999" in shared_place.arena("replay", played, match.match_id, "--frame", "999", code=2).stderr
    assert "names no match" in shared_place.arena("replay", played, "../../etc", code=1).stderr
    assert "can't be read" in shared_place.arena("replay", played, "000-00-0099-0", code=1).stderr


def test_match_plays_now(place: Place) -> None:
    place.bot("legal")
    place.bot("hungry", HUNGRY)
    place.bot("broken", "def move(:\n")
    options = [
        "--game",
        "battlesnake",
        "--sandbox",
        place.sandbox,
        "--trusted",
        "--set",
        "width=7",
        "--set",
        "height=7",
    ]
    said = strict_json(place.arena("match", "legal", "hungry", *options, "-n", "6", "--seed", "3", "--json").stdout)
    assert said["result"]["played"] == len(said["matches"]) == 6
    again = strict_json(place.arena("match", "legal", "hungry", *options, "-n", "6", "--seed", "3", "--json").stdout)
    assert [m["state_hash"] for m in again["matches"]] == [m["state_hash"] for m in said["matches"]]
    twice = place.arena("match", "legal", "legal", "house:greedy", *options, "-n", "3").stdout
    assert all(name in twice for name in ("legal (1)", "legal (2)", "house:greedy", "3 matches in"))
    for arguments, code, text in (
        (("legal", "hungry", "-n", "5"), 2, "-n 5: give a multiple of 2"),
        (("legal", "nothing", "-n", "2"), 2, "bot 'nothing': no such folder"),
        (("legal", "house:x", "-n", "2"), 2, "'x' is no house bot of battlesnake"),
        (("legal", "broken", "-n", "2"), 1, "broken is no valid submission"),
        (("legal", "legal", "-n", "2", "--set", "width"), 2, "--set width: write key=value"),
        (("legal", "legal", "-n", "2", "--set", "wdth=7"), 2, "game_config.wdth"),
    ):
        assert text in place.arena("match", *arguments, *options, code=code).stderr
    assert (
        "no game is called 'go'" in place.arena("match", "legal", "legal", "--trusted", "--game", "go", code=2).stderr
    )


def test_games_and_agents_are_listed(place: Place) -> None:
    games = {game["name"]: game for game in strict_json(place.arena("games", "list", "--json").stdout)}
    assert {"battlesnake", "corewar"} <= set(games)
    assert games["battlesnake"]["house_bots"]
    agents = strict_json(place.arena("agents", "list", "--json").stdout)
    assert {"scripted", "frozen"} <= set(agents)
    assert "battlesnake" in place.arena("games", "list").stdout
    assert "scripted" in place.arena("agents", "list").stdout
    assert "move" in place.arena("games", "rules", "battlesnake").stdout
    assert "no game is called" in place.arena("games", "rules", "go", code=2).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("phase", ["editing", "playing"])
def test_an_interrupted_run_is_paused_and_goes_on(place: Place, phase: str, number: signal.Signals) -> None:
    slow = LEGAL.replace("def move(state):\n", "import time\n\n\ndef move(state):\n    time.sleep(0.01)\n")
    steps = [{"run": "echo 1 > one"}, *([{"run": "sleep 20"}] if phase == "editing" else [])]
    players = [scripted("a", place.script("a", {1: steps}), place.bot("slow", slow)), frozen("b", place.bot("legal"))]
    config = place.config(players, rounds=phase == "editing", matches=3)
    process = place.start("run", config, "--output", place.path / "run")
    wait_for_line(process, phase)
    if phase == "editing":
        done = place.path / "run/players/a/001.steps.jsonl"
        wait_for("the first step", lambda: done.exists() and done.read_bytes().endswith(b"\n"), process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=10)
    assert process.returncode == 130, stdout + stderr
    assert stderr.endswith("interrupted\n")
    assert "Traceback" not in stderr
    run = Record.read(place.path / "run").run
    assert (run.status, run.reason) == ("paused", "interrupted")
    (listed,) = strict_json(place.arena("list", place.path, "--json").stdout)
    assert listed["status"] == "paused"
    if phase == "playing":
        place.arena("resume", place.path / "run")
        assert facts(place.path / "run") == facts(place.play(config, name="undisturbed"))


def test_output_that_nobody_reads_to_the_end_is_no_error(place: Place) -> None:
    done = subprocess.run(
        f"{ARENA} games rules corewar | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
        env=place.environment(),
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_the_record_says_what_was_asked_for(played: Path) -> None:
    record = Record.read(played)
    assert record.lock.argv[1] == "run"
    assert record.lock.isolation["backend"] in ("bubblewrap", "process")
    assert json.loads((played / "config.json").read_text())["players"][0]["name"] == "ada"
    assert [event.type for event in record.events()] == [
        "run_started",
        "round_closed",
        "edit_begun",
        "edit_finished",
        "round_closed",
        "run_finished",
    ]
