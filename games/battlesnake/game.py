"""Battlesnake as the arena sees it."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from arena.errors import ConfigError
from arena.game import GameConfig, TurnGame
from arena.types import Limits
from games.battlesnake.config import Config as BattlesnakeConfig
from games.battlesnake.engine import BattlesnakeEngine, tables_for
from games.battlesnake.opening import opening
from games.battlesnake.request import RequestWriter

HOUSE_BOTS = ("random_walk", "greedy", "flood_fill", "lookahead")  # weakest first
LETTERS = "abcd"


class Battlesnake(TurnGame):
    """The official game for 2 to 4 snakes; `solo` is for one."""

    id: ClassVar[str] = "battlesnake"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = (1, 2, 3, 4)
    Config: ClassVar[type[GameConfig]] = BattlesnakeConfig
    limits: ClassVar[Limits] = Limits(move_seconds=0.1, match_seconds=10.0)
    folder: ClassVar[Path] = Path(__file__).parent

    config: BattlesnakeConfig

    def __init__(self, config: GameConfig) -> None:
        super().__init__(config)
        # A ruleset allows fewer player counts than the game; whoever asks the instance gets the ruleset's.
        vars(self)["seats"] = (1,) if self.config.ruleset == "solo" else (2, 3, 4)

    def house_bots(self) -> Mapping[str, Path]:
        """Name to folder of the four house bots, weakest first."""
        return {name: self.folder / "bots" / name for name in HOUSE_BOTS}

    def engine(self, seats: int, seed: int) -> BattlesnakeEngine:
        """A new match. Raises ConfigError when the ruleset is not for so many seats."""
        if seats not in self.seats:
            wanted = " or ".join(map(str, self.seats))
            raise ConfigError(f"game_config.ruleset: {self.config.ruleset} is for {wanted} seats, not {seats}")
        chance = random.Random(seed)  # noqa: S311 - must repeat from its seed
        tables, timeout = tables_for(self.config), round(self.limits.move_seconds * 1000)
        writer = RequestWriter(self.config, tables, seats, seed, version=self.version, timeout=timeout)
        return BattlesnakeEngine(self.config, opening(self.config, seats, chance), chance, writer)

    def render(self, frame: Mapping[str, Any]) -> str:
        """The board as text: heads are capital letters by seat, food `*`, hazards `~`; a line a snake below it."""
        width, height = frame["width"], frame["height"]
        squares = {tuple(point): "~" for point in frame["hazards"]}
        squares |= {tuple(point): "*" for point in frame["food"]}
        for letter, snake in zip(LETTERS, frame["snakes"], strict=False):
            if snake["cause"] is None:
                squares |= {tuple(point): letter for point in reversed(snake["body"])}
                squares[tuple(snake["body"][0])] = letter.upper()
        rows = [" ".join(squares.get((x, y), ".") for x in range(width)) for y in reversed(range(height))]
        states = [
            f"{letter.upper()}  length {snake['length']:3}  {snake['cause'] or 'health ' + str(snake['health'])}"
            for letter, snake in zip(LETTERS, frame["snakes"], strict=False)
        ]
        return "\n".join([f"turn {frame['turn']}", *rows, *states])
