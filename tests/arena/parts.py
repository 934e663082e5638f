"""Small bots, codebases and sandboxes for tests of the parts that play."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox.base import Backend, Mount, ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.bubblewrap import Bubblewrap
from arena.sandbox.process import ProcessBackend
from arena.tree import code_of
from arena.types import Batch, Code, FileEntry, Limits, Pair
from tests.conformance.doubles import Guess

GUESS = "tests.conformance.doubles:Guess"
LIMITS = Limits(move_seconds=0.2, match_seconds=3.0, start_seconds=0.6, wall_factor=1.0, memory_mb=512)
PICK = 'def move(state):\n    return {"pick": 42}\n'


def backend(name: str) -> Backend:
    """The backend called `name`; skips where this machine has no bubblewrap."""
    if name == "process":
        return ProcessBackend()
    if not shutil.which("bwrap"):
        pytest.skip("bubblewrap sandbox: bubblewrap is not installed: apt-get install bubblewrap")
    return Bubblewrap()


def need(program: str, package: str) -> None:
    """Skip where `program` is missing."""
    if not shutil.which(program):
        pytest.skip(f"{program} is missing: apt-get install {package}")


def code(files: Mapping[str, str | bytes], *executable: str) -> Code:
    """A codebase of `files`."""
    return code_of(
        [
            FileEntry(
                path.encode(),
                "executable" if path in executable else "file",
                data if isinstance(data, bytes) else data.encode(),
            )
            for path, data in files.items()
        ]
    )


def python_bot(source: str = PICK, **more: str) -> Code:
    """A codebase whose bot is `move` of `source`."""
    return code({"bot.toml": 'entry = "main:move"\n', "main.py": source, **more})


def guess() -> Guess:
    """The game that most of these tests play: five turns, a number from 0 to 99 each."""
    return Guess(Guess.Config())


def batch(*codes: Code, pairs: int = 1, limits: Limits = LIMITS, **more: object) -> Batch:
    """A batch of the guessing game; players are called a, b, c."""
    plain: dict[str, object] = {
        "game": GUESS,
        "game_config": {},
        "round": 0,
        "matchup": 0,
        "players": tuple("abc"[: len(codes)]),
        "codes": codes,
        "trusted": (True,) * len(codes),
        "pairs": tuple(Pair(index, 1000 + index) for index in range(pairs)),
        "limits": limits,
        "sandbox": "process",
        "replays": pairs,
    }
    return Batch(**plain | more)  # type: ignore[arg-type]


def open_with(place: Backend, folder: Path, purpose: str = "bot") -> Sandbox:
    """A sandbox that sees `folder` as /bots."""
    return place.open(SandboxSpec(purpose, "test", (Mount(folder, "/bots"),), trusted=True))  # type: ignore[arg-type]


def hosted(sandbox: Sandbox, name: str, entry: str = "main:move", **more: object) -> ProcessSpec:
    """What starts the Python bot in /bots/`name`."""
    return ProcessSpec("python", sandbox.inside(f"/bots/{name}"), entry=entry, **more)  # type: ignore[arg-type]


def until(true: object, seconds: float = 5.0) -> None:
    """Wait until the function `true` says so; fails when it never does."""
    deadline = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


class Frail(ProcessBackend):
    """Sandboxes whose first process is killed as the first `losses` bots are started; `starved`: for their memory."""

    def __init__(self, losses: int, *, starved: bool = False) -> None:
        self.left, self.starved = losses, starved
        self.open_now: list[Any] = []

    def open(self, spec: SandboxSpec) -> Any:
        sandbox = super().open(spec)
        start = sandbox.start

        def start_and_lose(*arguments: Any) -> None:
            if self.left:
                self.left -= 1
                sandbox.out_of_memory = lambda: self.starved  # type: ignore[method-assign]
                sandbox._process.kill()
                sandbox._process.wait()
            start(*arguments)

        sandbox.start = start_and_lose  # type: ignore[method-assign]
        self.open_now.append(sandbox)
        return sandbox
