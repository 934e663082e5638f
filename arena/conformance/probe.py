"""Runs inside sandboxes as a hosted bot: tries what it is asked to try, and says what came of it.

Standard library only. A request is `{"try": name, ...}`; the answer is a JSON object.
"""

import ctypes
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

_PROTOCOL = 3  # the descriptor on which a hosted bot speaks
_MEGABYTE = 1 << 20


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Entry point of the hosting protocol."""
    return TRIES[request["try"]](request)


def look(request: dict[str, Any]) -> dict[str, Any]:
    """What this process can see of itself and of its surroundings."""
    status = Path("/proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    return {
        "uid": os.getuid(),
        "interfaces": _interfaces(),
        "capabilities": fields.get("CapEff"),
        "no_new_privileges": fields.get("NoNewPrivs"),
        "seccomp": fields.get("Seccomp"),
        "environment": dict(os.environ),
        "processes": _processes(),
        "found": _find(request.get("canary", "")),
    }


def _processes() -> int:
    return sum(1 for _ in Path("/proc").glob("[0-9]*"))


def _interfaces() -> list[str]:
    """Names of the network devices; bots may not even ask for them."""
    try:
        return sorted(name for _, name in socket.if_nameindex())
    except OSError:
        return []


def _find(canary: str) -> list[str]:
    """Where `canary` shows up: in command lines, in environments, among the files of /work and /tmp."""
    found = []
    for path in Path("/proc").glob("[0-9]*/*") if canary else ():
        if path.name in ("cmdline", "environ") and path.parent.name != str(os.getpid()) and canary in _text(path):
            found.append(str(path))
    for folder in ("/work", "/tmp"):
        for path in Path(folder).rglob("*") if canary else ():
            if canary in path.name or canary in _text(path):
                found.append(str(path))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def connect(request: dict[str, Any]) -> dict[str, Any]:
    """Try to reach listeners of the outside; `reached` names those that could be."""
    targets = {
        "TCP over IPv4": (socket.AF_INET, ("127.0.0.1", request["tcp"])),
        "an abstract Unix socket": (socket.AF_UNIX, "\0" + request["abstract"]),
    }
    reached, refused = [], []
    for name, (family, address) in targets.items():
        try:
            with socket.socket(family, socket.SOCK_STREAM) as client:
                client.settimeout(2)
                client.connect(address)
                client.sendall(b"reached")
            reached.append(name)
        except OSError as error:
            refused.append(f"{name}: {error}")
    return {"reached": reached, "refused": refused, "interfaces": _interfaces()}


def write(request: dict[str, Any]) -> dict[str, Any]:
    """Try to create a file in each of `folders`; `written` names those where it worked."""
    written = []
    for folder in request["folders"]:
        path = Path(folder, "conformance-probe")
        try:
            path.write_bytes(b"written")
        except OSError:
            continue
        path.unlink()
        written.append(folder)
    return {"written": written}


def fill(request: dict[str, Any]) -> dict[str, Any]:
    """Write up to `megabytes` into a file; `written` is how many there was room for."""
    done, error = 0, ""
    path = Path(request["folder"], "conformance-fill")
    try:
        with path.open("wb", buffering=0) as file:
            for done in range(request["megabytes"]):  # noqa: B007  the count is the answer
                file.write(bytes(_MEGABYTE))
            done = request["megabytes"]
    except OSError as caught:
        error = str(caught)
    path.unlink(missing_ok=True)
    return {"written": done, "error": error}


def allocate(request: dict[str, Any]) -> dict[str, Any]:
    """Touch up to `megabytes` of memory; `touched` is how many there were."""
    blocks: list[bytearray] = []
    try:
        while len(blocks) < request["megabytes"]:
            blocks.append(bytearray(b"x") * _MEGABYTE)
    except MemoryError:
        touched = len(blocks)
        blocks.clear()
        return {"touched": touched, "error": "MemoryError"}
    return {"touched": len(blocks), "error": ""}


def allocate_together(request: dict[str, Any]) -> dict[str, Any]:
    """Have `children` processes hold `megabytes` each, all at the same time; `holding` is how many could."""
    told, tell = os.pipe()
    os.set_blocking(told, False)
    children = []
    for _ in range(request["children"]):
        pid = os.fork()
        if pid == 0:
            block = bytearray(b"x") * (request["megabytes"] * _MEGABYTE)
            os.write(tell, b"+")
            signal.pause()
            os._exit(len(block))
        children.append(pid)
    holding = dead = 0
    while holding + dead < len(children):  # every one holds it, or was killed over it
        time.sleep(0.01)
        while os.waitpid(-1, os.WNOHANG)[0]:
            dead += 1
        holding += _count(told)
    return {"holding": holding}


def _count(pipe: int) -> int:
    try:
        return len(os.read(pipe, 64))
    except BlockingIOError:
        return 0


def fork(request: dict[str, Any]) -> dict[str, Any]:
    """Fork until it is refused, at most `most` times; `children` is how often it worked."""
    children: list[int] = []
    error = ""
    try:
        while len(children) < request["most"]:
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
    except OSError as caught:
        error = str(caught)
    for pid in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return {"children": len(children), "error": error}


def leave_child(_request: dict[str, Any]) -> dict[str, Any]:
    """Start a process that has left its parent, its group and its session, and sleeps."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for descriptor in range(3):
                os.dup2(os.open("/dev/null", os.O_RDWR), descriptor)
            os.closerange(3, 64)
            time.sleep(60)
        os._exit(0)
    return {"processes": _processes()}


def new_namespace(_request: dict[str, Any]) -> dict[str, Any]:
    """Try to get a user namespace of its own, and root with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    return {"made": libc.unshare(0x10000000) == 0}


def kill_all(_request: dict[str, Any]) -> dict[str, Any]:
    """Kill whatever can be killed from here; only in a process space of its own, lest this machine goes."""
    if os.getppid() != 1:
        return {"error": "no process space of its own"}
    try:
        os.kill(-1, 9)
    except OSError as error:
        return {"error": str(error)}
    return {"error": ""}


def flood(request: dict[str, Any]) -> dict[str, Any]:
    """Print `megabytes` to the log and as many into the protocol, without one line end."""
    chunk = b"f" * _MEGABYTE
    for _ in range(request["megabytes"]):
        for descriptor in (2, _PROTOCOL):
            view = memoryview(chunk)
            while view:
                view = view[os.write(descriptor, view) :]
    return {}


def burn(_request: dict[str, Any]) -> dict[str, Any]:
    """Use CPU time for ever."""
    while True:
        pass


def sleep(request: dict[str, Any]) -> dict[str, Any]:
    """Do nothing for `seconds`; `leave` is a file to leave while that lasts."""
    if path := request.get("leave"):
        Path(path).write_text(path)
    time.sleep(request["seconds"])
    return {}


TRIES = {
    function.__name__: function
    for function in (
        look,
        connect,
        write,
        fill,
        allocate,
        allocate_together,
        fork,
        leave_child,
        new_namespace,
        kill_all,
        flood,
        burn,
        sleep,
    )
}
