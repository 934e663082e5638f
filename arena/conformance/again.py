"""Plays the starter's matches once more, in a process of its own: `python -m arena.conformance.again < request.json`.

A request has `name` and `settings` of the game, `backend` and `pairs`; printed is the list of what must repeat.
"""

import json
import os
import subprocess
import sys
from typing import Any

from arena import registry
from arena.conformance.matches import Arena, essence
from arena.errors import GameError
from arena.sandbox.select import backend

_SECONDS = 300.0


def elsewhere(arena: Arena, pairs: int, hash_seed: int) -> list[Any]:
    """The essence of every match of the starter against itself, played by another process. Raises GameError."""
    request = {"name": arena.name, "settings": arena.settings, "backend": arena.backend.name, "pairs": pairs}
    done = subprocess.run(
        [sys.executable, "-m", "arena.conformance.again"],
        input=json.dumps(request),
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise GameError(f"another process could not play it: {done.stderr.strip()[-500:]}")
    said: list[Any] = json.loads(done.stdout)
    return said


def main() -> None:
    """Play what stdin asks for."""
    request = json.load(sys.stdin)
    game = registry.game(request["name"], request["settings"])
    arena = Arena(request["name"], request["settings"], game, backend(request["backend"]))
    played = arena.play([arena.starter] * arena.few, request["pairs"])
    json.dump([essence(each) for each in played], sys.stdout)


if __name__ == "__main__":
    main()
