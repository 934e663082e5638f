"""What a forked child does on its way to being a bot or a command. Standard library only; runs inside sandboxes."""

import ctypes
import importlib
import io
import json
import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

import bytecode

PROTOCOL = 3  # the descriptor on which a hosted bot speaks
READ_BYTES = 262_144
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4


def become(spec: dict[str, Any], descriptors: list[int], bot_filter: Callable[[], None] | None) -> NoReturn:
    """Turn this freshly forked child into the process that `spec` asks for; never returns.

    The first byte on the protocol descriptor is ours: the far side takes this process's identity from the kernel
    with it, so it must be sent before anything of the bot's runs.
    """
    try:
        _take_descriptors(descriptors, exec_=spec["kind"] == "exec")
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.setsid()
        os.chdir(spec["cwd"])
        os.write(PROTOCOL, b"+")
        if not spec["confined"]:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # where there is no process space to end with the first process
        elif spec["fork"]:
            _offer_to_memory_killer()
        _limit(spec)
        if bot_filter is not None:
            bot_filter()
        if spec["kind"] == "exec":
            _exec(spec)
        _host(spec)
        status = 0
    except BaseException as error:  # noqa: BLE001  whatever the bot raised, SystemExit too: this process ends here
        status = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
        if not isinstance(error, SystemExit):
            traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)


def _take_descriptors(descriptors: list[int], exec_: bool) -> None:
    protocol, stderr = descriptors
    os.dup2(stderr, 2)
    os.dup2(protocol, PROTOCOL)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(PROTOCOL if exec_ else null, 0)
    os.dup2(PROTOCOL if exec_ else 2, 1)  # print() in a hosted bot is log, never protocol
    os.closerange(PROTOCOL + 1, 1024)


def _prctl(option: int, value: int) -> None:
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
    prctl(option, value, 0, 0, 0)


def _offer_to_memory_killer() -> None:
    """Let the kernel, where memory runs out, kill what an agent started and not the first process."""
    _prctl(_PR_SET_DUMPABLE, 1)  # or its own file would be root's; nothing else runs that could look in
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


def _limit(spec: dict[str, Any]) -> None:
    def cap(what: int, soft: int, hard: int | None = None) -> None:
        ceiling = resource.getrlimit(what)[1]
        wanted = soft if ceiling == resource.RLIM_INFINITY else min(soft, ceiling)
        resource.setrlimit(what, (wanted, wanted if hard is None else hard))

    cap(resource.RLIMIT_CORE, 0)
    if spec["confined"]:
        cap(resource.RLIMIT_AS, spec["memory_mb"] << 20)
        cap(resource.RLIMIT_FSIZE, spec["file_mb"] << 20)
        cap(resource.RLIMIT_NOFILE, 256)
        cap(resource.RLIMIT_NPROC, spec["processes"])
        cap(resource.RLIMIT_CPU, spec["cpu_seconds"], spec["cpu_seconds"] + 1)


def _exec(spec: dict[str, Any]) -> NoReturn:
    os.set_inheritable(PROTOCOL, False)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python; a program expects them as the system has them
        signal.signal(number, signal.SIG_DFL)
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "ARENA_SEED": str(spec["seed"])}
    os.execvpe(spec["argv"][0], spec["argv"], environment | spec["environment"])  # noqa: S606  no shell is the point


def _host(spec: dict[str, Any]) -> None:
    os.environ["ARENA_SEED"] = str(spec["seed"])
    random.seed(spec["seed"])
    cast("io.TextIOWrapper", sys.stdout).reconfigure(line_buffering=True)
    sys.path.insert(0, spec["cwd"])
    bytecode.install(spec["bytecode"])
    module, _, name = spec["entry"].partition(":")
    target = getattr(importlib.import_module(module), name)
    if spec["hosting"] == "kept":
        _serve_kept(target)
    else:
        _serve(_player(target))


def _player(target: Any) -> Callable[[Any], Any]:
    """The function that answers one observation: `target` itself, or the `move` of a new object of it."""
    if not isinstance(target, type):
        return cast("Callable[[Any], Any]", target)
    bot = target()
    return cast("Callable[[Any], Any]", bot.move if hasattr(bot, "move") else bot)


def _lines() -> Iterator[bytes]:
    pending = b""
    while True:
        data = os.read(PROTOCOL, READ_BYTES)
        if not data:
            return
        pending += data
        if pending.endswith(b"\n"):
            yield pending
            pending = b""


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(PROTOCOL, data) :]


# Taken before the bot's code runs, so that what it does to the json module is its own affair; and faster than loads.
_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder().encode


def _serve(player: Callable[[Any], Any]) -> None:
    for line in _lines():
        _write(_encode(player(_decode(line.decode()))).encode() + b"\n")


def _serve_kept(target: Any) -> None:
    """Many matches at once: a line is [[match, observation], ...], answered by [[match, reply], ...].

    A match id seen for the first time gets a bot object of its own, kept until its observation is null; `random` is one
    stream for the whole batch.
    """
    players: dict[int, Callable[[Any], Any]] = {}
    for line in _lines():
        answers = []
        for match, observation in _decode(line.decode()):
            if observation is None:  # that match is over
                players.pop(match, None)
                continue
            if match not in players:
                players[match] = _player(target)
            answers.append([match, players[match](observation)])
        _write(_encode(answers).encode() + b"\n")
