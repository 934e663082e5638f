"""Settings of a Battlesnake game."""

from typing import Literal, Self

from pydantic import Field, model_validator

from arena.game import GameConfig

Ruleset = Literal["standard", "solo", "royale", "wrapped", "constrictor"]


class Config(GameConfig):
    """Defaults are the official ones; `max_turns` is ours (the official game has no end but elimination).

    Boards are square with an odd side: the published start positions are fixed for those only, and on them every
    head stands on squares of one colour, so that any two can meet.
    """

    ruleset: Ruleset = "standard"
    width: int = Field(default=11, ge=7, le=25)
    height: int = Field(default=11, ge=7, le=25)
    food_spawn_chance: int = Field(default=15, ge=0, le=100, description="percent, each turn")
    minimum_food: int = Field(default=1, ge=0, le=20, description="pieces kept on the board while there is room")
    hazard_damage: int = Field(default=14, ge=0, le=100, description="on top of the 1 that a move costs; royale")
    shrink_every_n_turns: int = Field(default=25, ge=1, description="turns between two shrinks of the board; royale")
    max_turns: int = Field(default=500, ge=1, le=5000, description="reaching it is a draw among the living")

    @model_validator(mode="after")
    def _board_is_square_and_odd(self) -> Self:
        if self.width != self.height or self.width % 2 == 0:
            raise ValueError(f"width and height must be one odd number such as 11, not {self.width} and {self.height}")
        return self
