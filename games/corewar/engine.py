"""pMARS in a sandbox of its own: assembles warriors and plays battles. See `games.corewar.pmars` for the programs."""

import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from arena.errors import GameError, SandboxError, SubmissionError
from arena.sandbox.base import Backend, Mount, ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.command import Finished, run
from arena.types import Limits
from games.corewar import pmars, warrior
from games.corewar.settings import CoreWarConfig
from games.corewar.warrior import Warrior

_NOT_ASSEMBLED, _NO_MEMORY = 3, 254  # exit codes of pMARS
_STEPS_A_SECOND = 5_000_000  # a tenth or less of what machines do
_INSIDE = "/engine"
_FRAME_BYTES, _FRAMES = 1_300, 96  # see driver/trace.c


@dataclass(frozen=True, slots=True)
class Battle:
    """What to play: which rotation of the seats, and pMARS's -F."""

    rotation: int
    position: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The core at one moment: `owners` has a character a block (seat digit or "."), `processes` and `heads` (block of
    the next instruction, -1: dead) a number a seat."""

    cycle: int
    owners: str
    processes: tuple[int, ...]
    heads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a battle, by seat: pMARS's score, and how many were alive when it died (0: it survived)."""

    cycles: int
    survivors: int
    scores: tuple[int, ...]
    alive_at_death: tuple[int, ...]
    frames: tuple[Frame, ...] = ()


class Mars:
    """pMARS in a running sandbox, under the settings of a game."""

    def __init__(self, sandbox: Sandbox, config: CoreWarConfig, limits: Limits) -> None:
        self._sandbox = sandbox
        self._config = config
        self._limits = limits

    def assemble(self, source: bytes, seats: int) -> Warrior:
        """Assemble in a process of its own, within `start_seconds` of CPU time; honest warriors take milliseconds.

        Raises SubmissionError with pMARS's complaint, SandboxError.
        """
        seconds = math.ceil(self._limits.start_seconds)
        argv = ("assemble", str(seats), *self._config.options(), "-")
        finished = self._run("arena-mars", argv, source, cpu=seconds, output=warrior.MAX_BYTES)
        status = finished.exit.status
        if status == 0:
            limits = self._config
            try:
                return warrior.parse(finished.stdout, core_size=limits.core_size, max_length=limits.max_length)
            except SubmissionError as error:
                said = warrior.complaint(finished.stderr)
                raise SubmissionError(f"{error}; pMARS says: {said}" if said else str(error)) from error
        if status == _NOT_ASSEMBLED:
            said = warrior.complaint(finished.stderr) or "pMARS gives no reason; take lines out until it does assemble"
            raise SubmissionError(f"{warrior.FILE} does not assemble: {said}")
        if status is None or finished.exit.cpu_seconds >= seconds:
            raise SubmissionError(f"{warrior.FILE} takes more than {seconds} s to assemble")
        if status == _NO_MEMORY:
            raise SubmissionError(f"{warrior.FILE} takes too much memory to assemble")
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
        raise SubmissionError(
            f"{warrior.FILE} makes the assembler crash ({how}): look for overlong numbers or expressions"
        )

    def play(self, warriors: Sequence[Warrior], battles: Sequence[Battle], *, trace: bool = False) -> list[Result]:
        """Play `battles` in one process. `trace`: with frames, some twenty times slower.

        Raises SandboxError when the machine does not get it done, GameError when the engine misbehaves.
        """
        seats = len(warriors)
        lines = "".join(one.numbers for one in warriors) + "".join(f"{b.rotation} {b.position}\n" for b in battles)
        steps = len(battles) * seats * self._config.max_cycles * (20 if trace else 1)
        size = len(battles) * (80 + 24 * seats + (_FRAME_BYTES * _FRAMES if trace else 0))
        argv = ("play", *self._config.options(), *["warrior"] * seats)
        program = "arena-mars-trace" if trace else "arena-mars"
        cpu = 10 + steps // _STEPS_A_SECOND
        finished = self._run(program, argv, lines.encode(), cpu=cpu, output=2 * size + 1_000)
        if finished.exit.status is None:
            raise SandboxError(f"pMARS did not finish {len(battles)} battles within {finished.seconds:.0f} s")
        if finished.exit.status != 0:
            said = finished.stderr.decode(errors="replace").strip()[-300:]
            raise GameError(f"pMARS ended with {finished.exit.status} during {len(battles)} battles: {said}")
        return list(_results(finished.stdout, seats, len(battles)))

    def _run(self, program: str, argv: Sequence[str], stdin: bytes, *, cpu: int, output: int) -> Finished:
        spec = ProcessSpec(
            kind="exec",
            cwd=self._sandbox.inside("/"),
            argv=(self._sandbox.inside(f"{_INSIDE}/{program}"), *argv),
            cpu_seconds=cpu,
            memory_mb=self._limits.memory_mb,
            file_mb=1,
        )
        # bytes kept are halved between head and tail, so `output` must be twice what may come to have it whole
        return run(self._sandbox, spec, timeout=4.0 * cpu + 10, stdin=stdin, max_output=output)


@contextmanager
def opened(backend: Backend, config: CoreWarConfig, limits: Limits, label: str, *, trusted: bool) -> Iterator[Mars]:
    """pMARS in a fresh sandbox, seen to work.

    Raises PrerequisiteError where it is not built, SandboxError, GameError where what is built does not run.
    """
    engine = pmars.require()
    with tempfile.TemporaryDirectory(prefix="code-arena-mars-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the cache may be out of reach for the sandbox's user
        for program in ("arena-mars", "arena-mars-trace"):
            shutil.copy(engine.folder / program, folder / program)
            (folder / program).chmod(0o755)
        spec = SandboxSpec("bot", label, mounts=(Mount(folder, _INSIDE),), trusted=trusted)
        with backend.open(spec) as sandbox:
            mars = Mars(sandbox, config, limits)
            try:
                mars.assemble(b"jmp 0, 0\n", 2)  # so that a broken engine is never taken for a broken warrior
            except SubmissionError as error:
                raise GameError(
                    f"the pMARS in {engine.folder} does not work, build it again ({pmars.FIX}): {error}"
                ) from error
            yield mars


def _results(output: bytes, seats: int, count: int) -> Iterator[Result]:
    """Read what `arena-mars play` printed. Raises GameError when it is not what it must be."""
    try:
        lines = output.decode("ascii").splitlines()
        if lines.pop() != "done":
            raise ValueError("no end mark")
        heads = [i for i, line in enumerate(lines) if line.startswith("battle ")]
        if len(heads) != count or (heads and heads[0] != 0):
            raise ValueError(f"{len(heads)} battles instead of {count}")
        for index, (first, after) in enumerate(zip(heads, [*heads[1:], len(lines)], strict=True)):
            yield _result(index, lines[first:after], seats)
    except (ValueError, IndexError) as error:
        raise GameError(f"arena-mars printed what is no result: {error}") from error


def _result(index: int, lines: Sequence[str], seats: int) -> Result:
    word, number, cycles, survivors, *rest = lines[0].split()
    if word != "battle" or int(number) != index or len(rest) != 2 * seats:
        raise ValueError(lines[0])
    values = tuple(int(field) for field in rest)
    frames = tuple(_frame(line, seats) for line in lines[1:] if line != "end")
    return Result(int(cycles), int(survivors), values[:seats], values[seats:], frames)


def _frame(line: str, seats: int) -> Frame:
    word, cycle, owners, *rest = line.split()
    if word != "frame" or len(rest) != 2 * seats:
        raise ValueError(line[:80])
    values = tuple(int(field) for field in rest)
    return Frame(int(cycle), owners, values[:seats], values[seats:])
