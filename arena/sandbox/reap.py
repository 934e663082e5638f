"""Who owns what sandboxes leave on this machine, and the removal of what dead owners left.

Everything a sandbox puts outside itself (container, folder, control group) bears a mark: boot, process id and the
start time of that process. A live owner's things are never touched.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from arena.errors import PrerequisiteError

LIFETIME_SECONDS = 24 * 3600
_UNMARKED_SECONDS = 3600  # a folder without a mark may belong to a process that is just writing it
_START_TIME = 19  # of /proc/PID/stat, counted from the state, which follows the name


def owner() -> dict[str, str | int]:
    """The mark of this process: `boot` id, `pid`, `pid_start` (ticks since boot), `pid_space` (inode of the process
    id namespace) and `expires` (seconds since the epoch), which counts only for who can't look the process up."""
    start = process_start(os.getpid())
    if start is None:
        raise PrerequisiteError("/proc does not show this process: mount it (mount -t proc proc /proc)")
    return {
        "boot": _boot(),
        "pid": os.getpid(),
        "pid_start": start,
        "pid_space": _pid_space(),
        "expires": int(time.time()) + LIFETIME_SECONDS,
    }


def gone(mark: Mapping[str, Any]) -> bool:
    """Whether the owner that left `mark` is dead. In another process space nobody can tell: then, whether it expired.

    Raises KeyError or ValueError when `mark` is none.
    """
    if mark["boot"] != _boot():
        return True
    if int(mark["pid_space"]) != _pid_space():
        return time.time() > float(mark["expires"])
    return process_start(int(mark["pid"])) != int(mark["pid_start"])


def process_start(pid: int) -> int | None:
    """Start time of a process in ticks since boot; None if it is dead, be it unburied."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_TIME])


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _pid_space() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def reap() -> list[str]:
    """Remove what dead owners left: containers, control groups, folders. One line for each, as a user may read it."""
    return [*_containers(), *_groups(), *_folders()]


def _containers() -> Iterator[str]:
    from arena.sandbox import docker  # imports the marks from here

    try:
        api = docker.connect()
    except PrerequisiteError:  # no daemon: no containers
        return
    for container in docker.labelled(api):
        labels = container["Labels"]
        mark = {name.removeprefix("arena."): value for name, value in labels.items()}
        if _is_gone(mark):
            docker.remove(api, container["Id"])
            yield f"container {container['Id'][:12]} of {mark.get('label', 'unknown')}"


def _groups() -> Iterator[str]:
    from arena.sandbox import cgroup  # imports the marks from here

    for group, mark in cgroup.marked():
        if _is_gone({"boot": _boot(), **mark}):
            group.remove()
            yield f"control group {group.name}"


def _folders() -> Iterator[str]:
    from arena.sandbox.place import PREFIX  # imports the marks from here

    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        if not _is_ours(folder) or not _is_abandoned(folder):
            continue
        # rm, because Python's own removal runs out of stack in folders nested thousands deep
        removal = subprocess.run(
            ["rm", "-rf", "--one-file-system", "--", folder], capture_output=True, text=True, check=False
        )
        yield f"folder {folder}" if removal.returncode == 0 else f"not removed: {removal.stderr.strip()}"


def _is_ours(folder: Path) -> bool:
    """Other users may plant names in a shared folder."""
    return folder.is_dir() and not folder.is_symlink() and folder.lstat().st_uid == os.geteuid()


def _is_abandoned(folder: Path) -> bool:
    try:
        mark = json.loads((folder / "owner.json").read_text())
    except (FileNotFoundError, ValueError):
        return time.time() - folder.lstat().st_mtime > _UNMARKED_SECONDS
    return isinstance(mark, dict) and _is_gone(mark)


def _is_gone(mark: Mapping[str, Any]) -> bool:
    try:
        return gone(mark)
    except (KeyError, ValueError):  # bears our name but no mark of ours
        return False
