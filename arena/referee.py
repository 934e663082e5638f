"""The referee of turn games: owns engine, chance, clocks and result, and stands outside every sandbox."""

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena import seeds, tree
from arena.bot import Manifest, manifest
from arena.errors import GameError, SandboxError, SubmissionError, boundary
from arena.game import Engine, TurnGame
from arena.sandbox.base import Backend, Exit, Mount, ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.place import work_directory
from arena.seat import BotFault, Seat, explain
from arena.types import Batch, Code, Fault, Limits, Outcome, Pair, Played, seat_order

MAX_VOIDS = 3
BOT_FOLDER = "/bot"
MAX_TURNS = 100_000


class Bench:
    """The sandboxes of the players of a batch, one each, kept open from match to match."""

    def __init__(self, backend: Backend, batch: Batch) -> None:
        self._backend, self._batch = backend, batch
        self._folder = work_directory()
        self._manifests: dict[int, Manifest] = {}
        self._mounts: dict[int, Path] = {}
        self._open: dict[int, Sandbox] = {}

    def __enter__(self) -> Self:
        try:
            for player, code in enumerate(self._batch.codes):
                if self._batch.players[player] not in self._batch.absent:
                    self._manifests[player] = manifest(code)
                    self._mounts[player] = place(code, self._folder / str(player))
            self._open_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every sandbox and remove the files."""
        self.replace_all()
        shutil.rmtree(self._folder)

    def replace_all(self) -> None:
        """Close every sandbox; players get new ones as they need them."""
        for sandbox in self._open.values():
            sandbox.close()
        self._open.clear()

    def _open_all(self) -> None:
        opened = self._backend.open_many([self._spec(player) for player in self._manifests])
        self._open.update({player: opened[index] for index, player in enumerate(self._manifests)})

    def _spec(self, player: int) -> SandboxSpec:
        affinity = os.sched_getaffinity(0)
        return SandboxSpec(
            purpose="bot",
            label=self._batch.players[player],
            mounts=(Mount(self._mounts[player], BOT_FOLDER),),
            memory_mb=self._batch.limits.memory_mb,
            processes=self._batch.limits.threads,
            core=next(iter(affinity)) if len(affinity) == 1 else None,
            trusted=self._batch.trusted[player],
        )

    def __getitem__(self, player: int) -> Sandbox:
        """The running sandbox of `player`; a new one if the last was lost."""
        if player not in self._open:
            self._open[player] = self._backend.open(self._spec(player))
        return self._open[player]

    def lose(self, player: int) -> str:
        """Close the sandbox of `player` as lost; says "out of memory" where that was the bot's own doing."""
        sandbox = self._open.pop(player)
        reason = self._memory_reason() if sandbox.out_of_memory() else ""
        sandbox.close()
        return reason

    def explain(self, player: int, fault: Fault, exit_: Exit, stderr: str) -> Fault:
        """A closed pipe in the light of how the process ended, the memory limit included."""
        fault = explain(fault, exit_, stderr)
        if exit_.status == -signal.SIGKILL and fault.kind == "crash" and self[player].out_of_memory():
            return replace(fault, detail=self._memory_reason())
        return fault

    def _memory_reason(self) -> str:
        return f"out of memory: {self._batch.limits.memory_mb} MB are allowed"

    def lost(self) -> list[int]:
        """Players whose sandbox no longer answers."""
        return [player for player, sandbox in self._open.items() if not sandbox.answers()]

    def kept(self) -> bool:
        """Whether every bot can be kept for a batch: present, and hosted Python."""
        present = len(self._manifests) == len(self._batch.players)
        return self._batch.hosting == "kept" and present and all(m.entry for m in self._manifests.values())

    def process(self, player: int, seed: int, hosting: Any = "fresh") -> ProcessSpec:
        """What starts the bot of `player`."""
        limits, wanted = self._batch.limits, self._manifests[player]
        cpu = int(limits.start_seconds + limits.match_seconds + limits.move_seconds) + 2
        return ProcessSpec(
            kind="python" if wanted.entry else "exec",
            cwd=self[player].inside(BOT_FOLDER),
            entry=wanted.entry or "",
            argv=wanted.command or (),
            hosting=hosting,
            seed=seed,
            cpu_seconds=cpu * (len(self._batch.pairs) * len(self._batch.codes) if hosting == "kept" else 1),
            memory_mb=limits.memory_mb,
            processes=limits.threads,
        )


def place(code: Code, folder: Path) -> Path:
    """Put the files of `code` into the new `folder` and prove that they are what was tagged. Raises GameError."""
    tree.materialise(code.files, folder)
    tree.verify(folder, code.tree)
    return folder


def play(game: TurnGame, batch: Batch, backend: Backend) -> Iterator[Played]:
    """Every match of `batch`, in order of pair and rotation; void matches are yielded too, before their replay.

    Raises SandboxError when one match is void MAX_VOIDS times.
    """
    from arena import kept

    with Bench(backend, batch) as bench:
        if bench.kept():
            yield from kept.play(game, batch, bench)
            return
        for pair in batch.pairs:
            for rotation in range(len(batch.players)):
                yield from play_until_valid(game, batch, bench, pair, rotation)


def play_until_valid(game: TurnGame, batch: Batch, bench: Bench, pair: Pair, rotation: int) -> Iterator[Played]:
    """One match with a fresh process a bot; played again when our side spoilt it. Raises SandboxError."""
    for _ in range(MAX_VOIDS):
        started = time.perf_counter()
        order = seat_order(len(batch.players), rotation)
        outcome, void = None, ""
        try:
            outcome = _match(game, batch, bench, pair, order)
        except SandboxError as error:
            void = str(error)
            outcome = _blame_memory(game, bench, order, pair)
            bench.replace_all()  # one may still owe an answer, which would be taken for that to a later question
        seconds = time.perf_counter() - started
        yield Played(pair.index, rotation, pair.seed, outcome, "fresh", seconds, "" if outcome else void)
        if outcome is not None:
            return
    raise SandboxError(f"pair {pair.index} rotation {rotation} was void {MAX_VOIDS} times: {void}")


def _blame_memory(game: TurnGame, bench: Bench, order: Sequence[int], pair: Pair) -> Outcome | None:
    """After a lost sandbox: the forfeit of a bot that ran it out of memory, or None if it was no bot's doing."""
    table = Table(new_engine(game, len(order), pair.seed), game.id)
    for player in bench.lost():
        if reason := bench.lose(player):
            table.faults.append(Fault(order.index(player), "crash", reason))
    if not table.faults:
        return None
    table.play({})
    nobody, silent = (None,) * len(order), ("",) * len(order)
    return table.outcome(tuple(table.faults), nobody, silent, table.replay(pair.seed))


def new_engine(game: TurnGame, seats: int, seed: int) -> Engine:
    """A new match. Raises GameError."""
    with boundary(GameError, f"{game.id} could not start a match"):
        return game.engine(seats, seed)


def _match(game: TurnGame, batch: Batch, bench: Bench, pair: Pair, order: Sequence[int]) -> Outcome:
    table = Table(new_engine(game, len(order), pair.seed), game.id)
    seats: dict[int, Seat] = {}
    with ExitStack() as stack:
        for number, player in enumerate(order):
            if (reason := batch.absent.get(batch.players[player])) is not None:
                table.faults.append(Fault(number, "invalid_submission", reason))
                continue
            spec = bench.process(player, seeds.bot_seed(pair.seed, number))
            seats[number] = Seat(bench[player], spec, batch.limits)
            stack.callback(seats[number].close)
        for seat in seats.values():
            seat.rivals = tuple(seats.values())
        while not table.done:
            table.turn(seats)
        closed = {fault.seat for fault in table.faults if fault.kind == "closed_pipe"}
        for number, seat in seats.items():
            seat.ask_end(closed=number in closed)
        exits = {number: seat.take_end() for number, seat in seats.items()}
    faults = tuple(
        bench.explain(order[fault.seat], fault, exits[fault.seat], seats[fault.seat].stderr)
        if fault.seat in seats
        else fault
        for fault in table.faults
    )
    raw = table.replay(pair.seed) if pair.index < batch.replays or faults else None
    cpu = tuple(exits[number].cpu_seconds if number in exits else None for number in range(len(order)))
    stderr = tuple(seats[number].stderr if number in seats else "" for number in range(len(order)))
    return table.outcome(faults, cpu, stderr, raw)


class Table:
    """One engine and what was played on it: moves, faults, turns."""

    def __init__(self, engine: Engine, game: str) -> None:
        self.engine, self._game = engine, game
        self._engine_at_work = boundary(GameError, f"{game}: the engine failed")
        self.moves: list[dict[int, Mapping[str, Any]]] = []
        self.fallen: list[tuple[int, int]] = []  # (turn, seat)
        self.faults: list[Fault] = []
        with self._engine_at_work:
            self._over = engine.done

    @property
    def done(self) -> bool:
        """Whether the engine has decided. Raises GameError when a match never ends."""
        if len(self.moves) > MAX_TURNS:
            raise GameError(f"{self._game}: a match went on for more than {MAX_TURNS} turns")
        return self._over

    def questions(self) -> dict[int, str]:
        """What every seat that is to move sees. Raises GameError."""
        engine = self.engine
        with self._engine_at_work:
            return {seat: engine.observe(seat) for seat in engine.to_move()}

    def turn(self, seats: Mapping[int, Seat]) -> None:
        """Ask every seat that is to move, then hear every one: no bot waits for another."""
        turn = len(self.moves)
        questions = {seat: question for seat, question in self.questions().items() if seat in seats}
        faults: dict[int, BotFault] = {}
        replies: dict[int, Mapping[str, Any]] = {}
        for seat, question in questions.items():
            try:
                seats[seat].ask(question.encode() + b"\n")
            except BotFault as fault:
                faults[seat] = fault
        for seat in questions:
            if seat not in faults:
                try:
                    replies[seat] = seats[seat].answer()
                except BotFault as fault:
                    faults[seat] = fault
        self.faults += [fault.at(seat, turn) for seat, fault in faults.items()]
        self.play(replies)

    def play(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        """Apply the replies; seats that answered illegally, or whose fault of this turn is noted, fall out."""
        engine, turn = self.engine, len(self.moves)
        with self._engine_at_work:
            legal = {}
            for seat, reply in replies.items():
                if (reason := engine.illegal(seat, reply)) is None:
                    legal[seat] = reply
                else:
                    self.faults.append(
                        Fault(seat, "illegal_move", f"{reason}; answered {json.dumps(reply)[:300]}", turn)
                    )
            for fault in self.faults:
                if fault.turn == turn:
                    self.fallen.append((turn, fault.seat))
                    engine.forfeit(fault.seat)
            engine.apply(legal)
            self._over = engine.done
        self.moves.append(legal)

    def replay(self, seed: int) -> dict[str, Any]:
        """Raw material from which `frames` re-simulates the match."""
        moves = [{str(seat): reply for seat, reply in turn.items()} for turn in self.moves]
        return {"seats": self.seats, "seed": seed, "moves": moves, "fallen": [list(entry) for entry in self.fallen]}

    @property
    def seats(self) -> int:
        """Number of seats."""
        with self._engine_at_work:
            return len(self.engine.scores())

    def outcome(
        self,
        faults: tuple[Fault, ...],
        cpu: tuple[float | None, ...],
        stderr: tuple[str, ...],
        raw: Mapping[str, Any] | None,
    ) -> Outcome:
        """What the record keeps."""
        with self._engine_at_work:
            scores, details = tuple(self.engine.scores()), dict(self.engine.details())
            state = digest(self.engine, self.moves, faults)
        return Outcome(scores, len(self.moves), state, faults, details, cpu, stderr, raw)


def digest(engine: Engine, moves: Sequence[Mapping[int, Any]], faults: Sequence[Fault]) -> str:
    """SHA-256 over every legal reply of every turn, who fell out when, the scores and the last frame."""
    fell = [[fault.seat, fault.turn, fault.kind] for fault in faults]
    everything = [moves, fell, list(engine.scores()), engine.frame()]
    return hashlib.sha256(json.dumps(everything, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def frames(game: TurnGame, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Frames of a recorded match, re-simulated: the start, then one after each turn."""
    engine = new_engine(game, raw["seats"], raw["seed"])
    yield engine.frame()
    for _ in _simulate(engine, raw):
        yield engine.frame()


def replayed(game: TurnGame, raw: Mapping[str, Any], faults: Sequence[Fault]) -> tuple[tuple[float, ...], str]:
    """Scores and state hash of a recorded match, re-simulated; `faults` as recorded."""
    engine = new_engine(game, raw["seats"], raw["seed"])
    for _ in _simulate(engine, raw):
        pass
    moves = [{int(seat): reply for seat, reply in turn.items()} for turn in raw["moves"]]
    return tuple(engine.scores()), digest(engine, moves, faults)


def _simulate(engine: Engine, raw: Mapping[str, Any]) -> Iterator[None]:
    """Play the recorded moves, pausing after every turn."""
    for turn, replies in enumerate(raw["moves"]):
        for fell, seat in raw["fallen"]:
            if fell == turn:
                engine.forfeit(seat)
        engine.apply({int(seat): reply for seat, reply in replies.items()})
        yield


def validate(game: TurnGame, code: Code, backend: Backend, limits: Limits, *, trusted: bool) -> None:
    """Start the bot under match settings and ask for its first move. Raises SubmissionError, SandboxError."""
    seats = min(seats for seats in game.seats if seats > 1 or len(game.seats) == 1)
    batch = Batch(game.id, {}, 0, 0, ("submission",), (code,), (trusted,), (), limits)
    with Bench(backend, batch) as bench, ExitStack() as stack:
        seat = Seat(bench[0], bench.process(0, seed=0), limits)
        stack.callback(seat.close)
        table = Table(new_engine(game, seats, seeds.practice_seed(0, 0)), game.id)
        try:
            fault = _first_move(table, seat)
            if fault is None:
                return
            seat.ask_end(closed=fault.kind == "closed_pipe")
            fault = bench.explain(0, fault, seat.take_end(), seat.stderr)
        except SandboxError:
            if not (reason := bench.lose(0)):
                raise
            fault = Fault(0, "crash", reason)
        raise SubmissionError(f"{fault.kind} on the first move: {fault.detail}")


def _first_move(table: Table, seat: Seat) -> Fault | None:
    first, question = next(iter(table.questions().items()))
    try:
        seat.ask(question.encode() + b"\n")
        reply = seat.answer()
    except BotFault as fault:
        return fault.at(0, 0)
    with boundary(GameError, "the engine failed on a first move"):
        reason = table.engine.illegal(first, reply)
    return None if reason is None else Fault(0, "illegal_move", f"{reason}; answered {json.dumps(reply)[:300]}")
