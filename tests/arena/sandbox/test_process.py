"""The sandbox that isolates nothing: for trusted code, and cleaned up like any other."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from arena.errors import SandboxError
from arena.sandbox.base import Mount, ProcessSpec, SandboxSpec
from arena.sandbox.command import run
from arena.sandbox.place import PREFIX
from arena.sandbox.process import ProcessBackend
from tests.arena.parts import until

TRUSTED = SandboxSpec("work", "test", trusted=True)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All folders of these sandboxes, which must be gone in the end."""
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    return tmp_path / "t"


def test_what_is_not_trusted_is_refused_by_name(temporary: Path) -> None:
    with pytest.raises(SandboxError, match=r"^mallory is not trusted: the process sandbox isolates nothing"):
        ProcessBackend().open(SandboxSpec("bot", "mallory"))
    assert list(temporary.iterdir()) == []


def test_it_is_always_possible_and_says_what_it_is_worth() -> None:
    ProcessBackend().check()
    seen = ProcessBackend().isolation()
    assert (seen.backend, seen.network, seen.filesystem, seen.processes) == ("process", False, False, False)
    assert (seen.user, seen.seccomp, seen.memory, seen.image) == (os.geteuid(), False, "none", None)


def test_mounts_are_found_below_its_own_folder_and_all_is_gone_in_the_end(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("seen")
    spec = SandboxSpec("work", "test", (Mount(tmp_path / "data", "/deep/data"),), trusted=True)
    with ProcessBackend().open(spec) as sandbox:
        done = run(sandbox, ProcessSpec("exec", sandbox.inside("/deep/data"), argv=("cat", "f")), 5)
        assert done.stdout == b"seen"
        assert [path.name[: len(PREFIX)] for path in temporary.iterdir()] == [PREFIX]
    assert list(temporary.iterdir()) == []
    assert (tmp_path / "data" / "f").exists()


def test_the_hosts_environment_is_not_handed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "key")
    spec = SandboxSpec("work", "test", trusted=True, environment={"GIVEN": "yes"})
    with ProcessBackend().open(spec) as sandbox:
        told = run(sandbox, ProcessSpec("exec", "/", argv=("env",), environment={"MORE": "too"}), 5).stdout.decode()
    assert "A_SECRET" not in told
    assert "MORE=too" in told


def test_the_end_of_the_connection_ends_what_runs() -> None:
    with ProcessBackend().open(TRUSTED) as sandbox:
        read_end, write_end = os.pipe()
        sandbox.start(ProcessSpec("exec", "/", argv=("sh", "-c", "echo $$; exec sleep 60")), write_end, write_end)
        os.close(write_end)
        told = b""
        while b"\n" not in told:
            told += os.read(read_end, 100)
        pid = int(told.lstrip(b"+"))
    assert not Path(f"/proc/{pid}").exists()
    os.close(read_end)


def test_a_first_process_that_does_not_end_is_killed() -> None:
    with ProcessBackend().open(TRUSTED) as sandbox:
        sandbox._process.send_signal(signal.SIGSTOP)
    assert sandbox._process.returncode == -signal.SIGKILL


def test_how_it_ended_is_told() -> None:
    with ProcessBackend().open(TRUSTED) as sandbox:
        assert sandbox.post_mortem() == "its first process does not answer"
        sandbox._process.kill()
        assert sandbox.post_mortem() == "ended with exit code -9"


def test_a_start_that_fails_leaves_nothing(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from arena.sandbox import process

    broken = tmp_path / "inside"
    broken.mkdir()
    (broken / "host.py").write_text("raise SystemExit('no host today')\n")
    monkeypatch.setattr(process, "INSIDE", broken)
    with pytest.raises(SandboxError, match="the sandbox did not start: no host today"):
        ProcessBackend().open(TRUSTED)
    assert list(temporary.iterdir()) == []


def test_a_killed_arena_takes_its_sandboxes_along(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "import time\nfrom arena.sandbox.base import SandboxSpec\n"
        "from arena.sandbox.process import ProcessBackend\n"
        "one = ProcessBackend().open(SandboxSpec('bot', 'x', trusted=True))\n"
        "print(one._process.pid, one._folder, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as arena:
        assert arena.stdout is not None
        pid, _, folder = arena.stdout.readline().strip().partition(" ")
        arena.kill()
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2])
    import shutil

    shutil.rmtree(folder)
