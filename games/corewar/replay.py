"""Replays: the frames of a battle as they are kept, shown and drawn."""

from collections.abc import Iterator, Mapping
from typing import Any

from games.corewar.engine import Result
from games.corewar.settings import CoreWarConfig

_WIDTH = 80


def keep(result: Result, config: CoreWarConfig) -> dict[str, Any]:
    """A traced battle as JSON-able data, at most about 120 KB."""
    blocks = len(result.frames[0].owners)
    return {
        "core_size": config.core_size,
        "block": -(-config.core_size // blocks),
        "seats": len(result.scores),
        "scores": list(result.scores),
        "cycles": result.cycles,
        "frames": [[f.cycle, f.owners, list(f.processes), list(f.heads)] for f in result.frames],
    }


def frames(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One dictionary a frame; `scores` is None until the last one, which has those of the battle."""
    last = len(raw["frames"]) - 1
    for index, (cycle, owners, processes, heads) in enumerate(raw["frames"]):
        yield {
            "core_size": raw["core_size"],
            "block": raw["block"],
            "cycle": cycle,
            "owners": owners,
            "processes": processes,
            "heads": heads,
            "scores": raw["scores"] if index == last else None,
        }


def text(frame: Mapping[str, Any]) -> str:
    """A frame as text: a letter a block for the seat that owns most of it, a capital where it executes next."""
    cells = [chr(ord("a") + int(owner)) if owner.isdigit() else "." for owner in frame["owners"]]
    for seat, head in enumerate(frame["heads"]):
        if head >= 0:
            cells[head] = chr(ord("A") + seat)
    rows = ["".join(cells[first : first + _WIDTH]) for first in range(0, len(cells), _WIDTH)]
    head_line = f"cycle {frame['cycle']}, {frame['block']} cells a character"
    return "\n".join([head_line, *rows, *_standings(frame)])


def _standings(frame: Mapping[str, Any]) -> Iterator[str]:
    for seat, processes in enumerate(frame["processes"]):
        state = f"{processes} process{'es' if processes != 1 else ''}" if processes else "dead"
        score = f", score {frame['scores'][seat]}" if frame["scores"] else ""
        owned = frame["owners"].count(str(seat))
        yield f"seat {seat} ({chr(ord('a') + seat)}): {state}, {owned} blocks{score}"
