"""A place for the runs of a test, and the look for what they leave on this machine."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Set
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from arena.errors import PrerequisiteError
from arena.sandbox import cgroup
from arena.sandbox.reap import gone
from arena.sandbox.select import backend
from tests.integration.runs import Place, descendants

PR_SET_CHILD_SUBREAPER = 36
SETTLE_SECONDS = 10.0

# What a killed run leaves must become our child instead of init's, so that it can't hide from `place`.
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@cache
def lacking(name: str) -> str:
    """Why this machine can't make sandboxes of that name; "" if it can."""
    try:
        backend(name).check()
    except PrerequisiteError as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def sandbox() -> str:
    """The sandbox of the tests that can do without: bubblewrap, else none at all."""
    return "process" if lacking("bubblewrap") else "bubblewrap"


@pytest.fixture(params=["bubblewrap", "docker"])
def isolating(request: pytest.FixtureRequest) -> str:
    """Each sandbox that isolates; skipped, with the way to get it, where it is absent."""
    if reason := lacking(request.param):
        pytest.skip(f"{request.param}: {reason}")
    return str(request.param)


@pytest.fixture
def bubblewrap() -> str:
    """For tests about bubblewrap's own processes."""
    if reason := lacking("bubblewrap"):
        pytest.skip(f"bubblewrap: {reason}")
    return "bubblewrap"


@pytest.fixture
def docker() -> str:
    """For tests about containers."""
    if reason := lacking("docker"):
        pytest.skip(f"docker: {reason}")
    return "docker"


def make_place(sandbox: str) -> Iterator[Place]:
    """A place; when the test is over, nothing of its runs may be left on this machine."""
    before = set(descendants(os.getpid()))
    path = Path(tempfile.mkdtemp(prefix="arena-test-"))
    place = Place(path, sandbox)
    yield place
    reap = [sys.executable, "-c", "from arena.sandbox.reap import reap; print(*reap(), sep='\\n')"]
    subprocess.run(reap, check=True, capture_output=True, env=place.environment())
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := _left(place, before)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left, f"left over: {left}"
    shutil.rmtree(path)


def _left(place: Place, before: Set[int]) -> list[str]:
    if place.sandbox == "process":
        _end(before)
    processes = {pid: line for pid, (_, line) in descendants(os.getpid()).items() if pid not in before}
    groups = [group.name for group, mark in cgroup.marked() if gone({**mark, "boot": mark.get("boot", _boot())})]
    # Who is killed before it has marked its folder leaves an empty one, which the reaper leaves alone for an hour.
    folders = [path for path in place.temporary.iterdir() if any(held.stat().st_size for held in path.iterdir())]
    return [*map(str, processes.items()), *map(str, folders), *groups]


def _end(before: Set[int]) -> None:
    """Where nothing is isolated nothing dies with its sandbox either: what ran when the run was killed runs on."""
    for pid in descendants(os.getpid()).keys() - before:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def place(sandbox: str) -> Iterator[Place]:
    """Where a test plays."""
    yield from make_place(sandbox)


@pytest.fixture(scope="module")
def shared_place(sandbox: str) -> Iterator[Place]:
    """Where the tests of a module look at the same runs."""
    yield from make_place(sandbox)
