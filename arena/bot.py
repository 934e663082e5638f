"""`bot.toml`: how a codebase says what its bot is."""

import tomllib
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from arena.errors import SubmissionError
from arena.types import Code

FILE = "bot.toml"
MAX_BYTES = 16_384
MODULE_ENTRY = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"


class Manifest(BaseModel):
    """Either `entry` (Python, hosted for the bot) or `command` (any language); `build` runs once before play."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: str | None = Field(default=None, pattern=MODULE_ENTRY)
    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    build: str | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.entry is None) == (self.command is None):
            raise ValueError('give either entry = "module:name" or command = ["./program"]')
        return self


def manifest(code: Code) -> Manifest:
    """The manifest of `code`. Raises SubmissionError in one line that names file and key."""
    data = code.get(FILE)
    if data is None:
        raise SubmissionError(f'{FILE} is missing: it says how to start the bot, for example entry = "main:move"')
    if len(data) > MAX_BYTES:
        raise SubmissionError(f"{FILE} is longer than {MAX_BYTES} bytes")
    try:
        return Manifest.model_validate(tomllib.loads(data.decode()))
    except UnicodeDecodeError as error:
        raise SubmissionError(f"{FILE} is not UTF-8: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SubmissionError(f"{FILE} is no valid TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SubmissionError(f"{FILE}: {key}: {first['msg']}") from error
