"""The first process of a sandbox: what it does with requests, in order and out of it."""

import os
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from arena.sandbox.base import ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.command import run
from arena.sandbox.inside.files import END, FILE, HEADER
from tests.arena.parts import backend


@pytest.fixture(params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with backend(request.param).open(SandboxSpec("work", "test", trusted=True)) as opened:
        yield opened


def with_stream(sandbox: Sandbox, data: bytes, **request: Any) -> dict[str, Any]:
    """The answer to a request that comes with a stream, of which `data` is all."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sandbox.send({"root": sandbox.inside("/work"), **request}, (theirs.fileno(),))
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        return sandbox.receive(10)


def start(sandbox: Sandbox, *argv: str, **more: Any) -> None:
    null = os.open("/dev/null", os.O_RDWR)
    sandbox.start(ProcessSpec("exec", "/", argv=argv, fork=True, **more), null, null)
    os.close(null)


def test_the_end_of_nothing_is_an_answer_too(sandbox: Sandbox) -> None:
    for _ in range(2):
        sandbox.ask_end()
        exit_ = sandbox.take_exit()
        assert (exit_.status, exit_.cpu_seconds) == (None, 0.0)
    sandbox.ask_wait(5)
    assert sandbox.take_exit().status is None


def test_a_process_ended_as_it_starts_is_gone(sandbox: Sandbox) -> None:
    for _ in range(30):
        start(sandbox, "sleep", "60")
        sandbox.ask_end()
        assert sandbox.take_exit().status is None


def test_how_a_process_ended_is_told_once_it_has(sandbox: Sandbox) -> None:
    for script, status in (("exit 0", 0), ("exit 255", 255), ("kill -TERM $$", -15)):
        start(sandbox, "sh", "-c", script)
        sandbox.ask_wait(5)
        assert sandbox.take_exit().status == status
    start(sandbox, "sh", "-c", "exit 6")
    time.sleep(0.2)
    sandbox.ask_end()
    assert sandbox.take_exit().status == 6


def test_waiting_ends_at_its_time(sandbox: Sandbox) -> None:
    start(sandbox, "sleep", "60")
    started = time.monotonic()
    sandbox.ask_wait(0.7)
    assert sandbox.take_exit().status is None
    assert 0.6 < time.monotonic() - started < 3


def test_orphans_are_collected_and_killed(sandbox: Sandbox) -> None:
    start(sandbox, "sh", "-c", "(sleep 60 &) ; (sh -c 'sleep 60 & sleep 60' &); exit 2")
    sandbox.ask_wait(5)
    assert sandbox.take_exit().status == 2
    if sandbox.hello["pid"] == 1:
        listed = run(sandbox, ProcessSpec("exec", "/", argv=("sh", "-c", "echo /proc/[0-9]*"), fork=True), 5)
        assert len(listed.stdout.split()) == 2, "itself and the first process"


@pytest.mark.parametrize("cut", [0, 3, 13, 15])
def test_a_stream_of_files_that_ends_early_is_told(sandbox: Sandbox, cut: int) -> None:
    whole = HEADER.pack(FILE, 1, 5) + b"f12345" + HEADER.pack(END, 0, 0)
    assert with_stream(sandbox, whole[:cut], op="load")["error"] == "EOFError: the stream of files ended early"
    assert with_stream(sandbox, whole, op="load")["error"] is None


def test_a_file_that_cannot_be_written_is_told(sandbox: Sandbox) -> None:
    entry = HEADER.pack(FILE, 3, 1) + b"f/g" + b"1"
    blocked = HEADER.pack(FILE, 1, 1) + b"f1"
    told = with_stream(sandbox, blocked + entry + HEADER.pack(END, 0, 0), op="load")["error"]
    assert told.startswith(("NotADirectoryError", "FileExistsError"))


def test_a_folder_that_is_not_there_is_told(sandbox: Sandbox) -> None:
    limits = {"max_files": 10, "max_bytes": 10, "changed_only": False}
    told = with_stream(sandbox, b"", op="save", **(limits | {"root": "/no/such/folder"}))
    assert "No such file or directory" in told["error"]
    assert with_stream(sandbox, b"", op="save", **limits)["error"] is None


def test_a_reader_of_files_that_hangs_up_is_survived(sandbox: Sandbox) -> None:
    run(sandbox, ProcessSpec("exec", sandbox.inside("/work"), argv=("sh", "-c", "head -c 3000000 /dev/zero > f")), 5)
    ours, theirs = socket.socketpair()
    with theirs:
        request = {"op": "save", "root": sandbox.inside("/work"), "max_files": 9, "max_bytes": 10**7}
        sandbox.send({**request, "changed_only": True}, (theirs.fileno(),))
        theirs.close()
        ours.close()
    told = sandbox.receive(10)
    assert "Broken pipe" in told["error"]
    assert sandbox.answers()


def test_what_a_sandbox_sees_of_itself_is_told(sandbox: Sandbox) -> None:
    assert set(sandbox.hello) == {"pid", "uid", "interfaces", "seccomp", "root_writable", "python"}
    if sandbox.hello["seccomp"]:
        assert sandbox.hello["pid"] == 1
        assert sandbox.hello["uid"] != 0
        assert set(sandbox.hello["interfaces"]) <= {"lo"}
        assert not sandbox.hello["root_writable"]


def test_commands_and_environment_of_great_length_cross(sandbox: Sandbox) -> None:
    spec = ProcessSpec("exec", "/", argv=("sh", "-c", "echo ${#LONG}; echo ${#1}", "-", "y" * 90_000))
    done = run(sandbox, ProcessSpec(**{**_fields(spec), "environment": {"LONG": "x" * 90_000}}), 5)
    assert done.stdout == b"90000\n90000\n"


def _fields(spec: ProcessSpec) -> dict[str, Any]:
    from dataclasses import fields

    return {field.name: getattr(spec, field.name) for field in fields(spec)}
