"""Without a process space of its own, what a killed arena leaves behind must end by itself."""

import os
import signal
import socket
import time
from pathlib import Path

from arena.sandbox.base import ProcessSpec, SandboxSpec, peer
from arena.sandbox.process import ProcessBackend


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_a_bot_dies_with_the_host_program_of_its_sandbox() -> None:
    with ProcessBackend().open(SandboxSpec("bot", "test", trusted=True)) as sandbox:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            sandbox.start(ProcessSpec("exec", sandbox.inside("/work"), argv=("sleep", "1000")), theirs.fileno(), 2)
            assert ours.recv(1) == b"+"
            time.sleep(0.2)  # it is told to die with its parent just after its greeting
            host = peer(sandbox._control)
            (bot,) = children(host)
            os.kill(host, signal.SIGKILL)
            deadline = time.monotonic() + 10
            while not gone(bot) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert gone(bot)
