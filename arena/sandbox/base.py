"""Sandboxes: what is asked of a backend, and the handle on one that is running.

Every backend starts the same small program, `inside/host.py`, as the first process inside, and joins it to this side by
a Unix socket. The host program starts bots and commands on request and hands them file descriptors that we made, so
that nothing a bot writes is ever mistaken for something the host says.
"""

import array
import json
import select
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from arena.errors import SandboxError

CONTROL_BYTES = 65_536
START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine, visible inside, read-only."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What to start. `purpose` "bot": one process, no fork, nothing writable. "work": forks, /tmp and a bounded
    writable /work, for agents, builds and engines. `label` names the owner in listings. `core`: pin to it."""

    purpose: Literal["bot", "work"]
    label: str
    mounts: tuple[Mount, ...] = ()
    memory_mb: int = 1024
    processes: int = 64
    disk_mb: int = 64
    core: int | None = None
    trusted: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process inside a running sandbox.

    `kind` "python": host `entry` ("module:name") of `cwd` and speak JSON lines on the protocol descriptor; "exec": run
    `argv` with the protocol descriptor as stdin and stdout. `hosting` "kept" has one Python process play many matches.
    `seed` becomes ARENA_SEED and seeds Python's `random`. `fork` False denies new processes.
    """

    kind: Literal["python", "exec"]
    cwd: str
    entry: str = ""
    argv: tuple[str, ...] = ()
    hosting: Literal["fresh", "kept"] = "fresh"
    seed: int = 0
    fork: bool = False
    cpu_seconds: int = 60
    memory_mb: int = 1024
    processes: int = 64
    file_mb: int = 64
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended. `status` is the exit code, negative for a signal, None if it still ran and was killed.
    `cpu_seconds`: user and system time of the process and its waited-for children."""

    status: int | None
    cpu_seconds: float
    max_rss_kb: int = 0


@dataclass(frozen=True, slots=True)
class Isolation:
    """The isolation level really obtained, as the record keeps it; every value was observed, not assumed."""

    backend: str
    network: bool  # cut
    filesystem: bool  # own root, read-only
    processes: bool  # own process space
    user: int  # uid inside
    seccomp: bool
    memory: str  # "cgroup", "per-process", "none"
    image: str | None = None  # digest, where there is an image


class Sandbox:
    """A running sandbox. Use as a context manager; `close` is idempotent and leaves nothing behind.

    Not thread-safe. Raises SandboxError when the far end is gone.
    """

    def __init__(self, control: socket.socket, hello: Mapping[str, Any]) -> None:
        self._control = control
        self._hello = hello
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hello(self) -> Mapping[str, Any]:
        """What the host program observed of its own surroundings."""
        return self._hello

    def start(self, spec: ProcessSpec, protocol: int, stderr: int) -> None:
        """Start a process on the given descriptors; the caller closes its copies. Answers nothing: see `end`."""
        self.send({"op": "start", **asdict(spec)}, (protocol, stderr))

    def ask_end(self) -> None:
        """Ask for the end of everything inside but the host program; `take_exit` gives the answer."""
        self.send({"op": "end"})

    def ask_wait(self, seconds: float) -> None:
        """Like `ask_end`, but let the started process run for up to `seconds` more first."""
        self.send({"op": "wait", "seconds": seconds})

    def take_exit(self, timeout: float = 10.0) -> Exit:
        """The answer to `ask_end` or `ask_wait`: how the started process ended."""
        reply = self.receive(timeout)
        return Exit(reply["status"], reply["cpu"], reply["rss"])

    def inside(self, path: str) -> str:
        """`path` of a mount or of `/work` as programs of this sandbox must spell it."""
        return path

    def send(self, message: Mapping[str, Any], descriptors: Sequence[int] = ()) -> None:
        """One control message, at most CONTROL_BYTES long, with file descriptors attached."""
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        try:
            self._control.sendmsg([json.dumps(message).encode()], ancillary)
        except OSError as error:
            raise SandboxError(f"the sandbox is gone: {self.post_mortem()}") from error

    def receive(self, timeout: float) -> dict[str, Any]:
        """One control message. Raises SandboxError when the host program is gone or silent."""
        try:
            ready = select.select([self._control], [], [], timeout)[0]
            data = self._control.recv(CONTROL_BYTES) if ready else None
        except (OSError, ValueError) as error:
            raise SandboxError(f"the sandbox is gone: {self.post_mortem()}") from error
        if data is None:
            self._control.shutdown(socket.SHUT_RDWR)  # a late answer must not be taken for the next one
            raise SandboxError(f"the sandbox did not answer within {timeout:g} s")
        if not data:
            raise SandboxError(f"the sandbox is gone: {self.post_mortem()}")
        message: dict[str, Any] = json.loads(data)
        return message

    def fileno(self) -> int:
        """The control connection's descriptor, readable when an answer is there."""
        return self._control.fileno()

    def answers(self) -> bool:
        """Whether the host program is still there."""
        try:
            self.ask_end()
            self.take_exit()
        except SandboxError:
            return False
        return True

    def out_of_memory(self) -> bool:
        """Whether what runs inside met the memory limit of the whole sandbox; ask before `close`."""
        return False

    def post_mortem(self) -> str:
        """Why the sandbox is gone, as far as the backend can tell."""
        return "no reason known"

    def close(self) -> None:
        """Kill everything inside and remove every trace."""
        if not self._closed:
            self._closed = True
            self._control.close()
            self._remove()

    def _remove(self) -> None:
        """Backend's part of `close`."""


class Backend(ABC):
    """A way to make sandboxes. Instances are cheap; they hold no running sandbox."""

    name: ClassVar[str]

    @abstractmethod
    def check(self) -> None:
        """Raise PrerequisiteError, with the fix, unless this machine can make such sandboxes."""

    @abstractmethod
    def open(self, spec: SandboxSpec) -> Sandbox:
        """Start one. Raises SandboxError if it could not be started or is not isolated as it must be."""

    def open_many(self, specs: Sequence[SandboxSpec]) -> dict[int, Sandbox]:
        """Start several, by index in `specs`; all or none. Raises SandboxError."""
        opened: dict[int, Sandbox] = {}
        try:
            for index, spec in enumerate(specs):
                opened[index] = self.open(spec)
        except BaseException:
            for sandbox in opened.values():
                sandbox.close()
            raise
        return opened

    @abstractmethod
    def isolation(self) -> Isolation:
        """Open one, look, close it."""


def listen(path: Path) -> socket.socket:
    """A listening control socket at `path`, reachable from inside whatever uid runs there."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(1)
    return listener


def accept(
    listener: socket.socket, died: Callable[[], str | None], timeout: float = START_SECONDS
) -> tuple[socket.socket, dict[str, Any]]:
    """The control connection and the host program's hello. `died` says why the starting process is gone, or None.

    Raises SandboxError when it dies or stays silent.
    """
    deadline = time.monotonic() + timeout
    while not select.select([listener], [], [], 0.05)[0]:
        if (reason := died()) is not None:
            raise SandboxError(f"the sandbox did not start: {reason}")
        if time.monotonic() > deadline:
            raise SandboxError(f"the sandbox did not start within {timeout:g} s")
    control, _ = listener.accept()
    return control, Sandbox(control, {}).receive(max(0.1, deadline - time.monotonic()))


def peer(control: socket.socket) -> int:
    """Process id, on this side, of the host program behind `control`; 0 if it isn't on this machine."""
    pid, _uid, _gid = struct.unpack("3i", control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


def require_isolated(hello: Mapping[str, Any]) -> None:
    """Refuse a sandbox that isn't one. Raises SandboxError that names what is missing."""
    missing = [
        what
        for what, held in (
            ("a process space of its own", hello["pid"] == 1),
            ("a user other than root", hello["uid"] != 0),
            ("a cut network", set(hello["interfaces"]) <= {"lo"}),
            ("a system-call filter", hello["seccomp"]),
            ("a read-only root", not hello["root_writable"]),
        )
        if not held
    ]
    if missing:
        raise SandboxError(f"the sandbox lacks {', '.join(missing)}; nothing runs in it")
