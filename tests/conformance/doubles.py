"""Small games, agents and sandboxes for the suites: honest ones that pass, and ones with one fault each."""

import hashlib
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict

from arena.agent import Agent, AgentOptions, EditOutcome
from arena.errors import LimitExceeded, SandboxError
from arena.game import EngineGame, GameConfig, TurnGame
from arena.sandbox.base import Backend, Isolation, SandboxSpec
from arena.sandbox.place import work_directory
from arena.sandbox.process import ProcessBackend
from arena.types import Batch, Code, Fault, Limits, Outcome, Played, Verdict, seat_order

TURNS = 5


class GuessEngine:
    """The honest engine."""

    def __init__(self, seats: int, seed: int) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.points, self.alive, self.turn, self.last = [0] * seats, set(range(seats)), 0, -1

    @property
    def done(self) -> bool:
        return self.turn >= TURNS or len(self.alive) <= (len(self.points) > 1)

    def to_move(self) -> Sequence[int]:
        return sorted(self.alive)

    def observe(self, seat: int) -> str:
        return json.dumps({"turn": self.turn, "last": self.last, "seat": seat})

    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        pick = reply.get("pick")
        return None if isinstance(pick, int) and 0 <= pick < 100 else "pick must be a number from 0 to 99"

    def target(self) -> int:
        return self.chance.randrange(100)

    def apply(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        self.turn, self.last = self.turn + 1, self.target()
        gaps = {seat: abs(reply.get("pick", 0) - self.last) for seat, reply in replies.items() if seat in self.alive}
        for seat, gap in gaps.items():
            self.points[seat] += gap == min(gaps.values())

    def forfeit(self, seat: int) -> None:
        self.alive.discard(seat)

    def scores(self) -> Sequence[float]:
        return [float(points) for points in self.points]

    def details(self) -> Mapping[str, Any]:
        return {"last": self.last}

    def frame(self) -> Mapping[str, Any]:
        return {"turn": self.turn, "last": self.last, "scores": list(self.points)}


class Guess(TurnGame):
    id: ClassVar[str] = "guess"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = (2, 3)
    limits: ClassVar[Limits] = Limits(move_seconds=0.05, start_seconds=0.5)
    folder: ClassVar[Path] = Path(__file__).parent / "guess"
    made: ClassVar[type[GuessEngine]] = GuessEngine

    def engine(self, seats: int, seed: int) -> GuessEngine:
        return self.made(seats, seed)

    def render(self, frame: Mapping[str, Any]) -> str:
        return f"turn {frame['turn']}: {frame['scores']}"


class _FirstSeatWins(GuessEngine):
    def scores(self) -> Sequence[float]:
        return [float(len(self.points) - seat) for seat in range(len(self.points))]


class Unfair(Guess):
    """Seat 0 always wins."""

    made = _FirstSeatWins


class _Unseeded(GuessEngine):
    def target(self) -> int:
        return os.urandom(1)[0] % 100


class Nondeterministic(Guess):
    made = _Unseeded


class _Hashing(GuessEngine):
    def target(self) -> int:
        return (super().target() + hash("a text")) % 100


class HashDependent(Guess):
    """The same within a process, another in the next."""

    made = _Hashing


class _Telling(GuessEngine):
    def observe(self, seat: int) -> str:
        return json.dumps({"seed": self.seed})


class SeedTelling(Guess):
    made = _Telling


class _Disturbed(GuessEngine):
    def observe(self, seat: int) -> str:
        return json.dumps({"noise": self.target()})


class DisturbedByLooking(Guess):
    made = _Disturbed


class _Lenient(GuessEngine):
    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        return None


class Lenient(Guess):
    """Takes any reply for a move."""

    made = _Lenient


class _Touchy(GuessEngine):
    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        return None if 0 <= reply["pick"] < 100 else "out of range"


class Touchy(Guess):
    """Raises over odd replies."""

    made = _Touchy


class _Deaf(GuessEngine):
    def forfeit(self, seat: int) -> None:
        return


class DeafToForfeits(Guess):
    made = _Deaf


class _Forgetful(GuessEngine):
    def details(self) -> Mapping[str, Any]:
        return {"object": str(os.urandom(4))}


class ForgetfulDetails(Guess):
    made = _Forgetful


class Versionless(Guess):
    version = ""


class _Lax(GameConfig):
    model_config = ConfigDict(extra="ignore")


class LaxSettings(Guess):
    Config = _Lax


class Unplayable(Guess):
    """Lacks something on every machine."""

    def prerequisites(self) -> Sequence[str]:
        return ("the dice are missing: buy dice",)


class Duel(EngineGame):
    """An engine game whose engine is a line of Python."""

    id: ClassVar[str] = "duel"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = (2, 3)
    folder: ClassVar[Path] = Path(__file__).parent / "duel"

    def number(self, code: Code) -> int | None:
        text = (code.get("number.txt") or b"").strip()
        return int(text) if text.isdigit() and len(text) < 3 else None

    def validate(self, code: Code, backend: Backend, limits: Limits, *, trusted: bool) -> Verdict:
        return Verdict(True) if self.number(code) is not None else Verdict(False, "number.txt holds no number")

    def order(self, seats: int, rotation: int) -> Sequence[int]:
        return seat_order(seats, rotation)

    def play(self, batch: Batch, backend: Backend) -> Iterator[Played]:
        numbers = [self.number(code) for code in batch.codes]
        for pair in batch.pairs:
            for rotation in range(len(numbers)):
                by_seat = [numbers[player] for player in self.order(len(numbers), rotation)]
                wanted = pair.index < batch.replays
                yield Played(pair.index, rotation, pair.seed, self.match(by_seat, pair.seed, wanted), "engine", 0.001)

    def match(self, numbers: Sequence[int | None], seed: int, wanted: bool) -> Outcome:
        chance = random.Random(seed)
        out = [number is None for number in numbers]
        drawn = [float((number + chance.randrange(100)) % 100) if number is not None else -1.0 for number in numbers]
        scores = tuple((50.0 if not gone else -1.0) for gone in out) if any(out) else tuple(drawn)
        digest = hashlib.sha256(json.dumps([scores, seed]).encode()).hexdigest()
        faults = tuple(Fault(seat, "rejected") for seat, gone in enumerate(out) if gone)
        return Outcome(scores, 1, digest, faults, replay=self.raw(scores) if wanted else None)

    def raw(self, scores: Sequence[float]) -> Mapping[str, Any]:
        return {"scores": list(scores)}

    def frames(self, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield {"scores": raw["scores"]}

    def render(self, frame: Mapping[str, Any]) -> str:
        return str(frame["scores"])


class Unrotated(Duel):
    """Forgets to swap the seats."""

    def order(self, seats: int, rotation: int) -> Sequence[int]:
        return range(seats)


class LyingReplay(Duel):
    """Shows another result than it recorded."""

    def raw(self, scores: Sequence[float]) -> Mapping[str, Any]:
        return {"scores": [score + 1 for score in scores]}


class Credulous(Duel):
    """Lets everything play, and gives what is no number the first prize."""

    def validate(self, code: Code, backend: Backend, limits: Limits, *, trusted: bool) -> Verdict:
        return Verdict(True)

    def number(self, code: Code) -> int | None:
        return super().number(code) or 0


class Diligent(Agent):
    """Does two honest steps."""

    id: ClassVar[str] = "diligent"

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        for command in ("echo one > one.txt", "cat one.txt main.py"):
            budget.charge_step()
            recorder.step(thought="", command=command, result=workspace.run(command, budget.step_seconds))
        return EditOutcome("submitted")


class Rogue(Diligent):
    """Leaves a file on this machine."""

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        Path(os.devnull).write_text("around the workspace")
        return super().edit(brief, workspace, budget, recorder)


class Freeloader(Agent):
    """Charges nothing."""

    id: ClassVar[str] = "freeloader"

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        recorder.step(thought="", command="ls", result=workspace.run("ls"))
        return EditOutcome("submitted")


class Swallower(Diligent):
    """Takes the loss of its sandbox for the end of its work."""

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        try:
            return super().edit(brief, workspace, budget, recorder)
        except SandboxError:
            return EditOutcome("submitted", "as far as it went")


class PoorLoser(Diligent):
    """Breaks down when its budget is spent."""

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        try:
            return super().edit(brief, workspace, budget, recorder)
        except LimitExceeded as error:
            raise RuntimeError("but I was not done") from error


class Clumsy(Agent):
    id: ClassVar[str] = "clumsy"

    def edit(self, brief, workspace, budget, recorder) -> EditOutcome:
        raise ZeroDivisionError("oops")


class _LaxOptions(AgentOptions):
    model_config = ConfigDict(extra="ignore")


class LaxOptions(Diligent):
    Options = _LaxOptions


class _NeedyOptions(AgentOptions):
    model: str


class Needy(Diligent):
    """Can't do without an option."""

    Options = _NeedyOptions


class Pretender(ProcessBackend):
    """Isolates nothing and says it does."""

    name = "pretender"

    def isolation(self) -> Isolation:
        return Isolation(self.name, True, True, True, 1000, True, "per-process")


class Talkative(ProcessBackend):
    """Hands this machine's environment in."""

    name = "talkative"

    def isolation(self) -> Isolation:
        return replace(super().isolation(), backend=self.name)

    def open(self, spec: SandboxSpec) -> Any:
        return super().open(replace(spec, environment=dict(os.environ)))


class Litterer(ProcessBackend):
    """Leaves a folder behind for every sandbox."""

    name = "litterer"

    def __init__(self) -> None:
        self.left: list[Path] = []

    def isolation(self) -> Isolation:
        return replace(super().isolation(), backend=self.name)

    def open(self, spec: SandboxSpec) -> Any:
        self.left.append(work_directory())
        return super().open(spec)


class Trusting(ProcessBackend):
    """Opens for anybody."""

    name = "trusting"

    def isolation(self) -> Isolation:
        return replace(super().isolation(), backend=self.name)

    def open(self, spec: SandboxSpec) -> Any:
        return super().open(replace(spec, trusted=True))
