"""Compiles a codebase once for all the matches of a batch. Standard library only; runs inside sandboxes.

A child compiles and hands back bytes; the first process keeps them unread, and each bot loads from them in its own
process. So no match pays for compiling, and nothing of the bot's is ever parsed or run in the first process.
"""

import marshal
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

Modules = dict[str, tuple[str, bool, bytes]]  # name: (path, whether it is a package, marshalled code)

# Small enough for the first process to hold beside a bot, and done before anybody out there loses patience.
MAX_FILES, MAX_SOURCE, MAX_BYTES = 2_000, 2_000_000, 8_000_000
CPU_SECONDS, WALL_SECONDS, MEMORY = 2, 5.0, 1 << 28


def collect(folder: str, bot_filter: Callable[[], None] | None) -> bytes:
    """Bytes for `install`: the compiled modules of `folder`, or b"" where compiling went wrong in any way."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        _compile_and_exit(folder, write_end, bot_filter)
    os.close(write_end)
    deadline, data = time.monotonic() + WALL_SECONDS, bytearray()
    os.set_blocking(read_end, False)
    while time.monotonic() < deadline and len(data) <= MAX_BYTES:
        try:
            chunk = os.read(read_end, 1 << 20)
        except BlockingIOError:
            time.sleep(0.0005)
            continue
        if not chunk:
            break
        data += chunk
    os.close(read_end)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return bytes(data) if status == 0 else b""


def _compile_and_exit(folder: str, write_end: int, bot_filter: Callable[[], None] | None) -> NoReturn:
    status = 1
    try:
        os.closerange(3, write_end)
        os.closerange(write_end + 1, 1024)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if bot_filter is not None:
            bot_filter()
        data = memoryview(marshal.dumps(_modules(folder)))
        while data:
            data = data[os.write(write_end, data) :]
        os.close(write_end)
        status = 0
    finally:
        os._exit(status)


def _modules(folder: str) -> Modules:
    modules: Modules = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name.isidentifier()]
        for name in names:
            stem, suffix = os.path.splitext(name)
            path = os.path.join(parent, name)
            if suffix != ".py" or not stem.isidentifier() or os.path.getsize(path) > MAX_SOURCE:
                continue
            parts = [*os.path.relpath(parent, folder).split(os.sep), stem]
            parts = [part for part in parts if part not in (".", "__init__")]
            if not parts or (stem != "__init__" and ".".join(parts) in modules) or len(modules) >= MAX_FILES:
                continue
            try:
                with open(path, "rb") as file:
                    code = compile(file.read(), path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
                continue  # its import will say what is wrong with it
            modules[".".join(parts)] = (path, stem == "__init__", marshal.dumps(code))
    return modules


class Compiled:
    """Finds and loads what was compiled."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules

    def find_spec(self, name: str, *_where: object) -> ModuleSpec | None:
        """Where a module is, for the import system; None leaves it to others."""
        found = self.modules.get(name)
        if found is None:
            return None
        location, package, _ = found
        loader: Any = self
        spec = ModuleSpec(name, loader, origin=location, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [os.path.dirname(location)]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """A plain module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(marshal.loads(self.modules[module.__name__][2]), module.__dict__)


def install(data: bytes) -> None:
    """In a bot's process: import from `data` before looking for files."""
    if data:
        sys.meta_path.insert(-1, Compiled(marshal.loads(data)))
