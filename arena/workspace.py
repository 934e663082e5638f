"""An agent's workspace: its codebase at /work in a sandbox, and the only ways in and out of it.

The codebase lives on a bounded file system inside the sandbox. Files cross as one stream, written by the host program
while nothing of the agent's runs, and go from there into our repository: no file of an agent ever lies on this
machine under a name that the agent chose, and no git of ours ever runs where an agent could have set a trap.
"""

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from arena.agent import CommandResult
from arena.errors import LimitExceeded, SandboxError, SubmissionError
from arena.sandbox.base import ProcessSpec, Sandbox
from arena.sandbox.command import run
from arena.sandbox.inside.files import END, EXECUTABLE, FILE, HEADER, SYMLINK
from arena.tree import check_paths, left_out
from arena.types import FileEntry, FileKind

FOLDER = "/work"
STREAM_SECONDS = 60.0
MAX_COMMAND_BYTES = 131_071  # the system takes no longer argument
_TIMED_OUT, _NOT_RUN = 124, 126
_KINDS: dict[FileKind, int] = {"file": FILE, "executable": EXECUTABLE, "symlink": SYMLINK}
_NAMES: dict[int, FileKind] = {number: name for name, number in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class Allowance:
    """What commands and codebase of a workspace may use."""

    memory_mb: int
    processes: int
    disk_mb: int
    output_bytes: int
    codebase_bytes: int
    codebase_files: int
    step_seconds: float


class SandboxWorkspace:
    """The `Workspace` of an open sandbox. Raises SandboxError when that is lost."""

    def __init__(self, sandbox: Sandbox, allowance: Allowance) -> None:
        self._sandbox, self._allowance = sandbox, allowance
        self._refused = ""  # why the codebase as it was last seen could not be saved
        self.folder = sandbox.inside(FOLDER)

    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        """Run `command` in a fresh `bash` in the codebase; every process it leaves is killed."""
        size = len(json.dumps(command))  # as it crosses to the sandbox, never shorter than it is itself
        if size > MAX_COMMAND_BYTES:
            output = f"[not run: the command has {size} bytes, {MAX_COMMAND_BYTES} are allowed: write files in parts]\n"
            return CommandResult(_NOT_RUN, output, 0.0)
        allowed, argv = self._allowance, ("/bin/bash", "--norc", "--noprofile", "-c", command)
        return self._run(argv, min(timeout or allowed.step_seconds, allowed.step_seconds))

    def _run(self, argv: tuple[str, ...], timeout: float) -> CommandResult:
        allowed = self._allowance
        spec = ProcessSpec(
            kind="exec",
            cwd=self.folder,
            argv=argv,
            fork=True,
            cpu_seconds=int(timeout) + 1,
            memory_mb=allowed.memory_mb,
            processes=allowed.processes,
            file_mb=allowed.disk_mb,
            environment=self._environment(),
        )
        with self._own_doing():
            done = run(self._sandbox, spec, timeout, max_output=allowed.output_bytes, merge=True)
        output = done.stdout.decode(errors="replace")
        if done.timed_out:
            output += f"\n[stopped after {timeout:g} s; what the command had started was killed]\n"
        status = _TIMED_OUT if done.exit.status is None else done.exit.status
        code = status if status >= 0 else 128 - status
        return CommandResult(code, output, done.seconds, done.timed_out, done.omitted_bytes)

    def _environment(self) -> dict[str, str]:
        inside = self._sandbox.inside
        path = f"{inside('/arena/tools')}:/usr/local/bin:/usr/bin:/bin"
        return {"HOME": inside("/tmp"), "TMPDIR": inside("/tmp"), "TERM": "dumb", "PATH": path}

    def read(self, path: str) -> bytes:
        """Content of the regular file `path` of the codebase, at most its size limit. Raises FileNotFoundError."""
        wanted = os.fsencode(path)
        for entry in self.snapshot(changed_only=False) or ():
            if entry.path == wanted and entry.kind != "symlink":
                return entry.data
        raise FileNotFoundError(path)

    def write(self, path: str, data: bytes) -> None:
        """Create or replace the file `path` of the codebase, with its folders."""
        self.load([FileEntry(os.fsencode(path), "file", data)])

    def load(self, files: Sequence[FileEntry]) -> None:
        """Put `files` into the codebase. Raises LimitExceeded where the workspace is full."""
        for entry in files:
            _check_path(entry.path)
        ours, theirs = socket.socketpair()
        with self._own_doing(), ours, theirs:
            ours.settimeout(STREAM_SECONDS)
            self._sandbox.send({"op": "load", "root": self.folder}, (theirs.fileno(),))
            theirs.close()
            try:
                with ours.makefile("wb") as stream:
                    for entry in files:
                        stream.write(HEADER.pack(_KINDS[entry.kind], len(entry.path), len(entry.data)))
                        stream.write(entry.path + entry.data)
                    stream.write(HEADER.pack(END, 0, 0))
            except (BrokenPipeError, ConnectionResetError):
                pass  # the far side stopped reading; its answer says why
            except TimeoutError as error:
                raise SandboxError(f"the workspace took no files within {STREAM_SECONDS:g} s") from error
            reply = self._sandbox.receive(STREAM_SECONDS)
        if reply["error"]:
            raise LimitExceeded(f"files could not be written to the workspace: {reply['error']}")

    def snapshot(self, *, changed_only: bool = True) -> tuple[FileEntry, ...] | None:
        """Every file of the codebase without any `.git`; None when nothing changed since the last snapshot.

        Raises LimitExceeded, with what to do, when the codebase is larger than it may be.
        """
        allowed = self._allowance
        request = {
            "op": "save",
            "root": self.folder,
            "max_files": allowed.codebase_files,
            "max_bytes": allowed.codebase_bytes,
            "changed_only": changed_only,
        }
        ours, theirs = socket.socketpair()
        with self._own_doing(), ours, theirs:
            ours.settimeout(STREAM_SECONDS)
            self._sandbox.send(request, (theirs.fileno(),))
            theirs.close()
            try:
                with ours.makefile("rb") as stream:
                    files = tuple(_entries(stream))
            except TimeoutError as error:
                raise SandboxError(f"the workspace gave no files within {STREAM_SECONDS:g} s") from error
            reply = self._sandbox.receive(STREAM_SECONDS)
        if reply["same"]:
            self._refuse_again()
            return None
        self._refused = _refusal(reply["error"], files)
        self._refuse_again()
        return files

    def _refuse_again(self) -> None:
        if self._refused:
            raise LimitExceeded(self._refused)

    @contextmanager
    def _own_doing(self) -> Iterator[None]:
        """A sandbox lost because its own processes took all memory is a limit met, not a sandbox that failed."""
        try:
            yield
        except SandboxError as error:
            if self._sandbox.out_of_memory():
                raise LimitExceeded("the workspace ran out of memory and is gone; what was saved plays") from error
            raise


def _refusal(error: str | None, files: Sequence[FileEntry]) -> str:
    """Why a codebase can't be saved, with what to do; "" if it can."""
    if error:
        return f"the codebase can't be saved: {error}; make it smaller"
    try:
        check_paths(files)
    except SubmissionError as fault:
        return f"the codebase can't be saved: {fault}; rename or remove it"
    return ""


def _check_path(path: bytes) -> None:
    try:
        check_paths([FileEntry(path, "file", b"")])
    except SubmissionError as error:
        raise LimitExceeded(f"no such file can be in a codebase: {error}") from error


def _entries(stream: BinaryIO) -> list[FileEntry]:
    entries = []
    while header := stream.read(HEADER.size):
        kind, path_length, size = HEADER.unpack(header)
        if kind == END:
            break
        path = stream.read(path_length)
        data = stream.read(size)
        if not left_out(path):
            entries.append(FileEntry(path, _NAMES[kind], data))
    return entries
