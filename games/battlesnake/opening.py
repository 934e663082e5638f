"""Where a match begins: start squares and first food."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from games.battlesnake.config import Config
from games.battlesnake.geometry import Point

MAX_HEALTH = 100
START_LENGTH = 3


@dataclass(frozen=True, slots=True)
class Position:
    """A whole board: `bodies` (head first) and `healths` by seat, `food` and `hazards` in order of appearance."""

    bodies: tuple[tuple[Point, ...], ...]
    healths: tuple[int, ...]
    food: tuple[Point, ...]
    hazards: tuple[Point, ...]


def opening(config: Config, seats: int, chance: random.Random) -> Position:
    """A start position for 1 to 4 snakes, coiled up in the corners or at the edges' middles."""
    heads = _start_squares(config, chance)[:seats]
    return Position(
        bodies=tuple((head,) * START_LENGTH for head in heads),
        healths=(MAX_HEALTH,) * seats,
        food=() if config.ruleset == "constrictor" else _first_food(config, heads, chance),
        hazards=(),
    )


def _start_squares(config: Config, chance: random.Random) -> list[Point]:
    """The four corner or the four middle squares of the ring one step inside the walls, in random order."""
    low, middle, high = 1, config.width // 2, config.width - 2
    corners = [(low, low), (low, high), (high, low), (high, high)]
    middles = [(low, middle), (middle, low), (middle, high), (high, middle)]
    group = corners if chance.random() < 0.5 else middles
    return sorted(group, key=lambda _: chance.random())


def _first_food(config: Config, heads: Sequence[Point], chance: random.Random) -> tuple[Point, ...]:
    """One piece diagonal to each head, never nearer the centre nor in a corner, and one in the centre."""
    middle, last = config.width // 2, config.width - 1
    food: list[Point] = []
    for x, y in heads:
        free = [
            (fx, fy)
            for fx, fy in ((x - 1, y - 1), (x - 1, y + 1), (x + 1, y - 1), (x + 1, y + 1))
            if abs(fx - middle) + abs(fy - middle) >= abs(x - middle) + abs(y - middle)
            and not (fx in (0, last) and fy in (0, last))
            and (fx, fy) not in food
        ]
        if free:
            food.append(free[int(chance.random() * len(free))])
    if config.minimum_food > 0:
        food.append((middle, middle))
    return tuple(food)
