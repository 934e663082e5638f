"""Control groups that bound the memory and the processes of one sandbox, where this user may make them.

Version 1 (memory and pids each in a hierarchy of its own) or version 2 (one hierarchy). A group is made below the group
this process is in, or below the nearest one above it that hands both controllers down.
"""

import os
import re
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Self

from arena.errors import SandboxError
from arena.sandbox.reap import owner

_PREFIX = "code-arena"
_MARK = ("pid", "pid_start", "pid_space", "expires")
_KILL_SECONDS = 10.0
_OWN_PROCESSES = 4  # for the host program and what it is just starting
_MOUNTINFO = Path("/proc/self/mountinfo")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where groups can be made. `parents`: of memory and of pids in version 1, the one of both in version 2."""

    version: Literal["v1", "v2"]
    parents: tuple[Path, ...]


def available() -> Literal["v1", "v2"] | None:
    """Which version this user can make groups in, if any."""
    found = layout()
    return found.version if found else None


@cache
def layout() -> Layout | None:
    """Where this process can make groups; None where it can't."""
    first = [_own_group("self", controller) for controller in ("memory", "pids")]
    if all(parent is not None and _may_divide(parent) for parent in first):
        return Layout("v1", tuple(parent for parent in first if parent is not None))
    own = _own_group("self", None)
    top = _mount(None)
    parent = unified_parent(own, top[0]) if own and top else None
    return Layout("v2", (parent,)) if parent else None


def unified_parent(own: Path, top: Path) -> Path | None:
    """The nearest group from `own` up to `top` that gives its children memory and pids and that we may divide."""
    for group in (own, *own.parents):
        handed_down = group / "cgroup.subtree_control"
        if handed_down.is_file() and {"memory", "pids"} <= set(handed_down.read_text().split()) and _may_divide(group):
            return group
        if group == top:
            break
    return None


def memory_group(pid: int | str) -> Path | None:
    """The group that counts the memory of process `pid`; None where it can't be seen."""
    return _own_group(pid, "memory") or _own_group(pid, None)


def memory_limit(group: Path) -> int | None:
    """Bytes that `group` may use; None where it has no limit."""
    for name in ("memory.max", "memory.limit_in_bytes"):
        if (file := group / name).is_file():
            text = file.read_text().strip()
            return int(text) if text != "max" and int(text) < 1 << 60 else None
    return None


def oom_kills(group: Path) -> int | None:
    """How many processes of `group` the kernel killed at its memory limit; None if the group is no more."""
    for name in ("memory.events", "memory.oom_control"):
        try:
            lines = (group / name).read_text().splitlines()
        except OSError:  # another version's file, or the group went away
            continue
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return None


class Cgroup:
    """The group of one sandbox, over one folder a hierarchy. `name` bears its owner's mark."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._killed = False

    @classmethod
    def create(cls, label: str, memory_mb: int, processes: int) -> Self | None:
        """A group with limits, or None where this user can't make one. Raises SandboxError when making it fails.

        It does not ask the kernel to kill the whole group at the limit: that would take the host program too, and a
        bot's fault would look like a lost sandbox.
        """
        found = layout()
        if found is None:
            return None
        mark = owner()
        slug = re.sub(r"[^A-Za-z0-9_-]", "_", label)[:40]
        name = ".".join([_PREFIX, *(str(mark[key]) for key in _MARK), secrets.token_hex(4), slug])
        group = cls(tuple(parent / name for parent in found.parents))
        try:
            for folder in group._folders:
                folder.mkdir()
            group._limit(memory_mb << 20, processes + _OWN_PROCESSES)
        except OSError as error:
            group.remove()
            raise SandboxError(f"no control group {group._folders[0]}: {error}") from error
        return group

    @property
    def name(self) -> str:
        """Folder name of the group in every hierarchy."""
        return self._folders[0].name

    def _limit(self, memory: int, processes: int) -> None:
        bounds = (
            ("memory.limit_in_bytes", memory),
            ("memory.memsw.limit_in_bytes", memory),
            ("memory.max", memory),
            ("memory.swap.max", 0),
            ("pids.max", processes),
        )
        for folder in self._folders:
            for name, value in bounds:
                if (folder / name).exists():
                    (folder / name).write_text(str(value))

    def add(self, pid: int) -> None:
        """Put a process, and so its children to come, under the limits. Raises SandboxError if it is gone."""
        try:
            for folder in self._folders:
                (folder / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise SandboxError(f"process {pid} can't be put into its control group: {error}") from error

    def oom_killed(self) -> bool:
        """Whether the kernel killed in this group for its memory limit; after `remove`, as it was then."""
        return self._killed or bool(oom_kills(self._folders[0]))

    def kill(self) -> None:
        """Kill every process in it and wait until none is left. Raises SandboxError if one survives."""
        deadline = time.monotonic() + _KILL_SECONDS
        for folder in self._folders:
            if (folder / "pids.max").exists():
                (folder / "pids.max").write_text("0")  # no new ones while we kill
        while pids := self._processes():
            for pid in pids:
                _kill(pid)
            if time.monotonic() > deadline:
                raise SandboxError(f"processes {pids} of control group {self.name} don't die")
            time.sleep(0.001)

    def remove(self) -> None:
        """Kill what is left in it and remove it; nothing happens if it is gone."""
        self._killed = self.oom_killed()
        self.kill()
        deadline = time.monotonic() + _KILL_SECONDS
        for folder in self._folders:
            while folder.exists() and not _rmdir(folder):
                if time.monotonic() > deadline:
                    raise SandboxError(f"control group {folder} can't be removed: it stays busy")
                time.sleep(0.001)

    def _processes(self) -> set[int]:
        pids: set[int] = set()
        for folder in self._folders:
            try:
                pids.update(map(int, (folder / "cgroup.procs").read_text().split()))
            except OSError:  # gone: no processes
                continue
        return pids


def marked() -> list[tuple[Cgroup, dict[str, str]]]:
    """Every group of ours on this machine with its owner's mark, be the owner alive or not."""
    found = layout()
    if found is None:
        return []
    names = {path.name for parent in found.parents for path in parent.glob(f"{_PREFIX}.*") if path.is_dir()}
    return [
        (Cgroup(tuple(parent / name for parent in found.parents)), dict(zip(_MARK, name.split(".")[1:], strict=False)))
        for name in sorted(names)
    ]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it was faster
        return


def _rmdir(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # busy until its dead are buried
        return False
    return True


def _may_divide(group: Path) -> bool:
    return os.access(group, os.W_OK | os.X_OK) and os.access(group / "cgroup.procs", os.W_OK)


def _own_group(pid: int | str, controller: str | None) -> Path | None:
    """Folder of the group that `pid` is in: of a version 1 controller, or of version 2 for None."""
    mount = _mount(controller)
    if mount is None:
        return None
    point, root = mount
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:  # the process is gone, or hidden from us
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" if controller is None else controller in controllers.split(","):
            inside = os.path.relpath(path, root)
            folder = (point / inside).absolute()
            return folder if not inside.startswith("..") and folder.is_dir() else None
    return None


def _mount(controller: str | None) -> tuple[Path, str] | None:
    """Mount point, and the group it shows as its root, of a hierarchy."""
    for point, root, kind, options in _mounts():
        if (kind == "cgroup2") if controller is None else (kind == "cgroup" and controller in options.split(",")):
            return Path(point), root
    return None


def _mounts() -> Iterator[tuple[str, str, str, str]]:
    for line in _MOUNTINFO.read_text().splitlines():
        front, _, back = line.partition(" - ")
        _, _, _, root, point, *_ = front.split()
        kind, _, options = back.split(" ", 2)
        yield point, root, kind, options
