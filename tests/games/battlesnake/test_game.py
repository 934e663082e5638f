"""The game as the arena sees it: settings, brief, rendering, board drawing."""

import json
import re
import shutil
import subprocess

import pytest

from arena import registry
from arena.errors import ConfigError
from games.battlesnake.config import Config
from games.battlesnake.game import Battlesnake


def test_the_registry_finds_it_with_defaults():
    game = registry.game("battlesnake")
    assert isinstance(game, Battlesnake)
    assert game.config == Config(ruleset="standard", width=11, height=11, food_spawn_chance=15, minimum_food=1)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"ruleset": "squad"}, "game_config.ruleset"),
        ({"width": 9}, "one odd number"),
        ({"width": 10, "height": 10}, "one odd number"),
        ({"width": 5, "height": 5}, "game_config.width"),
        ({"width": 27, "height": 27}, "game_config.width"),
        ({"food_spawn_chance": 101}, "game_config.food_spawn_chance"),
        ({"minimum_food": -1}, "game_config.minimum_food"),
        ({"shrink_every_n_turns": 0}, "game_config.shrink_every_n_turns"),
        ({"max_turns": 0}, "game_config.max_turns"),
        ({"wdith": 11}, "game_config.wdith"),
    ],
)
def test_wrong_settings_are_refused_by_name(config, words):
    with pytest.raises(ConfigError, match=re.escape(words)):
        registry.game("battlesnake", config)


def test_the_brief_states_the_limits_the_game_has():
    game = Battlesnake(Config())
    brief, limits = game.brief(), game.limits
    for words in (
        f"{limits.move_seconds * 1000:g} ms a move",
        f"{limits.match_seconds:g} s a match",
        f"{limits.start_seconds:g} s to start",
        f"threads are allowed ({limits.threads})",
        f"at most {limits.reply_bytes // 1024} KB",
        f"{Config().max_turns}",
        "bot.toml",
        "ARENA_SEED",
    ):
        assert words in brief


def test_the_example_request_in_the_brief_has_the_keys_of_a_real_one():
    example = Battlesnake(Config()).brief().split("```json")[1].split("```")[0]
    real = json.loads(Battlesnake(Config()).engine(2, 1).observe(0))

    def keys(value):
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    assert keys(json.loads(example)) - {"…"} == keys(real)


def test_render_shows_heads_bodies_food_hazards_and_states(place):
    engine = place(((1, 1), (2, 1), (3, 1)), ((8, 8),) * 3, food=[(5, 5)], hazards=[(0, 0)], ruleset="royale")
    lines = Battlesnake(Config()).render(engine.frame()).splitlines()
    assert lines[0] == "turn 0"
    rows = lines[1:12][::-1]  # from the bottom, as y grows
    assert rows[0].startswith("~ .")
    assert rows[1].startswith(". A a a .")
    assert rows[5][10] == "*"
    assert rows[8][16] == "B"
    assert lines[12:] == ["A  length   3  health 100", "B  length   3  health 100"]


def test_render_names_the_cause_and_takes_the_dead_off(place, turn):
    engine = place(((5, 10), (5, 9), (5, 8)), ((1, 1),) * 3)
    text = Battlesnake(Config()).render(turn(engine, "up", "up"))
    assert "A  length   3  wall-collision" in text
    assert "a" not in "".join(text.splitlines()[1:12])


def test_frames_survive_json(place, turn):
    engine = place(((5, 5),) * 3, ((1, 1),) * 3, food=[(5, 6)])
    frame = turn(engine, "up", "right")
    game = Battlesnake(Config())
    assert game.render(json.loads(json.dumps(frame))) == game.render(frame)


SCRIPT = """
import { setup, draw, legend } from "BOARD";
const frames = FRAMES;
const calls = {};
const canvas = { width: 480, height: 480 };
const ctx = new Proxy({ canvas }, { get: (own, name) => name === "canvas" ? canvas : (...args) => {
  if (args.some((a) => typeof a === "number" && !Number.isFinite(a))) throw new Error(`${name}(${args})`);
  calls[name] = (calls[name] || 0) + 1; }, set: () => true });
setup(ctx, frames[0]);
frames.forEach((frame, i) => draw(ctx, frame, i ? frames[i - 1] : null, 0.5));
console.log(JSON.stringify({ calls, legend }));
"""


def test_the_board_script_draws_every_frame(tmp_path, bots, place):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed (Debian: apt-get install nodejs)")
    frames = []
    for ruleset in ("royale", "wrapped"):
        engine = Battlesnake(Config(ruleset=ruleset, shrink_every_n_turns=5, max_turns=60)).engine(4, 2)
        while not engine.done:
            frames.append(engine.frame())
            engine.apply({seat: bots["greedy"](json.loads(engine.observe(seat))) for seat in engine.to_move()})
        frames.append(engine.frame())
    board = tmp_path / "board.mjs"
    shutil.copy(Battlesnake.folder / "board.js", board)
    script = tmp_path / "draw.mjs"
    script.write_text(SCRIPT.replace("BOARD", str(board)).replace("FRAMES", json.dumps(frames)))
    done = subprocess.run([node, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    drawn = json.loads(done.stdout)
    assert drawn["calls"]["fillRect"] == len(frames)
    assert drawn["calls"]["strokeRect"] == 121 * len(frames)
    assert drawn["calls"]["arc"] > 0
    assert {entry["label"] for entry in drawn["legend"]} == {"seat 0", "seat 1", "seat 2", "seat 3", "food", "hazard"}
    assert len({(entry["colour"], entry["shape"]) for entry in drawn["legend"]}) == 6
