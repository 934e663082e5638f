"""The suite for sandboxes: every promise of a backend, tried from inside."""

import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from arena.conformance import bounds
from arena.conformance.check import Check, Omitted, Probe, Unmet, demand, perform
from arena.conformance.inside import PROBE_SECONDS, Inside, Purpose, listening, opened
from arena.errors import SandboxError
from arena.sandbox import cgroup, docker
from arena.sandbox.base import Backend, SandboxSpec, peer
from arena.sandbox.place import PREFIX
from arena.sandbox.reap import process_start
from arena.sandbox.select import backend as backend_called

_GREETING = {"pid": int, "uid": int, "interfaces": list, "seccomp": bool, "root_writable": bool, "python": str}
_SYSTEM = ("/", "/usr", "/usr/bin", "/etc", "/bin", "/lib", "/var/tmp", "/run", "/dev", "/home")
_PURPOSES: tuple[Purpose, ...] = ("bot", "work")
_DYING_SECONDS = 1.0
_OURS = ("/arena", "/arena/inside", "/arena/run", "/conformance")


def check_sandbox(name: str) -> Iterator[Check]:
    """Carry out the suite on the backend called `name`. Raises ConfigError, PrerequisiteError before it starts."""
    return check_backend(backend_called(name))


def check_backend(backend: Backend) -> Iterator[Check]:
    """Carry out the suite on `backend`. Raises PrerequisiteError where this machine can't use it."""
    backend.check()
    yield from perform(_probes(backend), blame=SandboxError)


def _probes(backend: Backend) -> list[Probe]:
    everywhere: tuple[tuple[str, Callable[[Backend], str]], ...] = (
        ("greeting", greets),
        ("isolation as promised", isolation_as_promised),
        ("untrusted code refused where nothing is isolated", untrusted_refused),
        ("no environment of this machine", no_environment),
        ("time limit on the clock", bounds.wall_limit),
        ("100 MB of output bounded", bounds.output_bounded),
        ("a lost sandbox says so", loss_is_told),
        ("closing leaves nothing", leaves_nothing),
    )
    isolated: tuple[tuple[str, Callable[[Backend], str]], ...] = (
        ("network cut", network_cut),
        ("no privileges", no_privileges),
        ("read-only root", read_only_root),
        ("memory limit", bounds.memory_limit),
        ("memory limit of all processes together", bounds.memory_together),
        ("process limit", bounds.process_limit),
        ("disk limit", bounds.disk_limit),
        ("time limit on the processor", bounds.cpu_limit),
        ("children killed", children_killed),
        ("bots start no processes", bots_do_not_fork),
        ("sandboxes do not see each other", strangers),
    )
    probes: list[Probe] = [(name, partial(check, backend)) for name, check in everywhere]
    return probes + [(name, partial(_isolated, backend, check)) for name, check in isolated]


def _isolated(backend: Backend, check: Callable[[Backend], str]) -> str:
    """`check`, unless the backend says of itself that it isolates nothing."""
    if not backend.isolation().network:
        raise Omitted(f"{backend.name} promises no isolation: it runs trusted code only")
    return check(backend)


def greets(backend: Backend) -> str:
    """Opens for agents and for bots, and says what the host program sees."""
    for purpose in _PURPOSES:
        with opened(backend, purpose) as inside:
            hello = inside.sandbox.hello
            wrong = [key for key, kind in _GREETING.items() if not isinstance(hello.get(key), kind)]
            demand(not wrong, f"the greeting of a {purpose} sandbox lacks {', '.join(wrong)}")
            demand(inside.sandbox.answers(), f"a {purpose} sandbox does not answer after its greeting")
    return f"Python {hello['python']} as user {hello['uid']}"


def isolation_as_promised(backend: Backend) -> str:
    """What `isolation` says against what is seen from inside."""
    promised = backend.isolation()
    with opened(backend) as inside:
        hello, seen = inside.sandbox.hello, inside.try_("look", fork=True).must()
        writable = inside.try_("write", {"folders": ["/"]}).must()["written"]
    observed = {
        "network": set(seen["interfaces"]) <= {"lo"},
        "filesystem": not writable and not hello["root_writable"],
        "processes": hello["pid"] == 1,
        "seccomp": bool(hello["seccomp"]) and seen["seccomp"] in (None, "2"),
    }
    lies = [key for key, held in observed.items() if getattr(promised, key) and not held]
    demand(promised.backend == backend.name, f"it calls itself {promised.backend}, not {backend.name}")
    demand(not lies, f"promised but not seen from inside: {', '.join(lies)}")
    if promised.network:
        absent = [key for key in observed if not getattr(promised, key)]
        demand(not absent, f"a sandbox that cuts the network must also promise {', '.join(absent)}")
        demand(seen["uid"] != 0, "what runs inside is root")
    held = [key for key in observed if getattr(promised, key)]
    return f"{', '.join(held) or 'nothing'}; memory: {promised.memory}"


def untrusted_refused(backend: Backend) -> str:
    """A backend without isolation opens for trusted code only."""
    if backend.isolation().network:
        raise Omitted(f"{backend.name} is made for untrusted code")
    try:
        backend.open(SandboxSpec("bot", "conformance", trusted=False)).close()
    except SandboxError as refusal:
        return str(refusal)
    raise Unmet("it opened for code that is not trusted")


def network_cut(backend: Backend) -> str:
    """Listeners of this machine can't be reached, by commands or by bots, and there is no device but loopback."""
    for purpose in _PURPOSES:
        with listening() as listeners, opened(backend, purpose) as inside:
            seen = inside.try_("connect", listeners.request, fork=purpose == "work").must()
            reached = sorted({*seen["reached"], *listeners.visited()})
            devices = sorted({*seen["interfaces"], *inside.sandbox.hello["interfaces"]} - {"lo"})
        demand(not reached, f"{purpose} sandbox: reached {', '.join(reached)} of this machine")
        demand(not devices, f"{purpose} sandbox: network devices {', '.join(devices)} are there")
    return f"only loopback, and not this machine's ({seen['refused'][0]})"


def no_privileges(backend: Backend) -> str:
    """No root, no capabilities, no way to gain any, no new namespaces."""
    with opened(backend) as inside:
        seen = inside.try_("look", fork=True).must()
        made = inside.try_("new_namespace", fork=True).must()["made"]
    demand(seen["uid"] != 0, "what runs inside is root")
    demand(seen["capabilities"] is not None and int(seen["capabilities"], 16) == 0, f"it has capabilities: {seen}")
    demand(seen["no_new_privileges"] == "1", "set-uid programs would still give privileges")
    demand(not made, "a new user namespace, with root in it, can be made inside")
    return f"user {seen['uid']}, no capabilities, no new privileges"


def no_environment(backend: Backend) -> str:
    """A variable of this process does not get in."""
    name, canary = "ARENA_CONFORMANCE_CANARY", secrets.token_hex(16)
    os.environ[name] = canary
    try:
        with opened(backend) as inside:
            seen = inside.try_("look", fork=True).must()
    finally:
        del os.environ[name]
    leaked = [key for key, value in seen["environment"].items() if canary in value]
    demand(not leaked, f"variables of this machine are seen inside: {', '.join(leaked)}")
    return f"inside: {', '.join(sorted(seen['environment']))}"


def read_only_root(backend: Backend) -> str:
    """Agents can write to /work and /tmp alone, bots nowhere."""
    for purpose in _PURPOSES:
        may = {"/work", "/tmp"} if purpose == "work" else set()
        with opened(backend, purpose) as inside:
            folders = [*_SYSTEM, *_OURS, "/work", "/tmp", "/dev/shm"]
            written = set(inside.try_("write", {"folders": folders}).must()["written"])
        beyond = sorted(written - may - ({"/dev/shm"} if purpose == "work" else set()))
        demand(not beyond, f"a {purpose} sandbox can write to {', '.join(beyond)}")
        demand(may <= written, f"a {purpose} sandbox can't write to {', '.join(sorted(may - written))}")
    return "only /work and /tmp of agents can be written to"


def children_killed(backend: Backend) -> str:
    """A process that left its parent, group and session is gone when its command is."""
    with opened(backend) as inside:
        before = inside.try_("look", fork=True).must()["processes"]
        inside.try_("leave_child", fork=True).must()
        after = inside.try_("look", fork=True).must()["processes"]
    demand(after <= before, f"{after - before} processes outlived their command")
    return "none outlives its command"


def bots_do_not_fork(backend: Backend) -> str:
    """A bot is one process."""
    with opened(backend, "bot") as inside:
        told = inside.try_("fork", {"most": 8}).must()
    demand(told["children"] == 0, f"a bot could start {told['children']} processes")
    return str(told["error"])


def strangers(backend: Backend) -> str:
    """What one sandbox holds can't be found, read or killed from another."""
    canary = f"canary-{secrets.token_hex(8)}"
    with opened(backend, environment={"CANARY": canary}) as victim, opened(backend) as attacker:
        # without process spaces the attack would hit this machine
        demand(attacker.sandbox.hello["pid"] == 1, "sandboxes have no process space of their own")
        with _running(victim, {"seconds": 60, "leave": f"/work/{canary}"}):
            found = attacker.try_("look", {"canary": canary}, fork=True).must()["found"]
            demand(not found, f"another sandbox's secret can be read: {', '.join(found[:3])}")
            attacker.try_("kill_all", fork=True)
            time.sleep(0.1)
            victim.sandbox.ask_end()
            demand(victim.sandbox.take_exit().status is None, "a process of another sandbox could be killed")
        demand(attacker.sandbox.answers(), "a sandbox could kill its own first process")
    return "neither seen nor killed"


@contextmanager
def _running(inside: Inside, request: Mapping[str, Any]) -> Iterator[None]:
    """A process that sleeps inside, seen to have started; nothing here ends it."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            inside.sandbox.start(inside.process(fork=True), theirs.fileno(), theirs.fileno())
        ours.settimeout(PROBE_SECONDS)
        ours.recv(1)
        ours.sendall(json.dumps({"try": "sleep", **request}).encode() + b"\n")
        yield


def loss_is_told(backend: Backend) -> str:
    """Whoever uses a sandbox that is gone gets a SandboxError, at once; closing it again is harmless."""
    with opened(backend) as inside:
        inside.sandbox.close()
        try:
            inside.try_("look")
        except SandboxError as error:
            return str(error)
    raise Unmet("a closed sandbox ran a command")


def leaves_nothing(backend: Backend) -> str:
    """After a close, be it over a running command: no process, no folder, no control group, no container."""
    before = _traces(backend)
    with opened(backend) as inside:
        with socket.socket(fileno=os.dup(inside.sandbox.fileno())) as control:
            first = peer(control)
        demand(process_start(first), "its first process is not to be seen from here")
        made = len(_traces(backend) - before)
        with _running(inside, {"seconds": 60}):
            inside.sandbox.close()
        deadline = time.monotonic() + _DYING_SECONDS
        while process_start(first):
            demand(time.monotonic() < deadline, f"its first process {first} is still there")
            time.sleep(0.01)
    left = sorted(_traces(backend) - before)
    demand(not left, f"left behind: {', '.join(left)}")
    return f"its processes are gone, and so are {made} folders, groups and containers"


def _traces(backend: Backend) -> set[str]:
    """What sandboxes of this process have on this machine at the moment."""
    us = str(os.getpid())
    found = {f"control group {group.name}" for group, mark in cgroup.marked() if mark["pid"] == us}
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        if _owner_of(folder) == us:
            found.add(f"folder {folder}")
    if isinstance(backend, docker.Docker):
        ours = [each for each in docker.labelled(docker.connect()) if each["Labels"]["arena.pid"] == us]
        found |= {f"container {each['Id'][:12]}" for each in ours}
    return found


def _owner_of(folder: Path) -> str | None:
    """Process id in the mark of a sandbox's folder; None where it has none, or is not ours to read."""
    try:
        return str(json.loads((folder / "owner.json").read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
