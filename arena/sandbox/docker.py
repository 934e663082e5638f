"""Sandboxes of Docker: a container each, hardened, joined to this side by a bind-mounted Unix socket.

No stream of a container is ever attached: what runs inside answers over the socket alone, so a flood on its output
blocks neither us nor the daemon. Docker's default system-call profile stays on, and the host program adds its own.
"""

import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena import images
from arena.errors import PrerequisiteError, SandboxError
from arena.sandbox import cgroup
from arena.sandbox.base import Backend, Isolation, Mount, Sandbox, SandboxSpec, accept, listen, peer, require_isolated
from arena.sandbox.bounds import INODES, disks_mb, memory_mb
from arena.sandbox.place import copy_inside, work_directory
from arena.sandbox.reap import owner

if TYPE_CHECKING:
    from docker import APIClient

_API_SECONDS = 60
_OWN_PROCESSES = 4  # for the host program and what it is just starting
_OOM_SCORE = 500
_KILLED = 128 + 9
_BOT_CPUS, _WORK_CPUS = 1, 2
# Far from real users, so that the kernel's counts per user are counts per sandbox. A daemon that maps users has few.
_FIRST_USER, _USERS = 200_000, 1_000_000
_FIRST_MAPPED_USER, _MAPPED_USERS = 10_000, 50_000


class DockerSandbox(Sandbox):
    """One container with the host program as its process 1."""

    def __init__(
        self, control: socket.socket, hello: Mapping[str, Any], api: "APIClient", container: str, folder: Path
    ) -> None:
        super().__init__(control, hello)
        self._api, self._folder = api, folder
        self.container = container
        self.memory_group = cgroup.memory_group(peer(control))

    def out_of_memory(self) -> bool:
        """Whether the kernel killed in this container for its memory limit: its group tells while it runs, the daemon
        when it has ended."""
        if self.memory_group is not None and (kills := cgroup.oom_kills(self.memory_group)) is not None:
            return kills > 0
        state = _state(self._api, self.container)
        return state is not None and bool(state["OOMKilled"])

    def post_mortem(self) -> str:
        """How the container ended."""
        if self._closed:
            return "it was closed"
        try:
            return _how_it_ended(self._api, self.container)
        except SandboxError as error:
            return str(error)

    def _remove(self) -> None:
        try:
            remove(self._api, self.container)
        finally:
            shutil.rmtree(self._folder)


class Docker(Backend):
    """The full sandbox, where a local daemon answers."""

    name = "docker"

    def check(self) -> None:
        """Raises PrerequisiteError unless a sandbox can really be opened here."""
        try:
            with daemon_errors("ask about itself"):
                info = connect().info()
            if "Docker Desktop" in info["OperatingSystem"]:
                raise PrerequisiteError(
                    "Docker Desktop runs containers in a virtual machine: use Docker Engine, or bubblewrap"
                )
            self.open(SandboxSpec("bot", "check")).close()
        except SandboxError as error:
            raise PrerequisiteError(f"Docker answers but can't make a sandbox: {error}") from error

    def isolation(self) -> Isolation:
        """Open one, look, close it."""
        spec = SandboxSpec("bot", "isolation")
        with self.open(spec) as sandbox:
            hello = sandbox.hello
            with daemon_errors("look at a container"):
                seen = connect().inspect_container(sandbox.container)
            group = sandbox.memory_group
            limited = group is not None and cgroup.memory_limit(group) == memory_mb(spec) << 20
            return Isolation(
                backend=self.name,
                network=set(hello["interfaces"]) <= {"lo"},
                filesystem=seen["HostConfig"]["ReadonlyRootfs"] and not hello["root_writable"],
                processes=hello["pid"] == 1,
                user=hello["uid"],
                seccomp=hello["seccomp"],
                memory="cgroup" if limited else "per-process",
                image=seen["Image"],
            )

    def open(self, spec: SandboxSpec) -> DockerSandbox:
        """Start one under a user id of its own. Raises SandboxError, PrerequisiteError."""
        api = connect()
        image = _image(os.getpid())
        folder = work_directory()
        try:
            copy_inside(folder)
            run = folder / "run"
            run.mkdir()
            run.chmod(0o755)
            with listen(run / "control.sock") as listener:
                return self._start(api, self.configuration(spec, image, folder), listener, folder)
        except BaseException:
            shutil.rmtree(folder)
            raise

    def configuration(self, spec: SandboxSpec, image: str, folder: Path) -> dict[str, Any]:
        """What the daemon is asked to create, as its API spells it."""
        user = _new_user()
        environment = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", **spec.environment}
        python = ["/usr/bin/python3", "-s", "-S", "-P", "-B"]
        return {
            "Image": image,
            "Entrypoint": [],
            "Cmd": [*python, "/arena/inside/host.py", "/arena/run/control.sock", spec.purpose],
            "User": f"{user}:{user}",
            "Env": [f"{key}={value}" for key, value in environment.items()],
            "WorkingDir": "/",
            "Hostname": "arena",
            "NetworkDisabled": True,
            "Labels": {"arena": "1", "arena.label": spec.label, **{f"arena.{k}": str(v) for k, v in owner().items()}},
            "HostConfig": _confinement(spec, folder, user),
        }

    def _start(
        self, api: "APIClient", configuration: dict[str, Any], listener: socket.socket, folder: Path
    ) -> DockerSandbox:
        with daemon_errors("create a container"):
            container: str = api.create_container_from_config(configuration)["Id"]  # type: ignore[no-untyped-call]  # bare stub
        try:
            with daemon_errors("start a container"):
                api.start(container)
            control, hello = accept(listener, lambda: _died(api, container))
            try:
                require_isolated(hello)
            except BaseException:
                control.close()
                raise
        except BaseException:
            remove(api, container)
            raise
        (folder / "run" / "control.sock").unlink()
        return DockerSandbox(control, hello, api, container, folder)


def socket_path() -> Path:
    """The local daemon's socket: DOCKER_HOST where it is set, else the system's, else this user's own.

    Raises PrerequisiteError when there is none, or it is on another machine.
    """
    if host := os.environ.get("DOCKER_HOST"):
        if not host.startswith("unix://"):
            raise PrerequisiteError(
                f"DOCKER_HOST={host} is not on this machine, and sandboxes are reached by a Unix socket: "
                "unset it, or set it to unix:///path/to/docker.sock"
            )
        return Path(host.removeprefix("unix://"))
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    candidates = [Path("/var/run/docker.sock"), Path(runtime, "docker.sock"), Path.home() / ".docker/run/docker.sock"]
    for path in candidates:
        if os.access(path, os.R_OK | os.W_OK):
            return path
    refused = [str(path) for path in candidates if os.access(path, os.F_OK)]
    if refused:
        raise PrerequisiteError(f"{refused[0]} refuses this user: add it to the group docker, or use bubblewrap")
    raise PrerequisiteError("no Docker daemon on this machine: apt-get install docker.io, or use bubblewrap")


def connect() -> "APIClient":
    """A client of the local daemon, one a process. Raises PrerequisiteError when none answers."""
    return _client(str(socket_path()), os.getpid())


@cache
def _client(path: str, _process: int) -> "APIClient":
    from docker import APIClient
    from docker.errors import DockerException

    try:
        return APIClient(base_url=f"unix://{path}", version="auto", timeout=_API_SECONDS)
    except DockerException as error:
        raise PrerequisiteError(f"no Docker daemon answers at {path} (systemctl start docker): {error}") from error


@cache
def _image(_process: int) -> str:
    return images.find(connect())


@contextmanager
def daemon_errors(what: str) -> Iterator[None]:
    """Turn what the daemon or the way to it says into SandboxError. `what` completes "could not"."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException) as error:
        raise SandboxError(f"the Docker daemon could not {what}: {error}") from error


def labelled(api: "APIClient") -> list[dict[str, Any]]:
    """Every container of ours, running or not: its "Id" and "Labels" among other things."""
    with daemon_errors("list containers"):
        found: list[dict[str, Any]] = api.containers(all=True, filters={"label": "arena=1"})
    return found


def remove(api: "APIClient", container: str) -> None:
    """Kill and remove a container; fine if somebody else did, or is about to. Raises SandboxError."""
    from docker.errors import APIError

    with daemon_errors(f"remove container {container[:12]}"):
        try:
            api.remove_container(container, force=True, v=True)
        except APIError as error:
            if error.status_code not in (404, 409):
                raise


def _confinement(spec: SandboxSpec, folder: Path, user: int) -> dict[str, Any]:
    work = spec.purpose == "work"
    mounts = [Mount(folder / "inside", "/arena/inside"), Mount(folder / "run", "/arena/run"), *spec.mounts]
    memory = memory_mb(spec) << 20
    owned = f"nr_inodes={INODES},uid={user},gid={user},mode=0700,nosuid,nodev"
    cpus = min(_WORK_CPUS if work else _BOT_CPUS, os.cpu_count() or 1)
    return {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": spec.processes + _OWN_PROCESSES,
        "NanoCpus": cpus * 10**9,
        "CpusetCpus": "" if spec.core is None else str(spec.core),
        "IpcMode": "none",
        "Tmpfs": {
            folder: f"size={size}m,{owned},{'exec' if folder == '/work' else 'noexec'}"
            for folder, size in disks_mb(spec).items()
        },
        "Ulimits": [
            {"Name": name, "Soft": limit, "Hard": limit}
            for name, limit in (("nofile", 1024), ("core", 0), ("msgqueue", 0))
        ],
        "LogConfig": {"Type": "none", "Config": {}},
        "OomScoreAdj": _OOM_SCORE,
        "Mounts": [
            {"Type": "bind", "Source": str(mount.source.resolve()), "Target": mount.target, "ReadOnly": True}
            for mount in mounts
        ],
    }


def _new_user() -> int:
    if _maps_users(os.getpid()):
        return _FIRST_MAPPED_USER + secrets.randbelow(_MAPPED_USERS)
    return _FIRST_USER + secrets.randbelow(_USERS)


@cache
def _maps_users(_process: int) -> bool:
    """Whether the daemon runs without root, or maps users away from root."""
    with daemon_errors("ask about itself"):
        options = connect().info()["SecurityOptions"] or []
    return any(option.split(",")[0] in ("name=rootless", "name=userns") for option in options)


def _state(api: "APIClient", container: str) -> dict[str, Any] | None:
    """The daemon's word on a container; None if it has none of that id."""
    from docker.errors import NotFound

    with daemon_errors("look at a container"):
        try:
            state: dict[str, Any] = api.inspect_container(container)["State"]
        except NotFound:
            return None
    return state


def _how_it_ended(api: "APIClient", container: str) -> str:
    deadline = time.monotonic() + 1.0
    while (state := _state(api, container)) is not None and state["Running"] and time.monotonic() < deadline:
        time.sleep(0.02)  # the daemon learns of the end a little later than the socket
    if state is None:
        return "its container was removed from outside"
    if state["Running"]:
        return "its first process does not answer"
    if state["OOMKilled"] and state["ExitCode"] == _KILLED:
        return "out of memory"
    code = state["ExitCode"]
    return f"killed by signal {code - 128}, from outside" if code > 128 else f"ended with exit code {code}"


def _died(api: "APIClient", container: str) -> str | None:
    state = _state(api, container)
    return None if state is not None and state["Running"] else _how_it_ended(api, container)
