"""Settings of the game; the defaults are those of the 1994 draft hill."""

from typing import Self

from pydantic import Field, model_validator

from arena.game import GameConfig

MAX_SEATS = 8


class CoreWarConfig(GameConfig):
    """What pMARS is told. Lengths and distances in cells, `max_cycles` per warrior."""

    core_size: int = Field(default=8000, ge=64, le=1_000_000)
    max_cycles: int = Field(default=80_000, ge=1, le=10_000_000)
    max_processes: int = Field(default=8000, ge=1, le=1_000_000)
    max_length: int = Field(default=100, ge=1, le=1000)
    min_distance: int = Field(default=100, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """pMARS's own conditions, for every allowed number of warriors."""
        if self.max_length > self.min_distance:
            raise ValueError(f"max_length ({self.max_length}) must not exceed min_distance ({self.min_distance})")
        if self.core_size < MAX_SEATS * self.min_distance:
            raise ValueError(
                f"core_size ({self.core_size}) must be at least {MAX_SEATS} x min_distance ({self.min_distance})"
            )
        return self

    def options(self) -> tuple[str, ...]:
        """The settings as pMARS's command line takes them."""
        values = {
            "-s": self.core_size,
            "-c": self.max_cycles,
            "-p": self.max_processes,
            "-l": self.max_length,
            "-d": self.min_distance,
        }
        return tuple(part for option, value in values.items() for part in (option, str(value)))
