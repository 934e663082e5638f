"""What replays of every kind of game must hold."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from arena.conformance.check import demand
from arena.game import Game
from arena.types import Outcome


def as_recorded(came: Outcome) -> Mapping[str, Any]:
    """The replay of `came` after a trip through the record. Raises Unmet, ValueError where it can't be written."""
    demand(came.replay is not None, "a match whose replay was asked for has none")
    demand(all(math.isfinite(score) for score in came.scores), f"scores must be finite, not {came.scores}")
    raw: Mapping[str, Any] = json.loads(json.dumps(came.replay, allow_nan=False))
    return raw


def check_frames(game: Game, frames: Sequence[Mapping[str, Any]]) -> None:
    """Frames are there, can be written as JSON, and can be shown as text."""
    demand(frames, "the replay has no frames")
    for frame in frames:
        demand(json.loads(json.dumps(frame, allow_nan=False)), f"an empty frame: {frame}")
    for frame in (frames[0], json.loads(json.dumps(frames[-1]))):
        text = game.render(frame)
        demand(isinstance(text, str) and text.strip(), "a frame renders to no text")
