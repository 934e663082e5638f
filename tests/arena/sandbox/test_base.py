"""The control connection, and what is refused at its other end."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.errors import SandboxError
from arena.sandbox import base
from arena.sandbox.base import Backend, Isolation, ProcessSpec, Sandbox, SandboxSpec, accept, listen, require_isolated

ISOLATED = {"pid": 1, "uid": 1000, "interfaces": ["lo"], "seccomp": True, "root_writable": False}


class Watched(Sandbox):
    """A sandbox whose far end is the test."""

    removed = 0

    def _remove(self) -> None:
        self.removed += 1

    def post_mortem(self) -> str:
        return "pulled out"


@pytest.fixture
def ends() -> Iterator[tuple[Watched, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with Watched(ours, {"pid": 1}) as sandbox, theirs:
        yield sandbox, theirs


def answer(far: socket.socket, **reply: Any) -> None:
    far.send(json.dumps(reply).encode())


def test_requests_and_answers_cross(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, far = ends
    sandbox.ask_wait(2.5)
    assert json.loads(far.recv(1000)) == {"op": "wait", "seconds": 2.5}
    answer(far, status=-9, cpu=1.5, rss=77)
    exit_ = sandbox.take_exit()
    assert (exit_.status, exit_.cpu_seconds, exit_.max_rss_kb) == (-9, 1.5, 77)
    assert sandbox.hello == {"pid": 1}


def test_descriptors_go_along_with_a_start(ends: tuple[Watched, socket.socket], tmp_path: Path) -> None:
    sandbox, far = ends
    with (tmp_path / "one").open("w") as one, (tmp_path / "two").open("w") as two:
        sandbox.start(ProcessSpec("exec", "/", argv=("true",)), one.fileno(), two.fileno())
    data, descriptors, _, _ = socket.recv_fds(far, 10_000, 5)
    request = json.loads(data)
    assert (request["op"], request["kind"], request["argv"], request["fork"]) == ("start", "exec", ["true"], False)
    names = [Path(f"/proc/self/fd/{each}").readlink().name for each in descriptors]
    for each in descriptors:
        socket.close(each)
    assert names == ["one", "two"]


def test_a_far_end_that_is_gone_is_a_lost_sandbox(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, far = ends
    far.close()
    with pytest.raises(SandboxError, match=r"^the sandbox is gone: pulled out$"):
        sandbox.receive(1)
    with pytest.raises(SandboxError, match=r"^the sandbox is gone: pulled out$"):
        sandbox.ask_end()
    assert not sandbox.answers()


def test_a_far_end_that_hangs_up_on_a_request_is_a_lost_sandbox(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, far = ends
    sandbox.ask_end()
    far.close()  # with the request unread: the connection is reset
    with pytest.raises(SandboxError, match=r"^the sandbox is gone: pulled out$"):
        sandbox.receive(1)


def test_a_late_answer_is_never_taken_for_the_next_one(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, far = ends
    with pytest.raises(SandboxError, match=r"did not answer within 0\.05 s"):
        sandbox.take_exit(0.05)
    with pytest.raises(BrokenPipeError):
        answer(far, status=0, cpu=0.0, rss=0)
    assert not sandbox.answers()


def test_a_sandbox_that_answers_is_there(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, far = ends
    answer(far, status=None, cpu=0.0, rss=0)
    assert sandbox.answers()
    assert not sandbox.out_of_memory()
    assert sandbox.inside("/work/x") == "/work/x"


def test_closing_is_done_once(ends: tuple[Watched, socket.socket]) -> None:
    sandbox, _ = ends
    sandbox.close()
    sandbox.close()
    assert sandbox.removed == 1
    with pytest.raises(SandboxError, match="the sandbox is gone"):
        sandbox.ask_end()
    with pytest.raises(SandboxError, match="the sandbox is gone"):
        sandbox.receive(1)


def test_the_plain_sandbox_knows_no_reason_and_keeps_nothing() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    with Sandbox(ours, {}) as sandbox, pytest.raises(SandboxError, match="no reason known"):
        sandbox.ask_end()


# --- starting -----------------------------------------------------------------------------------------


def test_the_hello_is_taken_when_the_far_end_comes(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    def come() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as far:
            far.connect(str(path))
            answer(far, pid=1)
            far.recv(100)

    with listen(path) as listener:
        assert path.stat().st_mode & 0o666 == 0o666
        threading.Thread(target=come, daemon=True).start()
        control, hello = accept(listener, lambda: None)
        assert hello == {"pid": 1}
        assert base.peer(control) > 0
        control.close()


def test_a_start_that_dies_says_why(tmp_path: Path) -> None:
    with listen(tmp_path / "s") as listener, pytest.raises(SandboxError, match="did not start: no such kernel"):
        accept(listener, lambda: "no such kernel")


def test_a_start_that_stays_silent_is_given_up(tmp_path: Path) -> None:
    with listen(tmp_path / "s") as listener, pytest.raises(SandboxError, match=r"did not start within 0\.1 s"):
        accept(listener, lambda: None, 0.1)


def test_a_start_that_connects_and_says_nothing_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with listen(path) as listener, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as far:
        far.connect(str(path))
        with pytest.raises(SandboxError, match="did not answer within"):
            accept(listener, lambda: None, 0.2)


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        ({"pid": 7}, "a process space of its own"),
        ({"uid": 0}, "a user other than root"),
        ({"interfaces": ["eth0", "lo"]}, "a cut network"),
        ({"seccomp": False}, "a system-call filter"),
        ({"root_writable": True}, "a read-only root"),
        ({"uid": 0, "interfaces": ["eth0"]}, "a user other than root, a cut network"),
    ],
)
def test_what_is_not_isolated_is_refused_by_what_it_lacks(seen: dict[str, Any], missing: str) -> None:
    with pytest.raises(SandboxError, match=f"^the sandbox lacks {missing}; nothing runs in it$"):
        require_isolated(ISOLATED | seen)


@pytest.mark.parametrize("interfaces", [["lo"], []])
def test_what_is_isolated_is_let_through(interfaces: list[str]) -> None:
    require_isolated(ISOLATED | {"interfaces": interfaces})


class Limited(Backend):
    """Opens no more than `room` sandboxes."""

    name = "limited"

    def __init__(self, room: int) -> None:
        self.room, self.opened = room, []  # type: ignore[var-annotated]

    def check(self) -> None: ...

    def isolation(self) -> Isolation:
        raise NotImplementedError

    def open(self, spec: SandboxSpec) -> Sandbox:
        if len(self.opened) == self.room:
            raise SandboxError("no room")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.close()
        self.opened.append(Watched(ours, {"label": spec.label}))
        return self.opened[-1]


def test_several_are_opened_in_order_or_none() -> None:
    specs = [SandboxSpec("bot", label) for label in "abc"]
    opened = Limited(3).open_many(specs)
    assert {index: sandbox.hello["label"] for index, sandbox in opened.items()} == {0: "a", 1: "b", 2: "c"}
    for sandbox in opened.values():
        sandbox.close()
    cramped = Limited(2)
    with pytest.raises(SandboxError, match="no room"):
        cramped.open_many(specs)
    assert [sandbox.removed for sandbox in cramped.opened] == [1, 1]
