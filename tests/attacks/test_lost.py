"""Sandboxes killed from outside, bots that never read, and bots that share a process for a whole batch."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from arena import referee, registry
from arena.errors import LimitExceeded, SandboxError, SubmissionError
from arena.game import GameConfig, TurnGame
from arena.sandbox.base import Backend, Sandbox, SandboxSpec, peer
from arena.types import Batch, Outcome, Pair, Played, ranks_of, seat_order
from arena.workspace import Allowance, SandboxWorkspace
from tests.attacks.arenas import LIMITS, PAIR, PATIENT, PYTHON, attacker, bout, code, honest, reference

Happened = Callable[[str, str], None]
PAIRS = (Pair(0, 11), Pair(1, 12), Pair(2, 13))


def first_process(sandbox: Sandbox) -> int:
    """Its process id on this side."""
    return peer(sandbox._control)


class Watched(Backend):
    """A real backend whose sandboxes are kept in `opened`; the first `doomed` of them are killed as they open."""

    name = "watched"

    def __init__(self, inner: Backend, doomed: int = 0) -> None:
        self.inner, self.doomed, self.opened = inner, doomed, list[Sandbox]()

    def check(self) -> None:
        self.inner.check()

    def isolation(self) -> Any:
        return self.inner.isolation()

    def open(self, spec: SandboxSpec) -> Sandbox:
        self.opened.append(self.inner.open(spec))
        if len(self.opened) <= self.doomed:
            os.kill(first_process(self.opened[-1]), signal.SIGKILL)
        return self.opened[-1]


def batch(**options: Any) -> Batch:
    codes = (honest(), honest())
    return Batch("battlesnake", {}, 1, 0, ("a", "b"), codes, (False, False), PAIRS, LIMITS, **options)


ALL = [(pair.index, rotation) for pair in PAIRS for rotation in (0, 1)]


def needs_root(backend: Backend) -> None:
    if os.geteuid() != 0 and backend.name == "docker":
        pytest.skip("only root can kill what is in a container: run as root")


def decided(played: Sequence[Played]) -> list[tuple[int, int]]:
    return [(each.pair, each.rotation) for each in played if each.outcome is not None]


def test_killed_from_outside(backend: Backend, happened: Happened) -> None:
    needs_root(backend)
    game, watched, played = registry.game("battlesnake"), Watched(backend), []
    for number, each in enumerate(referee.play(game, batch(), watched)):  # type: ignore[arg-type]
        played.append(each)
        if number == 1:
            os.kill(first_process(watched.opened[-1]), signal.SIGKILL)
            time.sleep(0.1)
    voids = [each for each in played if each.outcome is None]
    happened("sandbox killed from outside", f"{len(voids)} void and replayed, all {len(played) - len(voids)} there")
    assert decided(played) == ALL
    assert all(not each.outcome.faults for each in played if each.outcome)
    assert [(each.pair, each.rotation) for each in voids] == [(1, 0)]
    assert "the sandbox is gone" in voids[0].void


def test_killed_from_outside_while_kept(backend: Backend, happened: Happened) -> None:
    needs_root(backend)
    slow = code(
        {**PYTHON, "main.py": "import time, honest\ndef move(s):\n    time.sleep(0.002)\n    return honest.move(s)\n"}
    )
    watched = Watched(backend)
    matches = referee.play(registry.game("battlesnake"), replace(batch(), codes=(slow, slow), hosting="kept"), watched)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(list, matches)
        while len(watched.opened) < 2:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(first_process(watched.opened[-1]), signal.SIGKILL)
        played = result.result()
    happened(
        "sandbox killed from outside (kept bots)",
        f"{[each.hosting for each in played].count('fresh')} of 6 played singly, all there",
    )
    assert decided(played) == ALL
    assert all(not each.outcome.faults for each in played if each.outcome)
    assert any(each.hosting == "fresh" for each in played)


@pytest.mark.parametrize("which", [0, 1])
def test_exits_are_told_of_the_right_match(which: int, backend: Backend, happened: Happened) -> None:
    """After a void the other sandbox must not answer for an earlier match."""
    needs_root(backend)
    crashing = code({"bot.toml": 'entry = "main:move"\n', "main.py": "import sys\ndef move(state): sys.exit(7)\n"})
    play = replace(batch(), codes=(honest(), crashing))
    watched, details = Watched(backend), []
    for number, each in enumerate(referee.play(registry.game("battlesnake"), play, watched)):  # type: ignore[arg-type]
        details += [fault.detail for fault in each.outcome.faults] if each.outcome else ["void"]
        if number == 0:
            os.kill(first_process(watched.opened[which]), signal.SIGKILL)
            time.sleep(0.1)
    happened("exit reported after a void", f"{details.count('ended with exit code 7')} of 6 right")
    assert details.count("void") == 1
    assert details.count("ended with exit code 7") == 6


def test_three_voids_in_a_row_stop_the_batch(backend: Backend, happened: Happened) -> None:
    needs_root(backend)
    played = []
    with pytest.raises(SandboxError, match="pair 0 rotation 0 was void 3 times"):  # noqa: PT012
        for each in referee.play(registry.game("battlesnake"), batch(), Watched(backend, doomed=100)):  # type: ignore[arg-type]
            played.append(each)
    happened("sandbox killed three times in a row", "SandboxError after 3 voids, no match scored")
    assert [each.outcome for each in played] == [None] * 3


class _Wide:
    """Three turns in which everybody gets a megabyte to read."""

    def __init__(self, seats: int) -> None:
        self.alive, self.turn = list(range(seats)), 0
        self.fell = [4.0] * seats

    @property
    def done(self) -> bool:
        return self.turn >= 3 or len(self.alive) < 2

    def to_move(self) -> Sequence[int]:
        return tuple(self.alive)

    def observe(self, seat: int) -> str:
        return json.dumps({"seat": seat, "turn": self.turn, "pad": "x" * 1_000_000})

    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        return None

    def apply(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        self.turn += 1

    def forfeit(self, seat: int) -> None:
        self.alive.remove(seat)
        self.fell[seat] = float(self.turn)

    def scores(self) -> Sequence[float]:
        return self.fell

    def details(self) -> Mapping[str, Any]:
        return {}

    def frame(self) -> Mapping[str, Any]:
        return {}


class Wide(TurnGame):
    """A game of big requests."""

    id: ClassVar[str] = "wide"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = (2,)
    folder: ClassVar[Path] = Path(__file__).parent

    def engine(self, seats: int, seed: int) -> Any:
        return _Wide(seats)

    def render(self, frame: Mapping[str, Any]) -> str:
        return ""


READER = "def move(state): return {'turn': state['turn']}\n"
NON_READERS = {
    "asleep": ("import time\ntime.sleep(600)\n", ("silence",)),
    "answering": (
        "import os, time\nwhile True:\n    os.write(3, b'{}\\n')\n    time.sleep(0.05)\n",
        ("not_json", "silence"),
    ),
    "busy": ("while True: pass\n", ("start_timeout", "silence")),
    "reading a byte now and then": ("import os, time\nwhile os.read(3, 1): time.sleep(0.01)\n", ("silence",)),
    "stopped": ("import os\nos.kill(os.getpid(), 19)\n", ("silence",)),
}


def against_deaf(backend: Backend, source: str, seat: int) -> tuple[Outcome, float]:
    """The first match of a reader and a bot that never reads, on `seat`, and how long it took in seconds."""
    reader = code({"bot.toml": 'entry = "main:move"\n', "main.py": READER})
    deaf = code({"bot.toml": 'entry = "main:move"\n', "main.py": source + READER})
    codes = (deaf, reader) if seat == 0 else (reader, deaf)
    play = Batch("wide", {}, 1, 0, ("a", "b"), codes, (False, False), (Pair(0, 1),), replace(LIMITS, start_seconds=0.2))
    first = next(referee.play(Wide(GameConfig()), play, backend))
    assert first.outcome is not None
    return first.outcome, first.wall_seconds


def test_bots_that_never_read(backend: Backend, happened: Happened) -> None:
    """All at the same time, because all that they do is wait."""
    names = list(NON_READERS)
    with ThreadPoolExecutor(len(names)) as pool:
        played = list(pool.map(lambda i: against_deaf(backend, NON_READERS[names[i]][0], i % 2), range(len(names))))
    for number, (name, (outcome, seconds)) in enumerate(zip(names, played, strict=True)):
        seat, fault = number % 2, outcome.faults[0]
        happened(f"never reading 1 MB requests, {name}", f"{fault.kind}: {fault.detail[:80]}")
        assert [(each.seat, each.kind in NON_READERS[name][1]) for each in outcome.faults] == [(seat, True)]
        assert ranks_of(outcome.scores, outcome.faults)[1 - seat] == 1
        assert seconds < 6


KEPT = {
    "JSON bomb": "{'move': 'up', 'x': deep(975)}",
    "no list of answers": None,
    "illegal move": "{'move': 'north'}",
    "infinity": "{'move': 'up', 'x': float('inf')}",
}


@pytest.mark.parametrize("name", KEPT)
def test_kept_bots(name: str, backend: Backend, happened: Happened) -> None:
    """A breach in a group of matches is found again in the match it belongs to; the others are played as ever."""
    helper = "def deep(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x\n"
    answer = KEPT[name]
    act = f"    return {answer}\n" if answer else "    os.write(PROTOCOL, b'5\\n'); return honest(state)\n"
    body = helper + "def attack(state):\n" + act
    play = Batch("battlesnake", {}, 1, 0, ("a", "b"), (attacker(body, 0), honest()), (False, False), (PAIR,), LIMITS)
    play = replace(play, hosting="kept")
    played = list(referee.play(registry.game("battlesnake"), play, backend))  # type: ignore[arg-type]
    faults = [fault for each in played if each.outcome for fault in each.outcome.faults]
    happened(f"kept bots: {name}", f"{len(played)} matches, faults: {[fault.kind for fault in faults]}")
    assert len(played) == 2
    assert all(each.outcome for each in played)
    assert faults
    for each in played:
        assert each.outcome is not None
        assert all(seat_order(2, each.rotation)[fault.seat] == 0 for fault in each.outcome.faults)


def test_memory_beside_the_address_space(backend: Backend, happened: Happened) -> None:
    """Buffers of the kernel are no memory of a process; the group they are counted in must not fail on our side."""
    body = (
        "def attack(state):\n    pairs = []\n    try:\n        while True:\n"
        "            a, b = socket.socketpair(); a.setblocking(False); pairs += [a, b]\n"
        "            for plug in (a, b):\n"
        "                plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24); plug.setblocking(False)\n"
        "                try:\n                    while True: plug.send(b'x' * 60000)\n"
        "                except BlockingIOError: pass\n"
        "    except OSError: pass\n    return honest(state)\n"
    )
    result = bout(backend, attacker(body, 0), 0, PATIENT)
    kinds = [(fault.seat, fault.kind, fault.detail[:60]) for fault in result.attack.faults]
    happened("memory in buffers of the kernel", f"{kinds or 'bounded; the match went on'}")
    assert all(seat == 0 for seat, _, _ in kinds)
    assert not result.after.faults
    assert result.after.state_hash == reference(backend.name, PATIENT)


@pytest.mark.parametrize("source", ["bytearray(4 << 30)\n", "import os\nos._exit(3)\n", "while True: pass\n"])
def test_validation_of_a_hostile_submission(source: str, backend: Backend, happened: Happened) -> None:
    bad = code({"bot.toml": 'entry = "main:move"\n', "main.py": source + READER})
    with pytest.raises(SubmissionError) as caught:
        referee.validate(registry.game("battlesnake"), bad, backend, LIMITS, trusted=False)  # type: ignore[arg-type]
    happened(f"validation: {source.splitlines()[-1]}", str(caught.value)[:90])


def test_workspace_that_is_killed(backend: Backend, happened: Happened) -> None:
    needs_root(backend)
    allowance = Allowance(256, 32, 32, 4096, 1_000_000, 500, 20.0)
    with backend.open(SandboxSpec("work", "killed", memory_mb=256, processes=32, disk_mb=32)) as sandbox:
        workspace = SandboxWorkspace(sandbox, allowance)
        os.kill(first_process(sandbox), signal.SIGKILL)
        for attempt in (lambda: workspace.run("true"), workspace.snapshot, lambda: workspace.write("a", b"b")):
            with pytest.raises(SandboxError, match=r"gone|ended|answer"):
                attempt()
    happened("workspace killed from outside", "SandboxError, not an observation of the agent's")
    assert not issubclass(LimitExceeded, SandboxError)
