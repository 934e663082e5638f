"""What a run is begun with, and what it takes to go on with it."""

import json
from pathlib import Path

import pytest

from arena import config, start
from arena.errors import ConfigError
from arena.record import Record
from arena.sandbox.process import ProcessBackend

SOURCE = json.dumps(
    {
        "game": "battlesnake",
        "rounds": 0,
        "matches": 1,
        "seed": 1,
        "players": [{"name": n, "agent": "frozen", "bot": "house:greedy", "trusted": True} for n in ("ann", "bob")],
    }
).encode()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    loaded = config.Loaded(config.parse(SOURCE, "test"), SOURCE, tmp_path)
    with start.create(loaded, ProcessBackend(), tmp_path / "results", argv=["arena", "run"]) as record:
        return record.path


def test_the_record_says_what_the_run_is_made_of(run: Path) -> None:
    lock = Record.read(run).lock
    assert (lock.game, lock.argv) == ("battlesnake", ("arena", "run"))
    assert lock.isolation["backend"] == "process"
    assert lock.isolation["network"] is False
    assert lock.packages["trueskill"] == "0.4.5"
    assert Record.read(run).config_source == SOURCE


def test_a_run_goes_on_where_its_paths_started(run: Path, tmp_path: Path) -> None:
    assert start.loaded_again(Record.read(run), None, ()).base == tmp_path


def test_a_run_of_another_version_of_the_game_does_not_go_on(run: Path) -> None:
    lock = json.loads((run / "lock.json").read_text())
    (run / "lock.json").write_text(json.dumps(lock | {"game_version": "0"}))
    with pytest.raises(ConfigError, match=r"was begun on battlesnake 0; this is 1: start a new run"):
        start.loaded_again(Record.read(run), None, ())


def test_a_changed_setting_is_refused_by_name(run: Path) -> None:
    with pytest.raises(ConfigError, match=r"^matches: differs"):
        start.loaded_again(Record.read(run), None, ("matches=2",))


def test_a_run_killed_before_its_first_event_needs_its_config(run: Path, tmp_path: Path) -> None:
    (run / "events.jsonl").write_bytes(b"")
    with pytest.raises(ConfigError, match="--config FILE"):
        start.loaded_again(Record.read(run), None, ())
    (tmp_path / "again.yaml").write_bytes(SOURCE)
    assert start.loaded_again(Record.read(run), tmp_path / "again.yaml", ()).base == tmp_path
