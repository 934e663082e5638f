"""The first process of every sandbox: starts bots and commands on request, ends them, says how they ended.

Usage: host.py SOCKET PURPOSE [guest] [inodes=COUNT:FOLDER].... Standard library only. As process 1 of its own process
space it can't be killed or stopped from inside, and `kill(-1)` ends everything else. As a guest (no process space of
its own, trusted code only) it ends the process group it started. It is not dumpable, so what runs beside it can't read
or trace it.
"""

import array
import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bots
import bytecode
import files
import seccomp

sys.path.pop(0)

import collections  # noqa: F401  warm for the bots that fork from here, as are the next ones
import copy  # noqa: F401
import functools  # noqa: F401
import heapq  # noqa: F401
import itertools  # noqa: F401
import math  # noqa: F401

MESSAGE_BYTES = 262_144  # a command of the greatest length that a program may be given fits in
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER, _PR_CAP_AMBIENT, _CLEAR_ALL = 4, 36, 47, 4
_CAPABILITY_VERSION = 0x20080522
_REMOUNT = 32 | 2 | 4  # MS_REMOUNT, MS_NOSUID, MS_NODEV


class Host:
    """Serves one control connection until it closes."""

    def __init__(self, path: str, purpose: str, guest: bool) -> None:
        self.purpose, self.guest = purpose, guest
        self.child: int | None = None
        self.status: int | None = None
        self.usage: resource.struct_rusage | None = None
        self.signature: list[Any] | None = None
        self.bot_filter: Callable[[], None] | None = None
        self.bytecode: dict[str, bytes] = {}  # folder of a bot: its compiled modules
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.connect(path)

    def serve(self) -> None:
        """Greet, then answer requests; the end of the connection ends the sandbox."""
        self.send(self.confine())
        while True:
            request, descriptors = self.receive()
            if request is None:
                break
            try:
                reply = getattr(self, "do_" + request["op"])(request, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            if reply is not None:
                self.send(reply)
        self.kill()

    def confine(self) -> dict[str, Any]:
        """Shut the doors that this side can shut, and report what is seen of the rest."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which the first process is immune to, unlike Python's own
        interfaces = sorted(name for _, name in socket.if_nameindex())
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
        if self.guest:
            prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            confined = False
        else:
            drop_capabilities(prctl)
            prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
            seccomp.prepare(bot=False)()
            self.bot_filter = seccomp.prepare(bot=True)
            confined = True
        return {
            "pid": os.getpid(),
            "uid": os.getuid(),
            "interfaces": interfaces,
            "seccomp": confined,
            "root_writable": os.access("/", os.W_OK),
            "python": sys.version.split()[0],
        }

    def send(self, message: Mapping[str, Any]) -> None:
        """One control message."""
        self.control.send(json.dumps(message).encode())

    def receive(self) -> tuple[dict[str, Any] | None, list[int]]:
        """The next request, None at the end of the connection, and the descriptors that came with it."""
        data, ancillary, _, _ = self.control.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(2 * array.array("i").itemsize))
        descriptors = array.array("i")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) - len(payload) % descriptors.itemsize])
        return (json.loads(data) if data else None), list(descriptors)

    def do_start(self, request: dict[str, Any], descriptors: list[int]) -> None:
        """Fork; the child becomes what `request` describes. No answer: the child itself says it is there."""
        request["confined"] = not self.guest
        bot_filter = None if request["fork"] else self.bot_filter
        if request["kind"] == "python" and request["cwd"] not in self.bytecode:
            self.bytecode[request["cwd"]] = bytecode.collect(request["cwd"], bot_filter)
        request["bytecode"] = self.bytecode.get(request["cwd"], b"")
        self.status = self.usage = None
        self.child = os.fork()
        if self.child == 0:
            bots.become(request, descriptors, bot_filter)

    def do_end(self, _request: dict[str, Any], _descriptors: list[int]) -> dict[str, Any]:
        """Kill all that runs, and say how the started process ended (status None: it was still running)."""
        self.reap()
        status = self.status
        self.kill()
        usage = self.usage
        cpu = usage.ru_utime + usage.ru_stime if usage else 0.0
        reply = {"status": status, "cpu": cpu, "rss": usage.ru_maxrss if usage else 0}
        self.child = None
        return reply

    def do_wait(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Wait for the started process to end by itself; then kill what it left behind."""
        deadline = time.monotonic() + request["seconds"]
        self.reap()
        while self.child is not None and self.status is None and (left := deadline - time.monotonic()) > 0:
            signal.sigtimedwait({signal.SIGCHLD}, min(left, 0.5))
            self.reap()
        ended = self.status is not None
        return {"ended": ended, **self.do_end(request, descriptors)}

    def do_load(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Take files from the attached stream into a folder."""
        with os.fdopen(os.dup(descriptors[0]), "rb") as stream:
            try:
                files.load(stream, request["root"])
            except (OSError, EOFError) as error:
                return {"error": f"{type(error).__name__}: {error}"}
        self.signature = None
        return {"error": None}

    def do_save(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Give the files of a folder to the attached stream, unless nothing changed since the last time."""
        root = request["root"]
        try:
            entries, skipped = files.scan(root, request["max_files"], request["max_bytes"])
            if request["changed_only"] and entries == self.signature:
                return {"same": True, "error": None, "skipped": [os.fsdecode(path) for path in skipped[:20]]}
            with os.fdopen(os.dup(descriptors[0]), "wb") as stream:
                files.save(entries, root, stream)
        except (OSError, files.Unsaveable) as error:
            return {"same": False, "error": str(error), "skipped": []}
        if request["changed_only"]:
            self.signature = entries
        return {"same": False, "error": None, "skipped": [os.fsdecode(path) for path in skipped[:20]]}

    def reap(self) -> None:
        """Collect every child that has ended, orphans too."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note(pid, status, usage)

    def kill(self) -> None:
        """End everything but this process and wait until it is gone."""
        if self.guest:
            if self.child is not None:
                self._kill_group(self.child)
            return
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            try:
                self._note(*os.wait4(-1, 0))
            except ChildProcessError:
                return

    def _kill_group(self, child: int) -> None:
        try:
            os.killpg(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            if self.status is None:
                os.kill(child, signal.SIGKILL)
        if self.usage is None:
            self._note(*os.wait4(child, 0))
        self.reap()

    def _note(self, pid: int, status: int, usage: resource.struct_rusage) -> None:
        if pid == self.child:
            self.usage = usage
            self.status = os.waitstatus_to_exitcode(status)


def bound_inodes(folder: str, count: int) -> None:
    """Let no more than `count` files be on the file system at `folder`; needs CAP_SYS_ADMIN. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", _REMOUNT, b"nr_inodes=%d" % count):
        raise OSError(ctypes.get_errno(), f"the number of files in {folder} can't be bounded")


def drop_capabilities(prctl: Callable[..., int]) -> None:
    """Give up every capability this process has, for itself and all it will start. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24)
    prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capabilities can't be dropped")


if __name__ == "__main__":
    for _argument in sys.argv[3:]:
        if _argument.startswith("inodes="):
            _count, _, _folder = _argument.removeprefix("inodes=").partition(":")
            bound_inodes(_folder, int(_count))
    Host(sys.argv[1], sys.argv[2], guest="guest" in sys.argv[3:]).serve()
