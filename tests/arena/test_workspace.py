"""What crosses between an agent's folder and our side, and what is said where it can't."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena import workspace as module
from arena.errors import LimitExceeded, SandboxError
from arena.sandbox.process import ProcessBackend
from arena.types import FileEntry
from arena.workspace import MAX_COMMAND_BYTES, SandboxWorkspace
from tests.arena.edits import ALLOWANCE, a_workspace
from tests.arena.parts import backend

FILES = (
    FileEntry(b"a", "file", b"text\n"),
    FileEntry(b"deep/er/run.sh", "executable", b"#!/bin/sh\necho ran\n"),
    FileEntry(b"empty", "file", b""),
    FileEntry(b"link", "symlink", b"nowhere/at/all"),
    FileEntry(b"odd\n\xff name", "file", bytes(range(256))),
)


@pytest.fixture(params=["process", "bubblewrap"])
def workspace(request: pytest.FixtureRequest) -> Iterator[SandboxWorkspace]:
    with a_workspace(backend(request.param)) as made:
        yield made


@pytest.fixture
def local() -> Iterator[SandboxWorkspace]:
    with a_workspace(ProcessBackend()) as made:
        yield made


def test_files_come_back_as_they_went_in(workspace: SandboxWorkspace) -> None:
    workspace.load(FILES)
    assert workspace.snapshot() == FILES
    assert workspace.run("deep/er/run.sh").output == "ran\n"


def test_nothing_new_is_not_sent_again(workspace: SandboxWorkspace) -> None:
    workspace.load(FILES)
    assert workspace.snapshot() == FILES
    assert workspace.snapshot() is None
    assert workspace.snapshot(changed_only=False) == FILES
    workspace.run("ls -la; cat a > /dev/null")
    assert workspace.snapshot() is None
    workspace.run("chmod +x a")
    changed = workspace.snapshot()
    assert changed is not None
    assert changed[0] == replace(FILES[0], kind="executable")
    workspace.run("rm -r deep")
    assert len(workspace.snapshot() or ()) == 4


def test_single_files_are_written_with_their_folders_and_read(workspace: SandboxWorkspace) -> None:
    workspace.write("new/folder/f.txt", b"one")
    workspace.write("new/folder/f.txt", b"two")
    assert workspace.read("new/folder/f.txt") == b"two"
    workspace.run("ln -s f.txt new/folder/link")
    for absent in ("nothing", "new/folder", "new/folder/link", "../etc/passwd"):
        with pytest.raises(FileNotFoundError):
            workspace.read(absent)


def test_a_folder_may_become_a_file_and_a_file_a_folder(workspace: SandboxWorkspace) -> None:
    workspace.write("x/y/z", b"deep")
    workspace.write("x", b"flat")
    assert workspace.read("x") == b"flat"
    with pytest.raises(
        LimitExceeded, match=r"files could not be written to the workspace: .*Not a directory|File exists"
    ):
        workspace.write("x/y", b"no")


def test_git_and_caches_never_leave_the_sandbox(workspace: SandboxWorkspace) -> None:
    workspace.run("mkdir -p .git sub/.GIT __pycache__ ok; touch .git/c sub/.GIT/c __pycache__/m.pyc ok/f; mkfifo pipe")
    assert [entry.path for entry in workspace.snapshot() or ()] == [b"ok/f"]


def test_commands_tell_status_output_and_time(workspace: SandboxWorkspace) -> None:
    done = workspace.run("echo out; echo err >&2; exit 7")
    assert (done.exit_code, done.timed_out, done.omitted_bytes) == (7, False, 0)
    assert sorted(done.output.split()) == ["err", "out"]
    assert workspace.run("kill -TERM $$").exit_code == 128 + 15
    assert "command not found" in workspace.run("nothing-like-it").output


def test_output_is_bounded_and_bytes_are_replaced(workspace: SandboxWorkspace) -> None:
    done = workspace.run("echo head; yes | head -c 100000; printf '\\377tail'")
    assert done.output.startswith("head\n")
    assert done.output.endswith("\N{REPLACEMENT CHARACTER}tail")
    assert done.omitted_bytes == 100_010 - ALLOWANCE.output_bytes
    assert len(done.output) < ALLOWANCE.output_bytes + 100


def test_a_command_over_its_time_is_stopped_with_what_it_started(workspace: SandboxWorkspace) -> None:
    done = workspace.run("(sleep 60 & echo partial; sleep 60)", 0.3)
    assert (done.exit_code, done.timed_out) == (124, True)
    assert done.output == "partial\n\n[stopped after 0.3 s; what the command had started was killed]\n"
    assert done.seconds < 3
    assert workspace.run("echo next").output == "next\n"


def test_no_command_gets_more_time_than_a_step_has() -> None:
    with a_workspace(ProcessBackend(), replace(ALLOWANCE, step_seconds=0.2)) as small:
        assert small.run("sleep 60", 99.0).timed_out
        assert small.run("sleep 60").timed_out


def test_a_command_too_long_for_the_system_is_not_run(local: SandboxWorkspace) -> None:
    done = local.run("echo " + "x" * MAX_COMMAND_BYTES)
    assert done.exit_code == 126
    assert "131071 are allowed: write files in parts" in done.output
    longest = "echo " + "x" * (MAX_COMMAND_BYTES - 7)
    assert local.run(longest).exit_code == 0


@pytest.mark.parametrize("path", ["../out", "/abs", "a/../../b", ".git/config", "a//b", "", "x" * 300, "nul\0"])
def test_paths_that_leave_the_codebase_are_refused(local: SandboxWorkspace, path: str) -> None:
    with pytest.raises(LimitExceeded, match="no such file can be in a codebase"):
        local.write(path, b"x")
    assert local.snapshot() == ()


def test_a_codebase_too_large_is_told_every_time_until_it_fits(local: SandboxWorkspace) -> None:
    local.run("head -c 200000 /dev/zero > big; echo s > small")
    for _ in range(2):
        with pytest.raises(
            LimitExceeded, match=r"200002 bytes in all, 100000 are allowed; largest: 'big' .*make it smaller"
        ):
            local.snapshot()
    local.run("rm big; for i in $(seq 30); do : > f$i; done")
    with pytest.raises(LimitExceeded, match="more than 20 files; make it smaller"):
        local.snapshot()
    local.run("rm f*")
    assert [entry.path for entry in local.snapshot() or ()] == [b"small"]


def test_a_path_that_no_codebase_may_have_is_told_every_time_until_it_is_gone(local: SandboxWorkspace) -> None:
    long = "/".join(["d" * 200] * 6)
    local.run(f"mkdir -p {long}; echo x > {long}/f")
    for _ in range(2):
        with pytest.raises(LimitExceeded, match="has a path longer than 1024 bytes; rename or remove it"):
            local.snapshot()
    local.run("rm -r d*; echo y > y")
    assert [entry.path for entry in local.snapshot() or ()] == [b"y"]


def test_a_full_workspace_is_a_limit_met() -> None:
    with a_workspace(backend("bubblewrap")) as full, pytest.raises(LimitExceeded, match="No space left on device"):
        full.write("big", b"x" * 20_000_000)


def test_running_out_of_memory_is_a_limit_met_where_the_sandbox_can_tell() -> None:
    with a_workspace(ProcessBackend()) as made:
        sandbox = made._sandbox
        sandbox.out_of_memory = lambda: True  # type: ignore[method-assign]
        sandbox._process.kill()  # type: ignore[attr-defined]
        sandbox._process.wait()  # type: ignore[attr-defined]
        for act in (lambda: made.run("true"), lambda: made.write("a", b""), made.snapshot):
            with pytest.raises(LimitExceeded, match="ran out of memory and is gone; what was saved plays"):
                act()


def test_a_lost_sandbox_is_ours(local: SandboxWorkspace) -> None:
    local._sandbox._process.kill()  # type: ignore[attr-defined]
    local._sandbox._process.wait()  # type: ignore[attr-defined]
    for act in (lambda: local.run("true"), lambda: local.write("a", b"x" * 5_000_000), local.snapshot):
        with pytest.raises(SandboxError, match="the sandbox is gone"):
            act()


class Silent:
    """A far side that keeps the stream open and never takes nor gives anything."""

    def __init__(self) -> None:
        self.kept: list[int] = []

    def inside(self, path: str) -> str:
        return path

    def out_of_memory(self) -> bool:
        return False

    def send(self, message: Any, descriptors: Any) -> None:
        self.kept += [os.dup(each) for each in descriptors]

    def receive(self, timeout: float) -> Any:
        raise AssertionError("nothing is ever answered")


def test_a_far_side_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STREAM_SECONDS", 0.2)
    silent = Silent()
    stalled = SandboxWorkspace(silent, ALLOWANCE)  # type: ignore[arg-type]
    with pytest.raises(SandboxError, match=r"the workspace took no files within 0\.2 s"):
        stalled.load([FileEntry(b"a", "file", b"x" * 5_000_000)])
    with pytest.raises(SandboxError, match=r"the workspace gave no files within 0\.2 s"):
        stalled.snapshot()
    for each in silent.kept:
        os.close(each)


class Choosy(Silent):
    """A far side that reads no further, and says why."""

    def send(self, message: Any, descriptors: Any) -> None:
        del message, descriptors

    def receive(self, timeout: float) -> Any:
        return {"error": "OSError: no room"}


def test_a_far_side_that_stops_reading_says_why() -> None:
    with pytest.raises(LimitExceeded, match="could not be written to the workspace: OSError: no room"):
        SandboxWorkspace(Choosy(), ALLOWANCE).load([FileEntry(b"a", "file", b"x" * 5_000_000)])  # type: ignore[arg-type]


NAMES = st.binary(min_size=1, max_size=8).filter(
    lambda name: (
        not (set(name) & set(b"/\0:\\")) and name.strip(b". ") and b"~" not in name and b"git" not in name.lower()
    )
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.tuples(st.sampled_from(["file", "executable"]), st.binary(max_size=300)), max_size=6))
def test_any_files_survive_the_round_trip(local: SandboxWorkspace, files: dict[bytes, tuple[Any, bytes]]) -> None:
    local.run("rm -rf ./* ./.[!.]* ./..?*")
    wanted = tuple(FileEntry(name, kind, data) for name, (kind, data) in sorted(files.items()))
    local.load(wanted)
    assert local.snapshot(changed_only=False) == wanted
