import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.errors import SandboxError
from arena.sandbox import cgroup
from arena.sandbox.cgroup import Cgroup, Layout
from arena.sandbox.reap import owner, reap

needs_groups = pytest.mark.skipif(
    cgroup.available() is None, reason="control groups: run as root, or in a session with delegated memory and pids"
)
EAT = "import sys; sys.stdin.readline(); b = bytearray(int(sys.argv[1]) << 20); print(len(b))"
FORK = """
import os, sys, time
sys.stdin.readline()
count = 0
try:
    while count < 200 and (os.fork() or time.sleep(60) is not None):
        count += 1
except OSError:
    pass
print(count, flush=True)
time.sleep(60)
"""


@pytest.fixture
def group():
    made = Cgroup.create("test / of groups", 48, 16)
    yield made
    made.remove()


def child(code: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@needs_groups
def test_memory_is_bounded_and_the_kill_is_told(group):
    process = child(EAT, "200")
    group.add(process.pid)
    process.communicate("go\n")
    assert process.returncode == -9
    assert group.oom_killed()
    group.remove()
    assert group.oom_killed()


@needs_groups
def test_within_the_limit_nothing_happens(group):
    process = child(EAT, "8")
    group.add(process.pid)
    assert process.communicate("go\n")[0] == f"{8 << 20}\n"
    assert not group.oom_killed()


@needs_groups
def test_the_limit_can_be_read_back_from_the_process(group):
    process = child(EAT, "1")
    group.add(process.pid)
    found = cgroup.memory_group(process.pid)
    assert found is not None
    assert found.name == group.name
    assert cgroup.memory_limit(found) == 48 << 20
    assert cgroup.oom_kills(found) == 0
    process.communicate("go\n")


@needs_groups
def test_processes_are_bounded_and_all_die_on_removal(group):
    process = child(FORK)
    group.add(process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    assert 10 < int(process.stdout.readline()) < 20
    assert len(group._processes()) > 10
    started = time.monotonic()
    group.remove()
    assert time.monotonic() - started < 5
    assert process.wait(5) == -9
    assert not any(folder.exists() for folder in group._folders)
    group.remove()
    process.communicate()


@needs_groups
def test_a_process_that_is_gone_can_not_be_added(group):
    with pytest.raises(SandboxError, match="can't be put into its control group"):
        group.add(dead_pid())


@needs_groups
def test_a_group_with_a_process_in_it_stays_until_that_is_dead(group):
    process = child(EAT, "1")
    group.add(process.pid)
    assert not cgroup._rmdir(group._folders[0])
    process.communicate("go\n")
    group.remove()
    assert cgroup._rmdir(group._folders[0])


@needs_groups
def test_every_group_bears_its_owner_and_its_label(group):
    marks = {found.name: mark for found, mark in cgroup.marked()}
    mark = owner()
    assert {key: int(value) for key, value in marks[group.name].items()}["pid"] == mark["pid"]
    assert int(marks[group.name]["pid_start"]) == mark["pid_start"]
    assert group.name.endswith(".test___of_groups")


@needs_groups
def test_the_reaper_takes_groups_of_dead_owners_alone(group):
    code = """
import os, subprocess
from arena.sandbox.cgroup import Cgroup
group = Cgroup.create("orphan", 32, 8)
process = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
group.add(process.pid)
print(group.name, flush=True)
os.kill(os.getpid(), 9)
"""
    orphan = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    assert orphan in {found.name for found, _ in cgroup.marked()}
    lines = reap()
    assert f"control group {orphan}" in lines
    left = {found.name for found, _ in cgroup.marked()}
    assert orphan not in left
    assert group.name in left


def test_a_group_that_can_not_be_made_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(cgroup, "layout", lambda: Layout("v1", (tmp_path / "nonesuch",)))
    with pytest.raises(SandboxError, match="no control group"):
        Cgroup.create("test", 32, 8)


def test_without_groups_there_is_none_and_no_error(monkeypatch):
    monkeypatch.setattr(cgroup, "layout", lambda: None)
    assert cgroup.available() is None
    assert Cgroup.create("test", 32, 8) is None
    assert cgroup.marked() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user: run as root")
def test_a_user_without_rights_gets_none():
    code = """
import os
from arena.sandbox import cgroup
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(cgroup.available(), cgroup.Cgroup.create("test", 32, 8), cgroup.marked())
"""
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert asked.stdout == "None None []\n", asked.stderr


def test_what_is_gone_is_told_by_none(tmp_path):
    assert cgroup.memory_group(dead_pid()) is None
    assert cgroup.oom_kills(tmp_path / "nonesuch") is None
    assert cgroup.memory_limit(tmp_path / "nonesuch") is None
    cgroup._kill(dead_pid())


def unified(top: Path, path: str, controllers: str) -> Path:
    """A folder as version 2 shows a group to a user who may divide it."""
    folder = top / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").touch()
    (folder / "cgroup.subtree_control").write_text(controllers)
    return folder


def test_in_version_2_the_nearest_group_that_hands_both_controllers_down_is_divided(tmp_path):
    top = unified(tmp_path, "top", "cpu memory pids")
    user = unified(top, "user", "memory pids")
    session = unified(user, "session", "memory")
    own = unified(session, "scope", "")
    assert cgroup.unified_parent(own, top) == user
    (user / "cgroup.subtree_control").write_text("pids")
    assert cgroup.unified_parent(own, top) == top
    (top / "cgroup.subtree_control").write_text("")
    unified(tmp_path, ".", "memory pids")
    assert cgroup.unified_parent(own, top) is None


def test_version_2_numbers_are_read(tmp_path):
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert cgroup.oom_kills(tmp_path) == 2
    assert cgroup.memory_limit(tmp_path) is None
    (tmp_path / "memory.max").write_text("1048576\n")
    assert cgroup.memory_limit(tmp_path) == 1 << 20


def test_version_2_limits_are_written(monkeypatch, tmp_path):
    parent = unified(tmp_path, "top", "memory pids")
    made = Cgroup((parent,))
    for name in ("memory.max", "memory.swap.max", "pids.max"):
        (parent / name).touch()
    made._limit(64 << 20, 20)
    assert [(parent / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")] == [
        str(64 << 20),
        "0",
        "20",
    ]
