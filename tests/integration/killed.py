"""The command line in a process that kills itself, and its group, where the test said.

Every change to a file and every start of a git is announced by the interpreter before it happens; the nth one that fits
is where the end comes. Nothing of the arena knows of it.
"""

import os
import re
import signal
import sys
import threading
import time
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR


def _line(event: str, arguments: tuple[Any, ...]) -> str:
    """`write PATH`, `rename FROM TO`, `mkdir PATH`, `remove PATH`, `rmtree PATH`, `git ARGUMENTS`; "" for all else."""
    name = event.removeprefix("os.").removeprefix("shutil.")
    if event == "open":
        path, mode, flags = arguments
        writes = flags & WRITING if isinstance(flags, int) else bool(set(str(mode)) & set("wax+"))
        return f"write {path}" if writes and isinstance(path, str | os.PathLike) else ""
    if name in ("rename", "mkdir", "remove", "rmtree"):
        return f"{name} {' '.join(str(part) for part in arguments if isinstance(part, str | os.PathLike))}"
    if event == "subprocess.Popen" and arguments[0] == "git":
        return " ".join(map(str, arguments[1]))
    return ""


def arm(pattern: str, nth: int, delay: float, within: str) -> None:
    """Kill the process group `delay` seconds after the `nth` change that fits `pattern`, without delay before it.

    Only lines that name `within` count, and only from the first that does.
    """
    wanted, counting = re.compile(pattern), threading.Lock()
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        line = _line(event, arguments)
        if within not in line or not wanted.search(line):
            return
        with counting:
            seen += 1
            if seen != nth:
                return
        if delay:
            threading.Thread(target=_end, args=(delay,), daemon=True).start()
        else:
            _end(0.0)

    sys.addaudithook(hook)


def _end(delay: float) -> None:
    time.sleep(delay)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    arm(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
    sys.argv = ["arena", *sys.argv[5:]]
    from arena.cli import main

    main()
