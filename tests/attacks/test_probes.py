"""Attacks that must come to nothing, while the match goes on as if nobody had tried."""
# ruff: noqa: E501  programs of attackers, a try a line

import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from arena import seeds
from arena.sandbox.base import Backend
from arena.types import Code
from tests.attacks import probes
from tests.attacks.arenas import (
    LIMITS,
    PAIR,
    PATIENT,
    PYTHON,
    Bout,
    assert_only_attacker_lost,
    attacker,
    bout,
    code,
    honest,
    play,
    reference,
)

HERE = Path(__file__).parent
CANARY = "canary-7c1f0a52"
NO_COMPILER = "no C compiler: apt-get install gcc libc6-dev"
Happened = Callable[[str, str], None]


def refused(result: Bout, seat: int, happened: Happened, attack: str) -> list[str]:
    """Every line of the bot's report, none of which tells of a success; both matches went as without an attack."""
    assert not result.attack.faults, result.attack.faults
    lines = [line for line in result.attack.stderr[seat].splitlines() if line]
    done = [line for line in lines if line.startswith("DONE")]
    happened(attack, f"{len(lines)} tries, {len(done)} succeeded; both players played on" + "".join(done[:2]))
    assert lines
    assert not done, done
    return lines


def probe(backend: Backend, body: str, happened: Happened, attack: str, seat: int = 0) -> list[str]:
    """Run a probe on `seat` against the honest bot."""
    result = bout(backend, attacker(body, seat), seat, PATIENT)
    lines = refused(result, seat, happened, attack)
    assert {result.attack.state_hash, result.after.state_hash} == {reference(backend.name, PATIENT)}
    return lines


def test_nothing_of_others_can_be_read(
    backend: Backend, happened: Happened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOST_CANARY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    (tmp_path / "secret").write_text(CANARY)
    tmp_path.chmod(0o755)
    paths = [str(tmp_path / "secret"), str(Path(__file__)), tempfile.gettempdir(), "/bot/../opponent", "/proc/1/root"]
    paths += [str(HERE.parents[1] / "arena"), "/etc/shadow", "/root", "/home", "/var/lib/docker", "/dev/mem"]
    body = probes.READING.replace("@PATHS@", repr(paths)).replace("@CANARY@", "canary-7c1f0" + "a52")
    # The bot's own folder holds the word it looks for; the opponent's and the host's must not be found.
    opponent = honest(**{"secret.txt": CANARY})
    played = play(backend, (attacker(body, 0), opponent), PATIENT)
    assert [each.void for each in played] == ["", ""]
    first, second = (each.outcome for each in played)
    assert first is not None
    assert second is not None
    refused(Bout(first, second), 0, happened, "reading the opponent, the engine, keys, /proc, the host's files")


def test_nothing_can_be_written(backend: Backend, happened: Happened, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    body = probes.WRITING.replace("@HOST@", str(tmp_path))
    probe(backend, body, happened, "writing anywhere: disk fill, inode fill, own code, engine, logs", 1)
    assert not list(tmp_path.iterdir())


def test_nobody_can_be_killed_or_slowed(backend: Backend, happened: Happened) -> None:
    lines = probe(backend, probes.KILLING, happened, "killing, stopping, tracing, slowing other processes")
    assert len(lines) > 40


@pytest.fixture
def network() -> Iterator[tuple[dict[str, str], list[socket.socket]]]:
    """Listeners of this machine within reach of anything whose network is not cut."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(family, kind)) for family, kind in (
            (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM),
            (socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_STREAM))]  # fmt: skip
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o777)
        path, abstract = folder / "host.sock", f"arena-attack-{id(sockets)}"
        tcp, udp, named, unnamed = sockets
        for each, address in ((tcp, ("127.0.0.1", 0)), (udp, ("127.0.0.1", 0)), (named, str(path))):
            each.bind(address)
        unnamed.bind(f"\0{abstract}")
        path.chmod(0o777)
        for each in (tcp, named, unnamed):
            each.listen()
        for each in sockets:
            each.setblocking(False)
        marks = {"@TCP@": tcp.getsockname()[1], "@UDP@": udp.getsockname()[1], "@PATH@": path, "@ABSTRACT@": abstract}
        yield {mark: str(value) for mark, value in marks.items()}, sockets


def test_no_network(backend: Backend, happened: Happened, network: tuple[dict[str, str], list[socket.socket]]) -> None:
    marks, sockets = network
    body = probes.NETWORK
    for mark, value in marks.items():
        body = body.replace(mark, value)
    probe(backend, body, happened, "network: TCP, UDP, IPv6, Unix sockets, odd families", 1)
    for each in sockets:
        with pytest.raises(BlockingIOError):
            each.recv(1) if each.type == socket.SOCK_DGRAM else each.accept()


def test_handed_descriptors_go_nowhere(backend: Backend, happened: Happened) -> None:
    result = bout(backend, attacker(probes.HANDING_DESCRIPTORS, 0), 0)
    happened("descriptors passed over the protocol", f"{result.attack.faults[0].kind}: dropped, then its own exit")
    assert_only_attacker_lost(result, 0)
    assert result.attack.faults[0].kind == "crash"
    assert result.attack.faults[0].turn == 4  # the answer that bore them was taken as any other


def compiled(name: str, tmp_path: Path, *options: str) -> bytes:
    """A C program as a static binary."""
    if shutil.which("gcc") is None:
        pytest.skip(NO_COMPILER)
    subprocess.run(["gcc", "-O1", "-static", *options, "-o", tmp_path / "bot", HERE / name], check=True)
    return (tmp_path / "bot").read_bytes()


def program(binary: bytes) -> Code:
    return code({"bot.toml": 'command = ["./bot.bin"]\n', "bot.bin": binary})


def test_raw_system_calls(backend: Backend, happened: Happened, tmp_path: Path) -> None:
    result = bout(backend, program(compiled("syscalls.c", tmp_path)), 0, PATIENT)
    assert not result.attack.faults
    report = dict(line.rsplit(" ", 1) for line in result.attack.stderr[0].splitlines())
    allowed = {name: answer for name, answer in report.items() if answer not in ("EPERM", "ENOSYS")}
    happened("raw system calls from C", f"{len(report)} calls, all EPERM or ENOSYS but {allowed or 'none'}")
    assert len(report) >= 55
    assert not allowed


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has a second table")
def test_the_other_table_of_system_calls(backend: Backend, happened: Happened, tmp_path: Path) -> None:
    result = bout(backend, program(compiled("other_table.c", tmp_path)), 0, PATIENT)
    fault = result.attack.faults[0]
    happened("32-bit system calls from C", f"{fault.kind}: {fault.detail}")
    assert_only_attacker_lost(result, 0)
    assert (fault.kind, fault.detail) == ("crash", "killed by signal 31 (SIGSYS)")


SHELL = {
    "fork bomb": ("f(){ f|f& }; f\nwait; exit 7", ("crash",)),
    "background child": ('sleep 600 &\nwhile read -r l; do echo \'{"move":"up"}\'; done', ("crash",)),
    "closed stdout": ("exec 1>&-\nwhile :; do read -r l; done", ("silence", "move_timeout")),
    "closed stdin and stdout": ("exec 0<&- 1>&-\nwhile :; do :; done", ("closed_pipe",)),
    "not there": ("exec /bot/absent", ("crash",)),
    "stderr flood": ("while :; do echo flood >&2; done", ("move_timeout", "start_timeout", "silence")),
}


@pytest.mark.parametrize("name", SHELL)
def test_shell_bots(name: str, backend: Backend, happened: Happened) -> None:
    body, kinds = SHELL[name]
    honest_shell = 'while read -r l; do echo \'{"move":"up"}\'; done\n'
    seed = seeds.bot_seed(PAIR.seed, 0)
    script = f'#!/bin/sh\nif [ "$ARENA_SEED" = {seed} ]; then\n{body}\nfi\n{honest_shell}'
    bot = code({"bot.toml": 'command = ["./bot.sh"]\n', "bot.sh": script})
    result = bout(backend, bot, 0, LIMITS)
    fault = result.attack.faults[0]
    happened(f"shell bot: {name}", f"{fault.kind}: {fault.detail[:90]}")
    assert_only_attacker_lost(result, 0)
    assert fault.kind in kinds
    assert not result.after.faults


PLANTED = "import sys\nsys.stderr.write('PLANTED ' + __name__)\nraise SystemExit(9)\n"


def test_planted_modules_are_not_ours(backend: Backend, happened: Happened) -> None:
    names = [
        "json",
        "random",
        "sitecustomize",
        "usercustomize",
        "os",
        "signal",
        "traceback",
        "collections",
        "encodings",
    ]
    names += [
        "host",
        "bots",
        "files",
        "seccomp",
        "bytecode",
        "ctypes",
        "resource",
        "importlib",
        "_json",
        "site",
        "marshal",
    ]
    files = {f"{name}.py": PLANTED for name in names} | {"arena/__init__.py": PLANTED, "json/__init__.py": PLANTED}
    main = "import json, random, collections\nfrom honest import move\nassert json.loads('1') == 1\n"
    bot = code({"bot.toml": 'entry = "main:move"\n', "honest.py": _honest_source(), "main.py": main, **files})
    result = bout(backend, bot, 0)
    happened("planted json.py, random.py, sitecustomize.py, host.py", "never loaded; the match went as without them")
    assert not result.attack.faults
    assert result.attack.stderr == ("", "")
    assert result.attack.state_hash == result.after.state_hash == reference(backend.name, LIMITS)


def _honest_source() -> str:
    source = honest().get("honest.py")
    assert source is not None
    return source.decode()


FINGERPRINT = """
import resource, builtins, random, json, threading
def fingerprint():
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT")}
    first = {}
    for name in limits:
        try: first[name] = resource.prlimit(1, getattr(resource, name))
        except OSError: pass
    os.umask(mask := os.umask(0))
    entries = {root: sorted(os.listdir(root)) for root in ("/", "/bot", "/dev", "/arena", "/arena/run", "/tmp", "/dev/shm")
               if os.path.isdir(root) and root != "/proc"}
    return json.dumps({
        "limits": limits, "first": first, "umask": mask, "cwd": os.getcwd(), "entries": entries,
        "priority": os.getpriority(os.PRIO_PROCESS, 0), "policy": os.sched_getscheduler(0), "first policy": os.sched_getscheduler(1),
        "first priority": os.getpriority(os.PRIO_PROCESS, 1), "cores": sorted(os.sched_getaffinity(0)),
        "mark": [getattr(module, "MARK", None) for module in (builtins, json, os, sys)],
        "environment": sorted(os.environ), "threads": threading.active_count(), "path": sys.path,
        "signals": [str(signal.getsignal(n)) for n in range(1, 32)], "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "files": [n for n in range(256) if not _closed(n)], "flags": sys.flags.safe_path,
    }, sort_keys=True, default=str)

def _closed(number):
    try: os.fstat(number)
    except OSError: return True

print(fingerprint(), file=sys.stderr)

def quietly(function, *arguments):
    try: function(*arguments)
    except BaseException: pass

def attack(state):
    for module in (builtins, json, os, sys): module.MARK = "was here"
    os.environ["MARK"] = "was here"
    quietly(os.umask, 0o777)
    quietly(os.setpriority, os.PRIO_USER, 0, 10)
    quietly(os.setpriority, os.PRIO_PROCESS, 1, 10)
    for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_STACK", "RLIMIT_CPU"):
        quietly(resource.prlimit, 1, getattr(resource, name), (10, 10))
    for root in ("/", "/tmp", "/dev", "/dev/shm", "/bot", "/arena/run"):
        quietly(os.mkdir, os.path.join(root, "mark"))
    quietly(os.sched_setaffinity, 1, {0})
    quietly(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
    quietly(os.kill, 1, signal.SIGUSR1)
    return honest(state)
"""


def test_no_state_from_match_to_match(backend: Backend, happened: Happened) -> None:
    result = bout(backend, attacker(FINGERPRINT, 0), 0, PATIENT)
    before, after = result.attack.stderr[0].strip(), result.after.stderr[1].strip()
    happened("state carried from match to match", "same surroundings again" if before == after else f"{after[:80]}")
    assert not result.attack.faults + result.after.faults
    assert before.startswith("{")
    assert before == after


def test_bot_threads_that_outlive_the_match(backend: Backend, happened: Happened) -> None:
    body = (
        "import threading\n"
        "def attack(state):\n"
        "    for _ in range(4): threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "    return honest(state)\n"
    )
    result = bout(backend, attacker(body, 0), 0)
    happened("threads that outlive the match", "gone with it")
    assert not result.attack.faults + result.after.faults
    assert result.attack.state_hash == reference(backend.name, LIMITS)


def test_thinking_on_the_opponents_time(backend: Backend, happened: Happened) -> None:
    body = (
        "import threading\ndef think():\n    while True: pass\n"
        "def attack(state):\n    threading.Thread(target=think, daemon=True).start()\n    return honest(state)\n"
    )
    slow = "import time, honest\ndef move(state):\n    time.sleep(0.25 if state['turn'] == 5 else 0)\n"
    opponent = code({**PYTHON, "main.py": slow + "    return honest.move(state)\n"})
    played = play(backend, (attacker(body, 0), opponent))
    first, second = (each.outcome for each in played)
    assert first is not None
    assert second is not None
    fault = first.faults[0]
    happened("thinking on the opponent's time", f"{fault.kind}: {fault.detail}")
    assert_only_attacker_lost(Bout(first, second), 0)
    assert fault.kind == "move_timeout"
    assert not second.faults


@pytest.fixture
def one_core() -> Iterator[None]:
    """Everything on one core, as under a pinned worker."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield
    os.sched_setaffinity(0, cores)


@pytest.mark.usefixtures("one_core")
def test_starving_the_opponent_of_the_core(backend: Backend, happened: Happened) -> None:
    """A dozen spinning threads leave the opponent, which is heard first, a thirteenth of the core."""
    body = (
        "import threading\ndef think():\n    while True: hash_ = hashlib.sha256(bytes(1 << 22)).digest()\n"
        "import hashlib\ndef attack(state):\n    for _ in range(12): threading.Thread(target=think).start()\n    think()\n"
    )
    busy = "import time, honest\ndef move(state):\n    end = time.process_time() + (0.4 if state['turn'] == 3 else 0)\n"
    busy += "    while time.process_time() < end: pass\n    return honest.move(state)\n"
    opponent = code({**PYTHON, "main.py": busy})
    limits = replace(LIMITS, move_seconds=0.5, match_seconds=5.0, memory_mb=1024)
    played = play(backend, (opponent, attacker(body, 1)), limits)
    first, second = (each.outcome for each in played)
    assert first is not None
    assert second is not None
    happened(
        "starving the opponent of the core", str([(fault.seat, fault.kind, fault.detail) for fault in first.faults])
    )
    assert_only_attacker_lost(Bout(first, second), 1)
    assert first.faults[0].kind == "move_timeout"
    assert not second.faults


def test_source_that_is_dear_to_compile(backend: Backend, happened: Happened) -> None:
    huge = "x = [" + "1," * 900_000 + "]\n"
    deep = "x = " + "(" * 5_000 + ")" * 5_000 + "\n"
    files = {f"huge{number}.py": huge for number in range(8)} | {f"deep{number}.py": deep for number in range(8)}
    result = bout(backend, attacker("def attack(state): return honest(state)", 0, **files), 0, PATIENT)
    happened("source that is dear to compile", "not compiled ahead; the match went on")
    assert not result.attack.faults + result.after.faults
    assert sys.getsizeof(huge) < 2_000_000
