"""Runs one command in a sandbox to its end, with what it prints bounded on this side."""

import os
import select
import socket
import time
from dataclasses import dataclass

from arena.errors import SandboxError
from arena.sandbox.base import Exit, ProcessSpec, Sandbox

READ_BYTES = 65_536
GRACE_SECONDS = 30.0  # for killing what a command left, beyond its own time


class Bounded:
    """Keeps the head and the tail of a stream of any length. `limit`: bytes kept in all."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take more of the stream."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half:
            del self._tail[: len(self._tail) - self._half]

    @property
    def omitted(self) -> int:
        """Bytes between head and tail that were dropped."""
        return max(0, self.total - 2 * self._half)

    def bytes(self) -> bytes:
        """Head and tail, with a line between them that says how much is missing."""
        if not self.omitted:
            return bytes(self._head + self._tail)
        note = f"\n[... {self.omitted} bytes left out ...]\n".encode()
        return bytes(self._head) + note + bytes(self._tail[len(self._tail) - self._half :])


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended and what it printed, bounded; `timed_out`: it was killed at its limit."""

    exit: Exit
    stdout: bytes
    stderr: bytes
    omitted_bytes: int
    seconds: float
    timed_out: bool


def run(
    sandbox: Sandbox,
    spec: ProcessSpec,
    timeout: float,
    *,
    stdin: bytes = b"",
    max_output: int = 65_536,
    merge: bool = False,
) -> Finished:
    """Run `spec` (kind "exec") for at most `timeout` seconds; every process it leaves behind is killed.

    `merge`: stderr goes into stdout as it comes. Raises SandboxError when the sandbox is lost.
    """
    ours, theirs = socket.socketpair()
    read_end, write_end = os.pipe()
    started = time.monotonic()
    try:
        sandbox.start(spec, theirs.fileno(), theirs.fileno() if merge else write_end)
        theirs.close()
        os.close(write_end)
        write_end = -1
        sandbox.ask_wait(timeout)
        pump = _Pump(sandbox, ours, read_end, stdin, max_output)
        pump.until_ended(started + timeout + GRACE_SECONDS)
        exit_ = sandbox.take_exit()
        pump.drain()
    finally:
        ours.close()
        theirs.close()
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)
    seconds = time.monotonic() - started
    omitted = pump.stdout.omitted + pump.stderr.omitted
    return Finished(exit_, pump.stdout.bytes(), pump.stderr.bytes(), omitted, seconds, exit_.status is None)


class _Pump:
    """Feeds stdin and collects both outputs until the sandbox reports the end of the command."""

    def __init__(self, sandbox: Sandbox, pipe: socket.socket, stderr: int, stdin: bytes, max_output: int) -> None:
        self._control, self._pipe, self._stderr, self._stdin = sandbox.fileno(), pipe, stderr, memoryview(stdin)
        self.stdout, self.stderr = Bounded(max_output), Bounded(max_output)
        self._hello = True  # the first byte is the host program's, not the command's
        pipe.setblocking(False)
        os.set_blocking(stderr, False)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(pipe, select.POLLIN | (select.POLLOUT if stdin else 0))
        self._poll.register(stderr, select.POLLIN)
        if not stdin:
            pipe.shutdown(socket.SHUT_WR)

    def until_ended(self, deadline: float) -> None:
        while (left := deadline - time.monotonic()) > 0:
            for descriptor, events in self._poll.poll(1000 * left):
                if descriptor == self._control:
                    return
                if descriptor == self._stderr:
                    self._read_stderr()
                elif events & select.POLLOUT and self._stdin:
                    self._write()
                elif descriptor == self._pipe.fileno():
                    self._read_stdout()
        raise SandboxError(f"the sandbox did not end a command within {GRACE_SECONDS:g} s of its time")

    def drain(self) -> None:
        """What is still in the pipes after the end."""
        while self._read_stdout():
            pass
        while self._read_stderr():
            pass

    def _read_stdout(self) -> bool:
        try:
            data = self._pipe.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._forget(self._pipe.fileno())
            return False
        if self._hello:
            data, self._hello = data[1:], False
        self.stdout.add(data)
        return True

    def _read_stderr(self) -> bool:
        try:
            data = os.read(self._stderr, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._forget(self._stderr)
            return False
        self.stderr.add(data)
        return True

    def _forget(self, descriptor: int) -> None:
        try:
            self._poll.unregister(descriptor)
        except KeyError:
            return

    def _write(self) -> None:
        try:
            sent = self._pipe.send(self._stdin[:READ_BYTES])
        except (BrokenPipeError, ConnectionResetError):
            sent = len(self._stdin)
        self._stdin = self._stdin[sent:]
        if not self._stdin:
            self._pipe.shutdown(socket.SHUT_WR)
            self._poll.modify(self._pipe, select.POLLIN)
