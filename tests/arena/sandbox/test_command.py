"""Commands in a sandbox, and what they print, bounded on this side."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import SandboxError
from arena.sandbox import command
from arena.sandbox.base import ProcessSpec, Sandbox, SandboxSpec
from arena.sandbox.command import Bounded, Finished, run
from tests.arena.parts import backend


@pytest.fixture(scope="module", params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with backend(request.param).open(SandboxSpec("work", "test", trusted=True)) as opened:
        yield opened


@pytest.fixture
def lonely() -> Iterator[Sandbox]:
    with backend("process").open(SandboxSpec("work", "test", trusted=True)) as opened:
        yield opened


def shell(sandbox: Sandbox, script: str, timeout: float = 10, **more: object) -> Finished:
    spec = ProcessSpec("exec", "/", argv=("/bin/sh", "-c", script), fork=True)
    return run(sandbox, spec, timeout, **more)  # type: ignore[arg-type]


@given(st.integers(0, 40), st.lists(st.binary(max_size=30), max_size=12))
def test_head_and_tail_of_a_stream_are_kept_however_it_comes(limit: int, chunks: list[bytes]) -> None:
    kept, stream = Bounded(limit), b"".join(chunks)
    for chunk in chunks:
        kept.add(chunk)
    half = limit // 2
    assert kept.total == len(stream)
    if len(stream) <= 2 * half:
        assert (kept.bytes(), kept.omitted) == (stream, 0)
        return
    omitted = len(stream) - 2 * half
    tail = stream[len(stream) - half :]
    assert kept.omitted == omitted
    assert kept.bytes() == stream[:half] + f"\n[... {omitted} bytes left out ...]\n".encode() + tail


def test_no_stream_needs_more_room_than_its_limit() -> None:
    for limit in (0, 1, 2, 1000):
        kept = Bounded(limit)
        for _ in range(500):
            kept.add(b"x" * 5000)
        assert len(kept._head) + len(kept._tail) <= limit * 3 // 2
        assert len(kept.bytes()) < limit + 100


def test_both_outputs_and_the_status_are_told(sandbox: Sandbox) -> None:
    done = shell(sandbox, "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.exit.status, done.timed_out) == (b"out\n", b"err\n", 3, False)
    assert shell(sandbox, "kill -SEGV $$").exit.status == -11


def test_merged_output_is_in_the_order_it_came(sandbox: Sandbox) -> None:
    done = shell(sandbox, "for i in 1 2 3; do echo o$i; echo e$i >&2; done", merge=True)
    assert (done.stdout, done.stderr) == (b"o1\ne1\no2\ne2\no3\ne3\n", b"")


def test_no_output_at_all(sandbox: Sandbox) -> None:
    assert shell(sandbox, "true").stdout == b""
    assert shell(sandbox, "exec >&- 2>&-; sleep 0.1").exit.status == 0


def test_input_of_any_size_goes_through_while_output_comes(sandbox: Sandbox) -> None:
    data = os.urandom(3_000_000)
    done = shell(sandbox, "cat >&2; echo all of it", stdin=data, max_output=100)
    assert done.stdout == b"all of it\n"
    assert done.stderr[:50] == data[:50]
    assert done.stderr[-50:] == data[-50:]
    assert done.omitted_bytes == 3_000_000 - 100


def test_input_that_nobody_reads_holds_nothing_up(sandbox: Sandbox) -> None:
    assert shell(sandbox, "exec <&-; sleep 0.2; echo done", stdin=b"x" * 3_000_000).stdout == b"done\n"
    assert shell(sandbox, "echo done", stdin=b"x" * 3_000_000).exit.status == 0
    assert shell(sandbox, "head -c 1 >/dev/null; exit 4", stdin=b"x" * 3_000_000).exit.status == 4


def test_input_ends(sandbox: Sandbox) -> None:
    assert shell(sandbox, "cat; echo end", stdin=b"some").stdout == b"someend\n"
    assert shell(sandbox, "cat; echo end").stdout == b"end\n"


def test_a_command_over_its_time_is_killed_with_its_children(sandbox: Sandbox) -> None:
    started = time.monotonic()
    done = shell(sandbox, "echo begun; sleep 60 & sleep 60", 0.3)
    assert (done.stdout, done.exit.status, done.timed_out) == (b"begun\n", None, True)
    assert time.monotonic() - started < 3
    assert done.seconds >= 0.3


def test_what_outlives_the_command_is_killed_and_nothing_waits_for_its_output(sandbox: Sandbox) -> None:
    started = time.monotonic()
    done = shell(sandbox, "(sleep 60; echo late) & echo now")
    assert (done.stdout, done.exit.status) == (b"now\n", 0)
    assert time.monotonic() - started < 3


def test_a_program_that_is_not_there_says_so(sandbox: Sandbox) -> None:
    done = run(sandbox, ProcessSpec("exec", "/", argv=("/no/such/program",)), 5)
    assert done.exit.status == 1
    assert b"FileNotFoundError: [Errno 2] No such file or directory: '/no/such/program'" in done.stderr


def test_a_lost_sandbox_is_told_at_once_and_nothing_stays_open(lonely: Sandbox) -> None:
    before = {path.name for path in Path("/proc/self/fd").iterdir()}
    killer = threading.Timer(0.3, lonely._process.kill)  # type: ignore[attr-defined]
    killer.start()
    started = time.monotonic()
    with pytest.raises(SandboxError, match="the sandbox is gone: ended with exit code -9"):
        shell(lonely, "sleep 5", 60)
    with pytest.raises(SandboxError, match="the sandbox is gone"):
        shell(lonely, "true")
    assert time.monotonic() - started < 3
    killer.join()
    assert len({path.name for path in Path("/proc/self/fd").iterdir()}) == len(before)


def test_a_sandbox_that_never_says_the_end_is_given_up(lonely: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    monkeypatch.setattr(command, "GRACE_SECONDS", 0.3)
    process = lonely._process  # type: ignore[attr-defined]
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(SandboxError, match=r"did not end a command within 0\.3 s of its time"):
        shell(lonely, "true", 0.1)
    process.kill()
