"""Runs `probe.py` inside sandboxes of any backend, the way bots are hosted."""

import json
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from arena.errors import SandboxError
from arena.sandbox.base import Backend, Mount, ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.command import Finished, run
from arena.sandbox.place import work_directory

FOLDER = "/conformance"
PROBE_SECONDS = 30.0
ROOMY_MB = 4096  # as a limit of one process: leaves the limit to the sandbox
Purpose = Literal["bot", "work"]
_SOURCE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a probe: how it ended, and its answer, None where it could not give one."""

    finished: Finished
    answer: Mapping[str, Any] | None

    def must(self) -> Mapping[str, Any]:
        """The answer. Raises SandboxError where there is none."""
        if self.answer is None:
            said = self.finished.stderr.decode(errors="replace").strip()[-300:]
            raise SandboxError(f"a probe ended with status {self.finished.exit.status} and no answer: {said}")
        return self.answer


class Inside:
    """An open sandbox that has the probe in it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self._spec = ProcessSpec(kind="python", cwd=sandbox.inside(FOLDER), entry="probe:answer")

    def process(self, **changes: Any) -> ProcessSpec:
        """The process that runs a probe; `changes` are fields of ProcessSpec."""
        return replace(self._spec, **changes)

    def try_(
        self, what: str, request: Mapping[str, Any] | None = None, *, timeout: float = PROBE_SECONDS, **changes: Any
    ) -> Told:
        """Try `what` inside. Raises SandboxError when the sandbox is lost over it."""
        line = json.dumps({"try": what, **(request or {})}).encode() + b"\n"
        finished = run(self.sandbox, self.process(**changes), timeout, stdin=line)
        return Told(finished, _answer(finished.stdout))


def _answer(output: bytes) -> Mapping[str, Any] | None:
    try:
        said = json.loads(output)
    except ValueError:  # it was killed, or flooded us
        return None
    return said if isinstance(said, dict) else None


@contextmanager
def opened(backend: Backend, purpose: Purpose = "work", **spec: Any) -> Iterator[Inside]:
    """A fresh sandbox with the probe in it; `spec` are fields of SandboxSpec. Raises SandboxError."""
    folder = work_directory()
    try:
        probe = folder / "probe"
        probe.mkdir()
        probe.chmod(0o755)
        shutil.copyfile(_SOURCE, probe / _SOURCE.name)
        (probe / _SOURCE.name).chmod(0o644)
        wanted = SandboxSpec(purpose, "conformance", mounts=(Mount(probe, FOLDER),), trusted=True, **spec)
        with backend.open(wanted) as sandbox:
            yield Inside(sandbox)
    finally:
        shutil.rmtree(folder)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Listening sockets of this machine that nothing inside a sandbox may reach."""

    tcp: socket.socket
    abstract: socket.socket
    name: str

    @property
    def request(self) -> dict[str, Any]:
        """Where they listen, as `probe.connect` wants it."""
        return {"tcp": self.tcp.getsockname()[1], "abstract": self.name}

    def visited(self) -> list[str]:
        """Which of them somebody connected to."""
        found = []
        for kind, listener in (("TCP over IPv4", self.tcp), ("an abstract Unix socket", self.abstract)):
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            found.append(kind)
        return found


@contextmanager
def listening() -> Iterator[Listeners]:
    """Listeners on the loopback device only, and one in the abstract name space, which belongs to a network too."""
    name = f"code-arena-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_INET) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        tcp.bind(("127.0.0.1", 0))
        abstract.bind("\0" + name)
        for listener in (tcp, abstract):
            listener.listen(8)
            listener.setblocking(False)
        yield Listeners(tcp, abstract, name)
