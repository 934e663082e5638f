"""Attacks of agents on their own workspace and, through it, on us."""
# ruff: noqa: E501  programs of attackers, a try a line

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.errors import LimitExceeded
from arena.repo import Repo
from arena.sandbox.base import Backend, Sandbox, SandboxSpec
from arena.types import FileEntry
from arena.workspace import Allowance, SandboxWorkspace

MB, PROCESSES, DISK_MB, OUTPUT, SECONDS = 256, 32, 32, 4096, 20.0
ALLOWANCE = Allowance(MB, PROCESSES, DISK_MB, OUTPUT, 1_000_000, 500, SECONDS)
CANARY = "canary-5be81d90"
Happened = Callable[[str, str], None]


SPEC = SandboxSpec("work", "attacks", memory_mb=MB, processes=PROCESSES, disk_mb=DISK_MB)
TIDY = "chmod -R u+rwx /work /tmp 2>/dev/null; find /work /tmp /dev/shm -mindepth 1 -delete"


@pytest.fixture(scope="module")
def shared(backend: Backend) -> Iterator[Sandbox]:
    """One sandbox for attack after attack: what one leaves behind would show in the next."""
    with backend.open(SPEC) as opened:
        yield opened


@pytest.fixture
def workspace(shared: Sandbox) -> SandboxWorkspace:
    fresh = SandboxWorkspace(shared, ALLOWANCE)
    assert fresh.run(TIDY).exit_code == 0
    return fresh


@pytest.fixture
def own_sandbox(backend: Backend) -> Iterator[Sandbox]:
    """One that has never run out of memory before."""
    with backend.open(SPEC) as opened:
        yield opened


def still_works(workspace: SandboxWorkspace) -> None:
    """The next command runs as though nothing had been."""
    result = workspace.run(f"{TIDY}; echo here; ps -e --no-headers | wc -l")
    assert result.exit_code == 0, result
    here, processes = result.output.split()
    assert here == "here"
    assert int(processes) <= 6, result.output


BOMBS = {
    "fork bomb": ("f() { f | f & }; f; sleep 600", 1.5),
    "fork bomb that ignores every signal": ("trap '' 1 2 3 15; f() { f & f; }; f", 1.5),
    "children in sessions of their own": ("for i in 1 2 3 4 5; do setsid bash -c 'while :; do :; done' & done; sleep 600", 1.0),
    "busy child and busy shell": ("(while :; do :; done) & while :; do :; done", 1.0),
    "stopped processes": ("sleep 600 & kill -STOP $!; kill -STOP $$", 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_commands_without_end(name: str, workspace: SandboxWorkspace, happened: Happened) -> None:
    command, limit = BOMBS[name]
    started = time.monotonic()
    result = workspace.run(f"echo partial output; {command}", limit)
    took = time.monotonic() - started
    happened(f"workspace: {name}", f"stopped at {limit:g} s ({took:.1f} s), exit {result.exit_code}; all gone")
    assert result.timed_out
    assert result.exit_code == 124
    assert took < limit + 3
    assert result.output.startswith("partial output\n")
    assert f"stopped after {limit:g} s" in result.output
    still_works(workspace)


def test_quiet_healthy_command(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run("sleep 2; echo done", 10)
    happened("workspace: quiet command within its time", f"exit {result.exit_code}, not cut")
    assert (result.exit_code, result.output, result.timed_out) == (0, "done\n", False)


def test_background_process_outlives_nothing(workspace: SandboxWorkspace, happened: Happened) -> None:
    started = time.monotonic()
    result = workspace.run(
        "(setsid nohup sleep 600 > /dev/null 2>&1 &) ; sleep 600 & (sleep 600 & disown) ; echo started"
    )
    took = time.monotonic() - started
    happened("workspace: background processes", f"the command ended after {took:.2f} s, and they with it")
    assert (result.exit_code, result.timed_out) == (0, False)
    assert took < 2
    still_works(workspace)


HOG = "python3 -c 'x = bytearray({size}); import time; time.sleep({seconds})'"


def test_memory_of_one_process(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run(HOG.format(size=4 << 30, seconds=1))
    happened("workspace: 4 GB in one process", result.output.strip().splitlines()[-1])
    assert "MemoryError" in result.output
    still_works(workspace)


def test_memory_of_many_children(own_sandbox: Sandbox, backend: Backend, happened: Happened) -> None:
    workspace = SandboxWorkspace(own_sandbox, ALLOWANCE)
    if backend.isolation().memory != "cgroup":
        happened("workspace: memory by many children", "bounded per process only: no control group here")
        pytest.skip("no control groups within reach: run as root, or in a delegated group (systemd-run --user --scope)")
    child = "python3 -c 'x = bytearray(100 << 20)\nimport time; time.sleep(1); print(1)'"
    result = workspace.run(f"for i in $(seq 20); do {child} & done; wait", 15)
    alive = result.output.count("1\n")
    happened("workspace: memory by many children", f"{alive} of 20 x 100 MB lived; the sandbox did")
    assert alive < 5
    assert own_sandbox.out_of_memory()
    still_works(workspace)


def test_memory_of_many_small_children(workspace: SandboxWorkspace, backend: Backend, happened: Happened) -> None:
    """None of them is as big as our own process, which must not be the one that the kernel picks."""
    if backend.isolation().memory != "cgroup":
        pytest.skip("no control groups within reach: run as root, or in a delegated group (systemd-run --user --scope)")
    fill = "dd if=/dev/zero of=/work/full bs=1M; dd if=/dev/zero of=/tmp/full bs=1M"
    child = "printf -v x '%*s' 14000000 ''; read -t 2 < <(:)"
    command = f'{fill}; for i in $(seq 27); do bash -c "{child}; sleep 1" & done; wait'
    result = workspace.run(command, 15)
    happened("workspace: full disks and many small children", f"exit {result.exit_code}; the sandbox lived")
    still_works(workspace)


def test_shared_memory_that_nothing_frees(workspace: SandboxWorkspace, happened: Happened) -> None:
    script = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print([libc.shmget(n, 1 << 26, 0o1600) for n in range(3)], libc.msgget(0, 0o1600), libc.semget(0, 9, 0o1600))\n"
        "import os\n"
        "try: os.mkdir('/dev/shm/x'); print('made')\nexcept OSError as e: print(type(e).__name__)\n"
    )
    workspace.write("shm.py", script.encode())
    result = workspace.run("python3 shm.py")
    happened("workspace: System V and POSIX shared memory", result.output.replace("\n", " "))
    assert result.output.startswith("[-1, -1, -1] -1 -1\n")


def test_full_disk(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run(
        "for d in /work /tmp; do for i in 1 2 3 4; do dd if=/dev/zero of=$d/f$i bs=1M count=20; done; done"
    )
    with pytest.raises(LimitExceeded, match=r"bytes in all.*are allowed.*f1.*make it smaller") as caught:
        workspace.snapshot()
    happened("workspace: disk fill", f"{result.output.count('No space left')} times ENOSPC; {str(caught.value)[:90]}")
    assert result.output.count("No space left") >= 2
    with pytest.raises(LimitExceeded, match="could not be written"):
        workspace.write("new", bytes(100_000))
    still_works(workspace)
    assert workspace.snapshot(changed_only=False) == ()


def test_full_of_inodes(own_sandbox: Sandbox, happened: Happened) -> None:
    workspace = SandboxWorkspace(own_sandbox, ALLOWANCE)
    script = (
        "import os\nfor d in ('/work', '/tmp', '/dev/shm'):\n    n = 0\n    try:\n"
        "        while n < 200_000:\n            os.mkdir(f'{d}/d{n}'); open(f'{d}/d{n}/f', 'w').close(); n += 1\n"
        "    except OSError as e: print(d, n, e.strerror)\n    else: print(d, n, 'BOUNDLESS')\n"
    )
    workspace.write("fill.py", script.encode())
    result = workspace.run("python3 fill.py", 15)
    with pytest.raises(LimitExceeded, match="more than 500 files") as caught:
        workspace.snapshot()
    happened("workspace: inode fill", f"{result.output.strip()}; {caught.value}".replace("\n", ", "))
    assert "BOUNDLESS" not in result.output, result.output
    assert not own_sandbox.out_of_memory()
    still_works(workspace)


def test_flood_of_output(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last >&2")
    happened(
        "workspace: 200 MB of output", f"{len(result.output)} bytes kept, {result.omitted_bytes} left out and said so"
    )
    assert result.exit_code == 0
    assert len(result.output) < OUTPUT + 100
    assert result.output.startswith("first\n")
    assert result.output.endswith("last\n")
    assert result.omitted_bytes == pytest.approx(200_000_000, abs=2 * OUTPUT)
    assert f"{result.omitted_bytes} bytes left out" in result.output


def test_endless_output(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run("yes & yes >&2", 1.0)
    happened("workspace: endless output", f"stopped after 1 s, {result.omitted_bytes >> 20} MB dropped")
    assert result.timed_out
    still_works(workspace)


def test_bytes_that_are_no_text(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run("python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))'")
    happened("workspace: all 256 bytes printed", "undecodable ones replaced")
    assert result.exit_code == 0
    assert "�" in result.output


def test_command_too_long(workspace: SandboxWorkspace, happened: Happened) -> None:
    longest = workspace.run(f"true '{'x' * 131_000}'")
    beyond = workspace.run(f"true '{'x' * 300_000}'")
    accents = workspace.run(f"true '{'é' * 30_000}'")
    happened("workspace: command of 300 kB", beyond.output.strip())
    assert (longest.exit_code, beyond.exit_code) == (0, 126)
    assert "131071 are allowed" in beyond.output
    assert accents.exit_code in (0, 126)
    still_works(workspace)


ODD = r"""
mkfifo fifo; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('plug')"
ln -s /etc/passwd passwd; ln -s ../../x up; ln -s /nowhere/at/all absent; ln -s . self; ln -s /proc/1/environ environ
mkdir -p deep; ln -s /arena deep/arena
printf a > $'new\nline'; printf b > $'bad\xff\xfe'; printf c > ' .dot space '; printf d > -rf; : > empty
printf '*.py filter=evil diff=evil\n* text eol=crlf ident\n' > .gitattributes; printf '$Id$\r\n' > ident.txt
mkdir -p .git/hooks sub/.git sub/.GIT; printf '#!/bin/sh\ntouch /tmp/FIRED' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit
printf '[core]\nfsmonitor = touch /tmp/FIRED\nhooksPath = .git/hooks\n[filter "evil"]\nclean = touch /tmp/FIRED\nsmudge = touch /tmp/FIRED\n[diff "evil"]\ntextconv = touch /tmp/FIRED\n' > .git/config
cp .git/config sub/.git/config; cp .git/config sub/.GIT/config; printf 'x = 1\n' > main.py; mkdir locked; printf e > locked/f; chmod 000 locked/f locked
"""


def test_hostile_files(workspace: SandboxWorkspace, happened: Happened, tmp_path: Path) -> None:
    assert workspace.run(ODD).exit_code == 0
    files = workspace.snapshot()
    assert files is not None
    by_path = {entry.path: entry for entry in files}
    links = {path: entry.data for path, entry in by_path.items() if entry.kind == "symlink"}
    happened("workspace: FIFO, socket, odd names, links out, .git", f"{len(files)} files saved; links kept as links")
    assert links == {
        b"passwd": b"/etc/passwd",
        b"up": b"../../x",
        b"absent": b"/nowhere/at/all",
        b"self": b".",
        b"environ": b"/proc/1/environ",
        b"deep/arena": b"/arena",
    }
    assert {b"new\nline", b"bad\xff\xfe", b" .dot space ", b"-rf", b"empty", b"locked/f"} <= set(by_path)
    assert not any(b"git/" in path.lower() for path in by_path)
    assert not {b"fifo", b"plug"} & set(by_path)
    assert by_path[b"ident.txt"].data == b"$Id$\r\n"
    _commit_fires_nothing(files, tmp_path)
    assert not Path("/tmp/FIRED").exists()


def _commit_fires_nothing(files: tuple[FileEntry, ...], tmp_path: Path) -> None:
    repo = Repo.create(tmp_path / "repo.git")
    made = repo.commit(files, "hostile", 1_700_000_000)
    assert made is not None
    again = {entry.path: entry for entry in repo.code("refs/heads/main").files}
    assert again == {entry.path: entry for entry in files}


def test_sparse_giant(workspace: SandboxWorkspace, happened: Happened) -> None:
    result = workspace.run("truncate -s 20G giant; ls -l giant; truncate -s 30M sparse")
    with pytest.raises(LimitExceeded, match=r"bytes in all") as caught:
        workspace.snapshot()
    happened("workspace: sparse 20 GB file", f"exit {result.exit_code}; {str(caught.value)[:80]}")
    with pytest.raises(LimitExceeded, match=r"bytes in all"):
        workspace.snapshot()
    still_works(workspace)


def test_thousand_deep_folders(workspace: SandboxWorkspace, happened: Happened) -> None:
    deep = (
        "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')\nopen('bottom', 'w').close(); os.chmod('.', 0)\n"
    )
    workspace.write("dig.py", deep.encode())
    assert workspace.run("python3 dig.py && rm dig.py").exit_code == 0
    with pytest.raises(LimitExceeded, match="nested deeper than 64") as caught:
        workspace.snapshot()
    workspace.write("d", b"a file in its place")
    files = workspace.snapshot()
    happened("workspace: thousand-deep folders", f"{caught.value}; then replaced by a file")
    assert files == (FileEntry(b"d", "file", b"a file in its place"),)


OUTSIDE = ["../x", "/etc/x", "a/../../x", "a//b", ".git/hooks/x", "x" * 300, "d/" * 2000 + "f", "a\0b", ""]


def test_paths_that_leave_the_codebase(workspace: SandboxWorkspace, happened: Happened) -> None:
    for path in OUTSIDE:
        with pytest.raises(LimitExceeded, match="no such file can be in a codebase") as caught:
            workspace.write(path, b"x")
    happened("workspace: files written outside the codebase", str(caught.value)[:90])
    still_works(workspace)


def test_names_that_git_takes_for_its_own(workspace: SandboxWorkspace, happened: Happened) -> None:
    for name in ("git~1", ".git ", ".g\u200cit", "a\\.git", ".GIT"):
        workspace.run(f"mkdir -p '{name}' && echo x > '{name}/config'")
    workspace.run("echo y > kept")
    files = workspace.snapshot()
    happened("workspace: names that some git takes for .git", "left out")
    assert files is not None
    assert [entry.path for entry in files] == [b"kept"]


def test_path_too_long_to_save_is_told_every_time(workspace: SandboxWorkspace, happened: Happened) -> None:
    name = "n" * 200
    workspace.run(f"mkdir -p {'/'.join([name] * 6)} && touch {'/'.join([name] * 6)}/f")
    for _ in range(2):
        with pytest.raises(LimitExceeded, match="longer than 1024 bytes") as caught:
            workspace.snapshot()
    happened("workspace: path too long to save", str(caught.value)[-90:])
    still_works(workspace)
    assert workspace.snapshot(changed_only=False) == ()


def test_write_through_a_planted_link(workspace: SandboxWorkspace, happened: Happened) -> None:
    workspace.run("ln -s /tmp out; ln -s /etc/passwd main.py; mkfifo pipe")
    workspace.write("main.py", b"ours")
    workspace.write("pipe", b"ours")
    assert workspace.read("main.py") == b"ours"
    assert workspace.read("pipe") == b"ours"
    happened("workspace: links and FIFOs where we write", "replaced, not followed")


def test_first_process_cannot_be_made_to_forget(workspace: SandboxWorkspace, happened: Happened) -> None:
    """A change without a trace in size, name or times of modification is still seen."""
    workspace.write("main.py", b"a = 1\n")
    assert workspace.snapshot() is not None
    assert workspace.snapshot() is None
    workspace.run("touch -r main.py /tmp/t; printf 'b = 2\\n' > main.py; touch -r /tmp/t main.py")
    files = workspace.snapshot()
    happened("workspace: change with forged times", "seen")
    assert files == (FileEntry(b"main.py", "file", b"b = 2\n"),)
