"""The configs under examples/ load, and the demo's improver improves."""

import json
import random
import runpy
from pathlib import Path

import pytest
import yaml

from agents.scripted import Script
from arena import config
from games.battlesnake.config import Config
from games.battlesnake.game import Battlesnake

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = EXAMPLES / "demo" / "scripts"
CONFIGS = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.parent != SCRIPTS)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_is_valid_and_finds_its_scripts(path):
    assert config.load(path).config.players


def test_every_script_belongs_to_a_player():
    loaded = [config.load(path) for path in CONFIGS]
    used = {
        (each.base / player.options["script"]).resolve()
        for each in loaded
        for player in each.config.players
        if player.agent == "scripted"
    }
    assert used == set(SCRIPTS.glob("*.yaml"))


def test_every_bot_file_belongs_to_a_script():
    files = {path for folder in SCRIPTS.iterdir() if folder.is_dir() for path in folder.glob("*.*")}
    scripts = [Script.model_validate(yaml.safe_load(path.read_bytes())) for path in SCRIPTS.glob("*.yaml")]
    steps = [step for script in scripts for each in script.rounds.values() for step in each.steps]
    assert files == {SCRIPTS / step.source for step in steps if step.source}


@pytest.mark.parametrize(("before", "after"), [("bodies", "food"), ("food", "heads"), ("heads", "room")])
def test_each_bot_of_the_improver_beats_the_one_before(before, after):
    pairs = 25
    points = sum(_points(after, before, seed) for seed in range(pairs))
    assert points > 0.52 * 2 * pairs


def test_the_first_bot_of_the_improver_beats_the_starter():
    starter = Battlesnake(Config()).starter / "main.py"
    assert sum(_points("bodies", starter, seed) for seed in range(10)) > 12


def _points(name, rival, seed):
    """Points of the improver's bot `name` in a pair of matches against a bot of its own, or of a file."""
    bots = [_bot(name), _bot(rival)]
    game, points = Battlesnake(Config()), 0.0
    for seats in ((0, 1), (1, 0)):
        engine = game.engine(2, seed)
        random.seed(seed)
        while not engine.done:
            engine.apply({seat: bots[seats[seat]](json.loads(engine.observe(seat))) for seat in engine.to_move()})
        mine, theirs = (engine.scores()[seats.index(player)] for player in (0, 1))
        points += (mine > theirs) + 0.5 * (mine == theirs)
    return points


def _bot(source):
    path = source if isinstance(source, Path) else SCRIPTS / "improver" / f"{source}.py"
    return runpy.run_path(str(path))["move"]
