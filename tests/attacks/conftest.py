"""What every attack test needs: both backends, a reference match, the look for leftovers, and the table at the end."""

import ctypes
import json
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from arena.errors import PrerequisiteError
from arena.sandbox import cgroup, docker
from arena.sandbox.base import Backend
from arena.sandbox.select import backend as backend_named

MATRIX: dict[str, dict[str, str]] = {}
PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 5.0

# Whatever escapes from a sandbox must become our child instead of init's, so that it can't hide from `leftovers`.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@cache
def _why_not(name: str) -> str:
    try:
        backend_named(name).check()
    except PrerequisiteError as error:
        return str(error)
    return ""


@pytest.fixture(params=["bubblewrap", "docker"], scope="module")
def backend(request: pytest.FixtureRequest) -> Backend:
    """A backend of this machine; skipped, with the way to get it, where it is absent."""
    if reason := _why_not(request.param):
        pytest.skip(f"{request.param}: {reason}")
    return backend_named(request.param)


@pytest.fixture
def happened(request: pytest.FixtureRequest, backend: Backend) -> Callable[[str, str], None]:
    """Note in the table what an attack came to: `happened(attack, text)`."""

    def note(attack: str, text: str) -> None:
        MATRIX.setdefault(attack, {})[backend.name] = text

    return note


def _processes() -> set[int]:
    """Our living children, to any depth."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in "ZX":
                parents[int(folder.name)] = int(parent)
    ours = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= grown
    return ours - {os.getpid()}


def _folders() -> set[str]:
    marks = Path(tempfile.gettempdir()).glob("code-arena-*/owner.json")
    return {str(mark.parent) for mark in marks if json.loads(mark.read_text() or "{}").get("pid") == os.getpid()}


def _containers() -> set[str]:
    if _why_not("docker"):
        return set()
    listed = docker.labelled(docker.connect())
    return {row["Id"] for row in listed if row["Labels"].get("arena.pid") == str(os.getpid())}


def _descriptors() -> int:
    """How many are open, but for those of the daemon's client, which keeps its connections."""
    return sum(not _to_daemon(int(each.name)) for each in Path("/proc/self/fd").iterdir())


def _to_daemon(descriptor: int) -> bool:
    try:
        if not str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("socket:"):
            return False
        with socket.socket(fileno=os.dup(descriptor)) as plug:
            return plug.family == socket.AF_UNIX and str(plug.getpeername()).endswith("docker.sock")
    except OSError:  # not open any more, or not connected
        return False


def leftovers() -> set[str]:
    """Everything of this test process that outlives a sandbox: processes, folders, control groups, containers."""
    groups = {group.name for group, mark in cgroup.marked() if mark.get("pid") == str(os.getpid())}
    return {f"process {pid}" for pid in _processes()} | _folders() | groups | _containers()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """After every attack this machine is as it was."""
    before, descriptors = leftovers(), _descriptors()
    yield
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := leftovers() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"left over: {left}"
    assert _descriptors() <= descriptors, "descriptors were left open"


def markdown() -> list[str]:
    """The table: an attack a row, a sandbox a column."""
    names = sorted({name for row in MATRIX.values() for name in row})
    lines = [f"| attack | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for attack, row in MATRIX.items():
        cells = [row.get(name, "").replace("|", "\\|").replace("\n", " ")[:160] for name in names]
        lines.append(f"| {attack} | {' | '.join(cells)} |")
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MATRIX:
        terminalreporter.section("attack x sandbox x what happened")
        for line in markdown():
            terminalreporter.write_line(line)
