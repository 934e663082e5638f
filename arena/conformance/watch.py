"""Notices what code of ours does to this machine while it should act through a sandbox alone."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CHANGES = frozenset(
    {
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.system",
        "os.truncate",
        "shutil.copyfile",
        "shutil.rmtree",
        "subprocess.Popen",
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Collects what was done while `on`; `allowed` marks the time in which a thread may do such things."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.on = False
        self._thread = threading.local()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Until the end of the block, whatever changes this machine is noticed. Byte code is not written meanwhile."""
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        self.on = True
        try:
            yield
        finally:
            self.on = False
            sys.dont_write_bytecode = before

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """In this thread, until the end of the block, nothing is noticed."""
        depth: int = getattr(self._thread, "depth", 0)
        self._thread.depth = depth + 1
        try:
            yield
        finally:
            self._thread.depth = depth

    def notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook's part."""
        if not self.on or getattr(self._thread, "depth", 0) > 0:
            return
        if event in _CHANGES:
            self.seen.append(f"{event} {arguments[0] if arguments else ''}".strip())
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING:
            self.seen.append(f"open for writing {arguments[0]}")


WATCH = Watch()


@contextmanager
def watched() -> Iterator[Watch]:
    """The one watch of this process, on for the length of the block."""
    _install()
    WATCH.seen.clear()
    with WATCH.watching():
        yield WATCH


_installed: list[int] = []


def _install() -> None:
    """Audit hooks can't be taken off again, so one must do for ever."""
    if not _installed:
        sys.addaudithook(WATCH.notice)
        _installed.append(os.getpid())
