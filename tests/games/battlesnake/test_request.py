"""The request is the official one, equal to a plainly built object, and gives nothing away."""

import json
import random

import pytest

from games.battlesnake.config import Config
from games.battlesnake.game import Battlesnake
from games.battlesnake.request import game_id

MOVES = ["up", "down", "left", "right"]


def plain(config, frame, seat, seed):
    """The request built the slow and obvious way from a frame."""

    def points(pairs):
        return [{"x": x, "y": y} for x, y in pairs]

    colours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]
    snakes = [
        {
            "id": f"snake-{number}",
            "name": f"snake-{number}",
            "health": snake["health"],
            "body": points(snake["body"]),
            "latency": "0",
            "head": points(snake["body"])[0],
            "length": len(snake["body"]),
            "shout": "",
            "squad": "",
            "customizations": {"color": colours[number], "head": "default", "tail": "default"},
        }
        for number, snake in enumerate(frame["snakes"])
        if snake["cause"] is None
    ]
    feeds = config.ruleset != "constrictor"
    squad = dict.fromkeys(["allowBodyCollisions", "sharedElimination", "sharedHealth", "sharedLength"], False)
    return {
        "game": {
            "id": game_id(seed, seat),
            "ruleset": {
                "name": config.ruleset,
                "version": "arena-1",
                "settings": {
                    "foodSpawnChance": config.food_spawn_chance if feeds else 0,
                    "minimumFood": config.minimum_food if feeds else 0,
                    "hazardDamagePerTurn": config.hazard_damage,
                    "royale": {"shrinkEveryNTurns": config.shrink_every_n_turns},
                    "squad": squad,
                },
            },
            "map": config.ruleset if config.ruleset in ("royale", "constrictor") else "standard",
            "timeout": 100,
            "source": "custom",
        },
        "turn": frame["turn"],
        "board": {
            "height": config.height,
            "width": config.width,
            "food": points(frame["food"]),
            "hazards": points(frame["hazards"]),
            "snakes": snakes,
        },
        "you": next(snake for snake in snakes if snake["id"] == f"snake-{seat}"),
    }


@pytest.mark.parametrize("ruleset", ["standard", "royale", "wrapped", "constrictor", "solo"])
def test_the_request_equals_a_plainly_built_one_on_every_turn(ruleset):
    config = Config(ruleset=ruleset, shrink_every_n_turns=3)
    seats = 1 if ruleset == "solo" else 4
    for seed in range(15):
        engine, dice = Battlesnake(config).engine(seats, seed), random.Random(seed)
        while not engine.done:
            for seat in engine.to_move():
                text = engine.observe(seat)
                assert "\n" not in text
                assert json.loads(text) == plain(config, engine.frame(), seat, seed)
            engine.apply({seat: {"move": dice.choice(MOVES)} for seat in engine.to_move()})


def test_a_forfeit_shows_at_once():
    engine = Battlesnake(Config()).engine(3, 1)
    assert len(json.loads(engine.observe(0))["board"]["snakes"]) == 3
    engine.forfeit(1)
    assert [snake["id"] for snake in json.loads(engine.observe(0))["board"]["snakes"]] == ["snake-0", "snake-2"]


def test_the_eliminated_can_still_look():
    engine = Battlesnake(Config()).engine(2, 1)
    engine.forfeit(1)
    seen = json.loads(engine.observe(1))
    assert seen["you"]["id"] == "snake-1"
    assert [snake["id"] for snake in seen["board"]["snakes"]] == ["snake-0"]


def test_the_seed_is_nowhere_in_a_request():
    for seed in (0x1234_5678_9ABC_DEF0, 987_654_321_012_345_678):
        text = Battlesnake(Config()).engine(2, seed).observe(0)
        assert str(seed) not in text
        assert f"{seed:x}" not in text.lower()


def test_game_ids_differ_by_match_and_by_seat():
    assert len({game_id(seed, seat) for seed in range(50) for seat in range(4)}) == 200
    assert game_id(7, 0) == game_id(7, 0)
