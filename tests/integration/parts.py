"""An agent and a game for the tests, found by import path as those of any user are."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from arena.agent import Agent, Brief, Budget, EditOutcome, Recorder, Workspace
from arena.game import EngineGame, GameConfig
from arena.sandbox.base import Backend
from arena.types import Batch, Code, Limits, Outcome, Played, Verdict


class Teller(Agent):
    """Writes what it was told into its codebase."""

    id: ClassVar[str] = "teller"

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        budget.charge_step()
        told = {key: value for key, value in asdict(brief).items() if key != "rules"}
        workspace.write(f"brief-{brief.round}.json", json.dumps(told).encode())
        recorder.step(thought="", command="brief", result=None, kind="write")
        return EditOutcome("submitted")


class Raiser(Agent):
    """Saves one change, then fails."""

    id: ClassVar[str] = "raiser"

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        budget.charge_step()
        workspace.write("saved", b"before it raised")
        recorder.step(thought="", command="saved", result=None, kind="write")
        raise LookupError("an agent of ours is broken")


class QuietConfig(GameConfig):
    """`fault` names a file; while it is there, the engine shows the fault that is written in it."""

    fault: str


class Quiet(EngineGame):
    """The first player wins every match, until the engine exits without results, or with results of other matches."""

    id: ClassVar[str] = "quiet"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = (2,)
    Config: ClassVar[type[GameConfig]] = QuietConfig
    folder: ClassVar[Path] = Path(__file__).parent
    config: QuietConfig

    def brief(self) -> str:
        return "none"

    def render(self, frame: Mapping[str, Any]) -> str:
        return str(frame)

    def validate(self, code: Code, backend: Backend, limits: Limits, *, trusted: bool) -> Verdict:
        return Verdict(True)

    def play(self, batch: Batch, backend: Backend) -> Iterator[Played]:
        fault = Path(self.config.fault).read_text() if Path(self.config.fault).exists() else ""
        if fault == "nothing":
            return
        for pair in batch.pairs:
            for rotation in range(2):
                scores = (1.0, 0.0) if rotation == 0 else (0.0, 1.0)
                state = hashlib.sha256(f"{pair.seed} {scores}".encode()).hexdigest()
                replay = {"frames": 1, "scores": list(scores)} if pair.index < batch.replays else None
                outcome = Outcome(scores, 1, state, replay=replay)
                seed = pair.seed + (fault == "another seed")
                yield Played(pair.index, rotation, seed, outcome, "engine", 0.0)
                if fault == "twice":
                    yield Played(pair.index, rotation, seed, outcome, "engine", 0.0)

    def frames(self, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield {"of": raw["frames"], "scores": raw["scores"]}
