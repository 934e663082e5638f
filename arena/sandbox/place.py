"""Where sandboxes keep their few files on this machine, and with which Python they run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from arena.errors import PrerequisiteError
from arena.sandbox.reap import owner

PREFIX = "code-arena-"
INSIDE = Path(__file__).parent / "inside"


def work_directory() -> Path:
    """A fresh folder that sandboxes of other users may enter but not list, marked with its owner for the reaper."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / "owner.json").write_text(json.dumps(owner()))
    folder.chmod(0o711)
    return folder


def copy_inside(folder: Path) -> Path:
    """A copy of the in-sandbox program in `folder`, readable by whatever user runs there."""
    target = folder / "inside"
    target.mkdir(mode=0o755)
    for source in INSIDE.glob("*.py"):
        shutil.copyfile(source, target / source.name)
        (target / source.name).chmod(0o644)
    target.chmod(0o755)
    return target


@cache
def interpreter() -> Path:
    """The Python that hosts bots: the system's where it is new enough (it starts and runs fastest), else our own.

    Raises PrerequisiteError where a sandbox user couldn't reach it.
    """
    for candidate in ("/usr/bin/python3", os.path.realpath(sys.executable)):
        if _is_new_enough(candidate) and _reachable(Path(candidate)):
            return Path(candidate).resolve()
    raise PrerequisiteError(
        "no Python 3.11 or newer that a sandbox user can reach: install the system's python3 "
        f"(apt-get install python3), or make {sys.executable} readable for other users"
    )


def _is_new_enough(python: str) -> bool:
    if not Path(python).exists():
        return False
    code = "import ctypes, sys; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([python, "-I", "-S", "-c", code], capture_output=True, check=False).returncode == 0


def _reachable(path: Path) -> bool:
    return os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in path.resolve().parents)


@cache
def interpreter_prefix() -> Path | None:
    """The folder outside /usr that `interpreter` needs to see, if there is one."""
    code = "import sys; print(sys.base_prefix)"
    asked = subprocess.run([interpreter(), "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    prefix = Path(asked.stdout.strip())
    return None if prefix.is_relative_to("/usr") else prefix
