import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from arena import images
from arena.errors import PrerequisiteError, SandboxError
from arena.sandbox import docker
from arena.sandbox.base import ProcessSpec, SandboxSpec
from arena.sandbox.command import Finished, run
from arena.sandbox.docker import Docker, DockerSandbox

BOT, WORK = SandboxSpec("bot", "test"), SandboxSpec("work", "test", memory_mb=256)


@pytest.fixture(scope="module")
def api():
    try:
        client = docker.connect()
        images.find(client)
    except PrerequisiteError as error:
        pytest.skip(f"docker sandbox: {error}")
    return client


@pytest.fixture
def backend(api):
    before = {container["Id"] for container in docker.labelled(api)}
    yield Docker()
    left = [c["Id"] for c in docker.labelled(api) if c["Id"] not in before and _is_mine(c)]
    assert not left


@pytest.fixture
def dead_api(tmp_path):
    """A client of a daemon that hangs up on every request."""
    from docker import APIClient

    path = tmp_path / "dead.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def hang_up():
        while True:
            try:
                server.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=hang_up, daemon=True).start()
    yield APIClient(base_url=f"unix://{path}", version="1.41")
    server.shutdown(socket.SHUT_RDWR)
    server.close()


class Altered(Docker):
    """Docker asked for something else than the real one asks for."""

    def __init__(self, host=None, **changes):
        self._host, self._changes = host or {}, changes

    def configuration(self, spec, image, folder):
        configuration = super().configuration(spec, image, folder)
        configuration["HostConfig"].update(self._host)
        return {**configuration, **self._changes}


def _is_mine(container) -> bool:
    return container["Labels"].get("arena.pid") == str(os.getpid())


def shell(sandbox: DockerSandbox, command: str, cwd: str = "/", fork: bool = True) -> Finished:
    spec = ProcessSpec("exec", cwd, argv=("bash", "-c", command), fork=fork)
    return run(sandbox, spec, 20, merge=True)


def printed(sandbox: DockerSandbox, command: str, **options) -> str:
    return shell(sandbox, command, **options).stdout.decode()


def end(sandbox: DockerSandbox) -> None:
    sandbox.ask_end()
    sandbox.take_exit()


def test_it_starts_and_says_what_it_observed(backend):
    with backend.open(BOT) as sandbox:
        assert sandbox.hello["pid"] == 1
        assert sandbox.hello["uid"] >= 1000
        assert sandbox.hello["interfaces"] == ["lo"]
        assert sandbox.hello["python"] >= "3.11"


def test_isolation_is_whole_and_names_the_image(backend, api):
    found = backend.isolation()
    assert (found.backend, found.network, found.filesystem, found.processes, found.seccomp) == ("docker", *[True] * 4)
    assert found.memory == "cgroup"
    assert found.image == images.find(api)


def test_check_passes_here(backend):
    backend.check()


def test_close_leaves_nothing_and_may_be_repeated(backend, api):
    from docker.errors import NotFound

    sandbox = backend.open(BOT)
    folder = sandbox._folder
    assert folder.is_dir()
    sandbox.close()
    sandbox.close()
    assert not folder.exists()
    with pytest.raises(NotFound):
        api.inspect_container(sandbox.container)
    with pytest.raises(SandboxError, match="it was closed"):
        sandbox.ask_end()


def test_every_sandbox_has_a_user_of_its_own(backend):
    with backend.open(BOT) as one, backend.open(BOT) as other:
        assert one.hello["uid"] != other.hello["uid"]


def test_a_bot_can_write_nowhere(backend):
    places = "/ /tmp /work /dev /dev/shm /dev/mqueue /arena/run /arena/inside /home /var/tmp /run /etc /proc/sys/kernel"
    with backend.open(BOT) as sandbox:
        command = f'for place in {places}; do : > $place/x && echo "wrote $place"; done 2>/dev/null'
        assert printed(sandbox, command, fork=False) == ""


def test_work_is_bounded_in_bytes_and_in_files(backend):
    with backend.open(SandboxSpec("work", "test", disk_mb=8)) as sandbox:
        for place in ("/work", "/tmp"):
            assert "No space left" in printed(sandbox, f"head -c 16M /dev/zero > {place}/big; rm {place}/big")
            many = "i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; echo $i"
            count = int(printed(sandbox, many, cwd=place))
            assert 10_000 < count < 20_000


def test_programs_built_in_work_run(backend):
    with backend.open(WORK) as sandbox:
        source = "int main(void){return 7;}"
        assert shell(sandbox, f"echo '{source}' > a.c && gcc a.c -o a && ./a", cwd="/work").exit.status == 7


def test_mounts_are_seen_and_read_only(backend, tmp_path):
    (tmp_path / "note").write_text("hello")
    tmp_path.chmod(0o755)
    mounts = (docker.Mount(tmp_path, "/code"), docker.Mount(tmp_path / "note", "/single"))
    with backend.open(SandboxSpec("work", "test", mounts)) as sandbox:
        assert printed(sandbox, "cat /code/note /single") == "hellohello"
        assert shell(sandbox, "echo spoilt > /code/note || rm /code/note").exit.status != 0
    assert (tmp_path / "note").read_text() == "hello"


def test_environment_is_what_the_spec_says_and_no_more(backend, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    with backend.open(SandboxSpec("work", "test", environment={"GIVEN": "1"})) as sandbox:
        told = printed(sandbox, "tr '\\0' '\\n' < /proc/1/environ; env")
        assert "s3cret" not in told
        configuration = docker.connect().inspect_container(sandbox.container)["Config"]["Env"]
    assert "GIVEN=1" in configuration
    assert not any("s3cret" in entry for entry in configuration)


def test_it_is_pinned_to_the_core_asked_for(backend):
    with backend.open(SandboxSpec("work", "test", core=0)) as sandbox:
        assert "Cpus_allowed_list:\t0\n" in printed(sandbox, "grep Cpus_allowed_list /proc/self/status")


FORK_BOMB = """
import os, time
count = 0
try:
    while count < 500 and (os.fork() or time.sleep(60) is not None):
        count += 1
except OSError:
    print(count)
"""


def test_processes_are_bounded_and_the_host_program_lives_on(backend):
    with backend.open(SandboxSpec("work", "test", processes=20)) as sandbox:
        assert 10 < int(printed(sandbox, f"python3 -c '{FORK_BOMB}'")) < 24
        assert printed(sandbox, "echo alive") == "alive\n"


SYSTEM_CALLS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for name, number, *rest in [("io_uring", 425, 8, 0), ("keyctl", 250, 0, -3), ("userfaultfd", 323, 0),
                            ("unshare", 272, 0x10000000), ("bpf", 321, 0, 0, 0), ("perf", 298, 0, 0, -1, -1, 0)]:
    print(name, libc.syscall(number, *rest), ctypes.get_errno())
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
def test_dangerous_system_calls_are_refused_in_work_too(backend):
    with backend.open(WORK) as sandbox:
        lines = printed(sandbox, f"python3 -c '{SYSTEM_CALLS}'").splitlines()
    assert len(lines) == 6
    assert all(line.split()[1:] == ["-1", "1"] for line in lines), lines


@pytest.mark.parametrize(
    ("altered", "missing"),
    [
        (Altered({"NetworkMode": "bridge"}, NetworkDisabled=False), "a cut network"),
        (Altered({"NetworkMode": "host"}, NetworkDisabled=False), "a cut network"),
        (Altered(User="0:0"), "a user other than root"),
        (Altered({"PidMode": "host"}), "a process space of its own"),
    ],
    ids=["bridge", "host network", "root", "host processes"],
)
def test_what_is_not_isolated_is_refused_and_removed(backend, altered, missing):
    with pytest.raises(SandboxError, match=missing):
        altered.open(BOT)


def test_check_says_why_no_sandbox_can_be_made(backend):
    with pytest.raises(PrerequisiteError, match=r"can't make a sandbox.*a cut network"):
        Altered({"NetworkMode": "bridge"}, NetworkDisabled=False).check()


@pytest.mark.parametrize(
    ("altered", "reason"),
    [
        (Altered(Cmd=["/nowhere"]), "could not start a container"),
        (Altered(Image="code-arena:nonesuch"), "could not create a container"),
        (Altered(Cmd=["sh", "-c", "exit 5"]), "did not start: ended with exit code 5"),
        (
            Altered({"Memory": 24 << 20, "MemorySwap": 24 << 20}, Cmd=["tail", "/dev/zero"]),
            "did not start: out of memory",
        ),
    ],
    ids=["no program", "no image", "ends at once", "out of memory"],
)
def test_a_failed_start_says_why_and_leaves_nothing(backend, altered, reason):
    with pytest.raises(SandboxError, match=reason):
        altered.open(BOT)


def test_a_mount_that_is_not_there_is_named(backend, tmp_path):
    with pytest.raises(SandboxError, match="nonesuch"):
        backend.open(SandboxSpec("bot", "test", (docker.Mount(tmp_path / "nonesuch", "/code"),)))


def test_a_container_killed_from_outside_is_a_lost_sandbox_with_a_reason(backend, api):
    with backend.open(BOT) as sandbox:
        api.kill(sandbox.container)
        with pytest.raises(SandboxError, match="killed by signal 9, from outside"):
            end(sandbox)


def test_a_container_removed_from_outside_is_a_lost_sandbox_with_a_reason(backend, api):
    with backend.open(BOT) as sandbox:
        docker.remove(api, sandbox.container)
        with pytest.raises(SandboxError, match="removed from outside"):
            end(sandbox)
        assert not sandbox.out_of_memory()


def test_a_stopped_host_program_is_told_from_a_dead_one(backend, api):
    with backend.open(BOT) as sandbox:
        api.pause(sandbox.container)
        assert sandbox.post_mortem() == "its first process does not answer"


def test_the_memory_limit_is_recognised_and_costs_the_eater_alone(backend):
    with backend.open(SandboxSpec("work", "test", memory_mb=64)) as sandbox:
        assert not sandbox.out_of_memory()
        assert shell(sandbox, "tail /dev/zero").exit.status in (-9, 137)
        assert sandbox.out_of_memory()
        assert printed(sandbox, "echo alive") == "alive\n"


def test_after_its_end_the_daemon_tells_of_memory(backend, api):
    with backend.open(SandboxSpec("work", "test", memory_mb=64)) as sandbox:
        sandbox.memory_group = None
        assert not sandbox.out_of_memory()
        shell(sandbox, "tail /dev/zero")
        api.kill(sandbox.container)
        assert sandbox.post_mortem() == "out of memory"
        assert sandbox.out_of_memory()


def test_a_flooding_container_is_removed_at_once(backend, api):
    folder = docker.work_directory()
    (folder / "run").mkdir()
    docker.copy_inside(folder)
    configuration = backend.configuration(BOT, images.find(api), folder)
    container = api.create_container_from_config({**configuration, "Cmd": ["yes"]})["Id"]
    api.start(container)
    time.sleep(0.5)
    started = time.monotonic()
    docker.remove(api, container)
    assert time.monotonic() - started < 5
    docker.shutil.rmtree(folder)


def test_a_sandbox_flooding_its_descriptors_is_closed_at_once(backend):
    ours, theirs = socket.socketpair()
    sandbox = backend.open(WORK)
    with ours, theirs:
        argv = ("bash", "-c", "yes & yes >&2 & yes >/proc/1/fd/1 & wait")
        sandbox.start(ProcessSpec("exec", "/", argv=argv, fork=True), theirs.fileno(), theirs.fileno())
        time.sleep(0.3)
        started = time.monotonic()
        sandbox.close()
        assert time.monotonic() - started < 5


def test_removing_from_many_sides_at_once_is_fine(backend, api):
    sandbox = backend.open(BOT)
    barrier, errors = threading.Barrier(5), []

    def take_away(action):
        barrier.wait()
        try:
            action()
        except SandboxError as error:
            errors.append(error)

    actions = [sandbox.close, *[lambda: docker.remove(api, sandbox.container)] * 4]
    threads = [threading.Thread(target=take_away, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not errors


def test_sandboxes_open_side_by_side_in_threads(backend):
    found = []

    def one():
        with backend.open(BOT) as sandbox:
            found.append(sandbox.hello["pid"])

    threads = [threading.Thread(target=one) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [1, 1, 1]


def test_a_forked_worker_gets_a_client_of_its_own(backend, api):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, b"same" if docker.connect() is api else b"own")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 10) == b"own"
    os.close(read_end)
    os.close(write_end)
    assert docker.connect() is api


def test_a_daemon_that_hangs_up_is_an_error_of_ours(dead_api, tmp_path):
    with pytest.raises(SandboxError, match="could not list containers"):
        docker.labelled(dead_api)
    with pytest.raises(SandboxError, match="could not remove container"):
        docker.remove(dead_api, "0" * 64)
    ours, theirs = socket.socketpair()
    with theirs:
        sandbox = DockerSandbox(ours, {}, dead_api, "0" * 64, tmp_path / "work")
        assert "could not look at a container" in sandbox.post_mortem()
        ours.close()


def test_a_failed_removal_still_takes_the_folder(dead_api, tmp_path):
    (tmp_path / "work").mkdir()
    ours, theirs = socket.socketpair()
    sandbox = DockerSandbox(ours, {}, dead_api, "0" * 64, tmp_path / "work")
    with theirs, pytest.raises(SandboxError, match="could not remove"):
        sandbox.close()
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("host", ["tcp://192.0.2.1:2376", "ssh://somebody@somewhere"])
def test_a_daemon_elsewhere_is_refused(monkeypatch, host):
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(PrerequisiteError, match="not on this machine"):
        docker.connect()


def test_no_daemon_at_the_socket_is_said_with_the_fix(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(PrerequisiteError, match="systemctl start docker"):
        docker.connect()


def test_docker_host_names_the_socket(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///somewhere/docker.sock")
    assert docker.socket_path() == Path("/somewhere/docker.sock")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user: run as root")
def test_a_user_whom_the_socket_refuses_is_told_so(api, monkeypatch):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    code = """
import os
from arena.sandbox import docker
os.setgroups([]); os.setgid(65534); os.setuid(65534)
docker.socket_path()
"""
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "refuses this user" in asked.stderr
