"""The official `move` request as text, put together by hand because a JSON encoder would cost more than the game."""

import hashlib
import json
from collections.abc import Iterable, Sequence

from games.battlesnake.config import Config
from games.battlesnake.geometry import Geometry

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")  # told apart by the colour-blind too
MAPS = {"royale": "royale", "constrictor": "constrictor"}


def snake_id(seat: int) -> str:
    """What the others see of a snake: its seat and nothing about who plays it."""
    return f"snake-{seat}"


def game_id(seed: int, seat: int) -> str:
    """A name for the match that tells nothing about `seed`.

    It differs by seat so that a program that keeps notes by game id is not confused when it plays both matches of a
    pair, which share a seed.
    """
    return hashlib.sha256(f"battlesnake game id|{seed}|{seat}".encode()).hexdigest()[:32]


def settings(config: Config) -> dict[str, object]:
    """The official RulesetSettings object."""
    feeds = config.ruleset != "constrictor"
    return {
        "foodSpawnChance": config.food_spawn_chance if feeds else 0,
        "minimumFood": config.minimum_food if feeds else 0,
        "hazardDamagePerTurn": config.hazard_damage,
        "royale": {"shrinkEveryNTurns": config.shrink_every_n_turns},
        "squad": {
            "allowBodyCollisions": False,
            "sharedElimination": False,
            "sharedHealth": False,
            "sharedLength": False,
        },
    }


class RequestWriter:
    """Writes the requests of one match. All that never changes is encoded once, here."""

    def __init__(self, config: Config, tables: Geometry, seats: int, seed: int, *, version: str, timeout: int) -> None:
        """`timeout`: milliseconds a move may take."""
        self._texts = tables.texts
        ruleset = {"name": config.ruleset, "version": f"arena-{version}", "settings": settings(config)}
        shared = {"map": MAPS.get(config.ruleset, "standard"), "timeout": timeout, "source": "custom"}
        self._games = [
            f'{{"game":{_json({"id": game_id(seed, seat), "ruleset": ruleset, **shared})},"turn":'
            for seat in range(seats)
        ]
        self._size = f',"board":{{"height":{config.height},"width":{config.width},"food":['
        self._names = [f'{{"id":"{snake_id(seat)}","name":"{snake_id(seat)}","health":' for seat in range(seats)]
        looks = [{"color": COLOURS[seat], "head": "default", "tail": "default"} for seat in range(seats)]
        self._looks = [f',"shout":"","squad":"","customizations":{_json(look)}}}' for look in looks]

    def cells(self, cells: Iterable[int]) -> str:
        """Coordinates, without the brackets of their array."""
        texts = self._texts
        return ",".join([texts[cell] for cell in cells])

    def snake(self, seat: int, health: int, body: Sequence[int]) -> str:
        """One Battlesnake object."""
        texts = self._texts
        squares = ",".join([texts[cell] for cell in body])
        return (
            f'{self._names[seat]}{health},"body":[{squares}],"latency":"0","head":{texts[body[0]]},'
            f'"length":{len(body)}{self._looks[seat]}'
        )

    def board(self, turn: int, food: str, hazards: str, snakes: Iterable[str]) -> str:
        """The part of a turn's request that all seats share: from the turn number to the end of the board."""
        return f'{turn}{self._size}{food}],"hazards":[{hazards}],"snakes":[{",".join(snakes)}]}},"you":'

    def request(self, seat: int, board: str, you: str) -> str:
        """One seat's whole request, from what `board` and `snake` gave."""
        return f"{self._games[seat]}{board}{you}}}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
