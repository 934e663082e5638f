"""No isolation at all: the host program as a plain child. Only for agents and bots that the config calls trusted."""

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.errors import SandboxError
from arena.sandbox.base import Backend, Isolation, Sandbox, SandboxSpec, accept, listen
from arena.sandbox.bubblewrap import died, end_process
from arena.sandbox.place import INSIDE, interpreter, work_directory


class ProcessSandbox(Sandbox):
    """A child process; what would be a path inside is a path below a temporary folder."""

    def __init__(
        self, control: socket.socket, hello: Mapping[str, Any], process: "subprocess.Popen[bytes]", folder: Path
    ) -> None:
        super().__init__(control, hello)
        self._process, self._folder = process, folder

    def inside(self, path: str) -> str:
        """`path` below this sandbox's own folder."""
        return f"{self._folder}/root{path}"

    def post_mortem(self) -> str:
        """How the child ended."""
        try:
            return f"ended with exit code {self._process.wait(1.0)}"
        except subprocess.TimeoutExpired:
            return "its first process does not answer"

    def _remove(self) -> None:
        try:
            self._process.wait(2.0)  # it ends its own children when the connection closes
        except subprocess.TimeoutExpired:
            self._process.kill()
        end_process(self._process)
        shutil.rmtree(self._folder)


class ProcessBackend(Backend):
    """Refuses whatever isn't marked trusted."""

    name = "process"

    def check(self) -> None:
        """Always possible."""

    def isolation(self) -> Isolation:
        """None of it, but for the user we happen to be."""
        return Isolation(self.name, False, False, False, os.geteuid(), False, "none")

    def open(self, spec: SandboxSpec) -> ProcessSandbox:
        """Start one. Raises SandboxError for untrusted code."""
        if not spec.trusted:
            raise SandboxError(
                f"{spec.label} is not trusted: the process sandbox isolates nothing and runs trusted code only"
            )
        folder = work_directory()
        root = folder / "root"
        for name in ("work", "tmp"):
            (root / name).mkdir(parents=True)
        for mount in spec.mounts:
            target = root / mount.target.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(mount.source.resolve())
        environment = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": os.defpath, **spec.environment}
        path = folder / "control.sock"
        with listen(path) as listener:
            process = subprocess.Popen(
                [interpreter(), "-s", "-S", "-P", "-B", INSIDE / "host.py", path, spec.purpose, "guest"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
            )
            try:
                control, hello = accept(listener, lambda: died(process))
            except BaseException:
                end_process(process)
                shutil.rmtree(folder)
                raise
        return ProcessSandbox(control, hello, process, folder)
