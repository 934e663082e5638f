"""One bot of one match as the referee sees it: a process in a sandbox, two descriptors and a CPU clock.

The kernel, not the bot, tells which process is at the other end (SCM_CREDENTIALS), so the CPU time that judges it is
read from outside. Nothing here ever waits for a bot without a limit, neither reading nor writing.
"""

import fcntl
import json
import math
import os
import re
import signal
import socket
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from arena.errors import SandboxError
from arena.sandbox.base import Exit, ProcessSpec, Sandbox
from arena.sandbox.command import Bounded
from arena.types import Fault, FaultKind, Limits

READ_BYTES = 262_144
MAX_READS = 64
SLICE_SECONDS = 0.02  # how long to sit in one read before looking at clocks and stderr
_SLICE = struct.pack("ll", 0, int(SLICE_SECONDS * 1e6))
_CREDENTIALS = struct.Struct("3i")
_NO_BYTES = bytes(4)
ENDING_SECONDS = 0.5  # between closing its pipe and being gone, a crashing process may take this long
MAX_DETAIL = 500
MAX_NESTING = 64  # of a reply: what is read here is written again, at other depths of the stack


_IN_THE_CODEBASE = re.compile(r'File "[^"\n]{0,200}/bot/([^"\n]{1,200})", line (\d{1,9})')  # a line of a traceback


class BotFault(Exception):
    """The bot broke the rules of play; becomes a `Fault` of its seat."""

    def __init__(self, kind: FaultKind, detail: str, cpu: float | None = None, wall: float | None = None) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.cpu, self.wall = kind, detail[:MAX_DETAIL], cpu, wall

    def at(self, seat: int, turn: int) -> Fault:
        """The fault as the record keeps it."""
        return Fault(seat, self.kind, self.detail, turn, self.cpu, self.wall)


def wall_limit(cpu_limit: float, limits: Limits) -> float:
    """Wall-clock backstop, in seconds, of something that may take `cpu_limit` seconds of CPU time."""
    return max(cpu_limit * limits.wall_factor, cpu_limit + 2.0)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _no_number(text)


_decode = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite).decode


def decode(line: bytes) -> Any:
    """The value of a line of JSON as the standard has it: UTF-8, finite numbers, and nested MAX_NESTING deep at most.

    Raises ValueError.
    """
    try:
        value = _decode(line.decode())
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if line.count(b"[") + line.count(b"{") > MAX_NESTING and _depth(value) > MAX_NESTING:
        raise ValueError(f"nested deeper than {MAX_NESTING}")
    return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = [child for each in level for child in (each.values() if isinstance(each, dict) else each)]
    return depth


@lru_cache(maxsize=256)
def parse_reply(line: bytes) -> Mapping[str, Any]:
    """The JSON object of a reply line, not to be changed: equal lines share it. Raises BotFault."""
    try:
        reply = decode(line)
    except ValueError as error:
        raise BotFault("not_json", f"no JSON ({str(error)[:100]}): {line[:200]!r}") from error
    if not isinstance(reply, dict):
        raise BotFault("not_json", f"no JSON object: {line[:200]!r}")
    return reply


class Seat:
    """A started bot. Call `ask` and `answer` in turn, then `ask_end` and `take_end`, in any case `close`.

    `rivals`: the bots that share the match, and perhaps a core, with it.
    """

    def __init__(self, sandbox: Sandbox, spec: ProcessSpec, limits: Limits) -> None:
        self._sandbox, self._limits = sandbox, limits
        self._socket, theirs = socket.socketpair()
        self._errors, write_end = os.pipe()
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _SLICE)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SLICE)
            os.set_blocking(self._errors, False)
            sandbox.start(spec, theirs.fileno(), write_end)
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()
            os.close(write_end)
        self._stderr = Bounded(limits.stderr_bytes)
        self._stderr_open = True
        self._clock: int | None = None
        self._charged = self._wall_from = self._spent = 0.0
        self._received = 0
        self._allowed, self._banked = limits.start_seconds + limits.move_seconds, False
        self._overspent: BotFault | None = None
        self._ending = False
        self.rivals: Sequence[Seat] = ()
        self.exit: Exit | None = None

    @property
    def stderr(self) -> str:
        """What the bot logged: head and tail, undecodable bytes replaced."""
        return self._stderr.bytes().decode(errors="replace")

    def log(self) -> str:
        """`stderr`, after reading what is still in the pipe."""
        self._drain_stderr()
        return self.stderr

    @property
    def answered(self) -> bool:
        """Whether the bot has answered at least once: its start is over."""
        return self._received > 0

    def ask(self, line: bytes) -> None:
        """Send one request line. Raises BotFault when the bot doesn't take it in time, is gone, or spoke unasked."""
        if self._overspent is not None:
            raise self._overspent
        self._wall_from = time.perf_counter()
        if self._clock is not None and fcntl.ioctl(self._socket, termios.FIONREAD, _NO_BYTES) != _NO_BYTES:
            raise BotFault("not_json", "an answer that nobody had asked for")
        try:
            sent = self._socket.send(line)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise self._gone() from error
        if sent < len(line):
            self._push(memoryview(line)[sent:])

    def _push(self, rest: memoryview) -> None:
        """The bot isn't reading and its buffer is full: send on until its time is up."""
        if self._clock is None:
            self._meet()
        while rest:
            self._look_around()
            try:
                rest = rest[self._socket.send(rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._gone() from error

    def answer(self) -> Mapping[str, Any]:
        """The bot's reply to the last `ask`. Raises BotFault."""
        return parse_reply(self.answer_line(self._limits.reply_bytes))

    def answer_line(self, limit: int) -> bytes:
        """One line of at most `limit` bytes, in time. Raises BotFault."""
        if self._overspent is not None:
            raise self._overspent
        self._wall_from = time.perf_counter()  # the time we spent hearing others is not this bot's
        if self._clock is None:
            self._meet()
        data = self._receive()
        while not data.endswith(b"\n"):
            if len(data) > limit:
                raise BotFault("oversize", f"a line of more than {limit} bytes")
            self._check_clocks()
            data += self._receive()
        if len(data) > limit:
            raise BotFault("oversize", f"a line of more than {limit} bytes")
        if data.count(b"\n") > 1:
            raise BotFault("not_json", "more than one line in answer to one request")
        self._received += len(data)
        if self._banked and self._received > self._limits.replies_bytes:
            raise BotFault("oversize", f"more than {self._limits.replies_bytes} bytes of replies in one match")
        self._charge()
        return data

    def allow(self, cpu_seconds: float) -> None:
        """CPU seconds for the next answer, instead of the limit of one move; such answers don't count on the bank."""
        self._allowed = cpu_seconds
        self._banked = False

    def _meet(self) -> None:
        """Learn from the kernel which process this is, by its first byte."""
        while not self._met():
            self._check_wall()

    def _met(self, flags: int = 0) -> bool:
        try:
            data, ancillary, _, _ = self._socket.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size), flags)
        except BlockingIOError:
            return False
        except OSError as error:
            raise self._gone() from error
        if not data:
            raise self._gone()
        pid = _CREDENTIALS.unpack(ancillary[0][2])[0]
        if pid == 0:
            raise SandboxError("the sandbox does not run on this machine: its CPU time can't be read")
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        self._clock = (~pid << 3) | 2  # CPUCLOCK_SCHED of a process: what clock_getcpuclockid(3) computes
        return True

    def _receive(self) -> bytes:
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                self._look_around()
                continue
            except OSError as error:
                raise self._gone() from error
            if not data:
                raise self._gone()
            return data

    def _look_around(self) -> None:
        """While the bot keeps us waiting: empty its log, look at its clocks, and at those who may be in its way."""
        self._drain_stderr()
        self._check_clocks()
        for rival in self.rivals:
            if rival is not self:
                rival.halt_if_late()

    def halt_if_late(self) -> None:
        """End a bot that has overspent while we wait for another, or it could starve that one until its time is up.

        Its own fault is raised when it is next asked or heard.
        """
        if self._overspent is not None:
            return
        try:
            if self._clock is None and not self._met(socket.MSG_DONTWAIT):
                return
        except BotFault:  # found again when it is heard
            return
        used = self._cpu() - self._charged
        if used > self._allowed:
            self._overspent = self._late(used)
            self.ask_end()

    def _charge(self) -> None:
        """Everything since the last answer counts, so thinking while others are on the move is no gain."""
        now = self._cpu()
        used, self._charged = now - self._charged, now
        if used > self._allowed:
            raise self._late(used)
        if self._banked:
            self._spent += used
            if self._spent > self._limits.match_seconds:
                detail = f"{self._spent:.3f} s of CPU time in one match; {self._limits.match_seconds:g} s are allowed"
                raise BotFault("match_timeout", detail, self._spent, self._wall())
        self._allowed, self._banked = self._limits.move_seconds, True

    def _cpu(self) -> float:
        if self._clock is None:
            return 0.0
        try:
            return time.clock_gettime(self._clock)
        except OSError:  # it is gone and reaped; what it used before it answered was within the last reading
            return self._charged

    def _wall(self) -> float:
        return time.perf_counter() - self._wall_from

    def _check_clocks(self) -> None:
        used = self._cpu() - self._charged
        if used > self._allowed:
            raise self._late(used)
        self._check_wall(used)

    def _check_wall(self, used: float = 0.0) -> None:
        wall, backstop = self._wall(), wall_limit(self._allowed, self._limits)
        if wall > backstop:
            detail = f"no answer within {backstop:g} s of wall time ({used:.3f} s of CPU time used)"
            raise BotFault("silence", detail, used, wall)

    def _late(self, used: float) -> BotFault:
        detail = f"{used:.3f} s of CPU time; {self._allowed:g} s are allowed"
        return BotFault("move_timeout" if self._banked else "start_timeout", detail, used, self._wall())

    def _gone(self) -> BotFault:
        """The other end is closed; whether by a crash is known at the end of the process."""
        return BotFault("closed_pipe", "the bot closed its end")

    def _drain_stderr(self) -> None:
        for _ in range(MAX_READS):  # a flood must not keep us from the clocks
            try:
                data = os.read(self._errors, READ_BYTES) if self._stderr_open else b""
            except BlockingIOError:
                return
            if not data:
                self._stderr_open = False
                return
            self._stderr.add(data)

    def ask_end(self, *, closed: bool = False) -> None:
        """Have the sandbox kill what runs. `closed`: the bot seems to be ending by itself. Raises SandboxError."""
        if self._ending:
            return
        self._ending = True
        if closed:
            self._sandbox.ask_wait(ENDING_SECONDS)
        else:
            self._sandbox.ask_end()

    def take_end(self) -> Exit:
        """How the bot ended; the rest of its log is read. Raises SandboxError."""
        self.exit = self._sandbox.take_exit()
        self._drain_stderr()
        return self.exit

    def close(self) -> None:
        """Close our descriptors."""
        self._socket.close()
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1


def _signal(number: int) -> str:
    known = {each.value for each in signal.Signals}
    return f"signal {number} ({signal.Signals(number).name})" if number in known else f"signal {number}"


def explain(fault: Fault, exit_: Exit, stderr: str) -> Fault:
    """A closed pipe seen in the light of how the process ended: a crash, if it ended by itself."""
    if fault.kind != "closed_pipe" or exit_.status is None:
        return fault
    how = f"killed by {_signal(-exit_.status)}" if exit_.status < 0 else f"ended with exit code {exit_.status}"
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    where = "".join(f" ({file}, line {line})" for file, line in _IN_THE_CODEBASE.findall(stderr)[-1:])
    detail = (f"{how}: {lines[-1].strip()}" if lines else how)[: MAX_DETAIL - len(where)] + where
    return Fault(fault.seat, "crash", detail, fault.turn, exit_.cpu_seconds, fault.wall_seconds)
