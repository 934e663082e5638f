"""Sandboxes of bubblewrap: own namespaces, no daemon, started in milliseconds."""

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from arena.errors import PrerequisiteError, SandboxError
from arena.sandbox.base import Backend, Isolation, Sandbox, SandboxSpec, accept, listen, peer, require_isolated
from arena.sandbox.bounds import INODES, disks_mb, memory_mb
from arena.sandbox.cgroup import Cgroup
from arena.sandbox.place import copy_inside, interpreter, interpreter_prefix, work_directory

_INSIDE_UID = 1000
_FIRST_UID, _UIDS = 200_000, 1_000_000
_DEVICES = ("null", "zero", "full", "random", "urandom")


class BubblewrapSandbox(Sandbox):
    """One bwrap process with the host program as process 1 of its process space."""

    def __init__(
        self,
        control: socket.socket,
        hello: Mapping[str, Any],
        process: "subprocess.Popen[bytes]",
        folder: Path,
        cgroup: Cgroup | None,
    ) -> None:
        super().__init__(control, hello)
        self._process, self._folder, self.cgroup = process, folder, cgroup

    def out_of_memory(self) -> bool:
        """Whether the memory group of this sandbox had to kill."""
        return self.cgroup is not None and self.cgroup.oom_killed()

    def post_mortem(self) -> str:
        """How bwrap ended."""
        if self.out_of_memory():
            return "out of memory"
        try:
            status = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "its first process does not answer"
        return f"killed by signal {-status}" if status < 0 else f"ended with exit code {status}"

    def _remove(self) -> None:
        end_process(self._process)
        if self.cgroup is not None:
            self.cgroup.remove()
        shutil.rmtree(self._folder)


class Bubblewrap(Backend):
    """The default where no Docker answers."""

    name = "bubblewrap"

    def check(self) -> None:
        """Raises PrerequisiteError unless a sandbox can really be opened here."""
        _program()
        try:
            self.open(SandboxSpec("bot", "check")).close()
        except SandboxError as error:
            raise PrerequisiteError(
                f"bubblewrap is installed but can't make a sandbox ({error}); it needs user namespaces: "
                "sysctl kernel.unprivileged_userns_clone=1 (Debian), "
                "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)"
            ) from error

    def isolation(self) -> Isolation:
        """Open one, look, close it."""
        with self.open(SandboxSpec("bot", "isolation")) as sandbox:
            hello = sandbox.hello
            return Isolation(
                backend=self.name,
                network=set(hello["interfaces"]) <= {"lo"},
                filesystem=not hello["root_writable"],
                processes=hello["pid"] == 1,
                user=hello["uid"],
                seccomp=hello["seccomp"],
                memory="cgroup" if sandbox.cgroup is not None else "per-process",
            )

    def open(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """Start one under a user id of its own. Raises SandboxError, PrerequisiteError."""
        program, folder = _program(), work_directory()
        inside = copy_inside(folder)
        (folder / "run").mkdir(mode=0o755)
        with listen(folder / "run" / "control.sock") as listener:
            process = subprocess.Popen(
                [program, *_arguments(spec, inside, folder / "run")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env={},
                **_identity(),
            )
            try:
                control, hello = accept(listener, lambda: died(process))
                require_isolated(hello)
                cgroup = Cgroup.create(spec.label, memory_mb(spec), spec.processes)
                if cgroup is not None:
                    cgroup.add(peer(control))
            except BaseException:
                end_process(process)
                shutil.rmtree(folder)
                raise
            finally:
                (folder / "run" / "control.sock").unlink(missing_ok=True)
        return BubblewrapSandbox(control, hello, process, folder, cgroup)


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill, wait, and close what was piped from it."""
    process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


def died(process: "subprocess.Popen[bytes]") -> str | None:
    """Why a starting sandbox process is gone, or None while it lives."""
    if process.poll() is None:
        return None
    assert process.stderr is not None
    return process.stderr.read(2000).decode(errors="replace").strip() or f"exit code {process.returncode}"


def _identity() -> dict[str, Any]:
    """Root gives every sandbox a user of its own, so that limits per user are limits per sandbox."""
    if os.geteuid() != 0:
        return {}
    user = _FIRST_UID + secrets.randbelow(_UIDS)
    return {"user": user, "group": user, "extra_groups": []}


@cache
def _program() -> str:
    program = shutil.which("bwrap")
    if program is None:
        raise PrerequisiteError("bubblewrap is not installed: apt-get install bubblewrap")
    return program


def _arguments(spec: SandboxSpec, inside: Path, run: Path) -> list[str]:
    uid = str(_INSIDE_UID)
    arguments = ["--unshare-all", "--unshare-user", "--uid", uid, "--gid", uid, "--hostname", "arena"]
    arguments += ["--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"]
    for key, value in {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", **spec.environment}.items():
        arguments += ["--setenv", key, value]
    arguments += _system(spec.purpose == "work")
    arguments += ["--ro-bind", str(inside), "/arena/inside", "--ro-bind", str(run), "/arena/run"]
    for mount in spec.mounts:
        arguments += ["--ro-bind", str(mount.source), mount.target]
    if spec.purpose == "work":
        for target, size in disks_mb(spec).items():
            arguments += ["--perms", "0755", "--size", str(size << 20), "--tmpfs", target]
        arguments += ["--cap-add", "CAP_SYS_ADMIN"]  # in its own user space; given up once the inodes are bounded
    arguments += ["--remount-ro", "/", "--chdir", "/"]
    python = [str(interpreter()), "-s", "-S", "-P", "-B"]
    bounds = [f"inodes={INODES}:{target}" for target in disks_mb(spec)]
    return [*arguments, "--", *python, "/arena/inside/host.py", "/arena/run/control.sock", spec.purpose, *bounds]


def _system(work: bool) -> list[str]:
    """The read-only system inside; bots get less of it than agents."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            arguments += ["--ro-bind", str(path), str(path)]
    if (prefix := interpreter_prefix()) is not None:
        arguments += ["--ro-bind", str(prefix), str(prefix)]
    # Not bwrap's own --dev: it needs a second user space around the first, in which nothing could be bounded.
    for name in _DEVICES:
        arguments += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    if work:
        arguments += ["--proc", "/proc", "--symlink", "/proc/self/fd", "/dev/fd"]
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            arguments += ["--symlink", f"/proc/self/fd/{number}", f"/dev/{name}"]
        for path in (Path("/etc/alternatives"), Path("/etc/ld.so.cache")):
            arguments += ["--ro-bind-try", str(path), str(path)]
    return arguments
