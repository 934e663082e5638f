"""Attempts of an agent's commands to get out of the workspace, and at what runs it."""
# ruff: noqa: E501  programs of attackers, a try a line

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.sandbox.base import Backend, SandboxSpec
from arena.workspace import Allowance, SandboxWorkspace

CANARY = "canary-5be81d90"
Happened = Callable[[str, str], None]
SPEC = SandboxSpec("work", "reach", memory_mb=256, processes=32, disk_mb=32)
ALLOWANCE = Allowance(256, 32, 32, 1 << 20, 1_000_000, 500, 60.0)


REACHING = r"""
try() { what="$1"; shift; if timeout 2 "$@" > /tmp/out 2>&1; then echo "DONE $what: $(head -c 100 /tmp/out | tr '\0\n' '  ')"; else echo "refused $what"; fi; }
for p in / /usr /usr/lib /etc /arena /arena/run /arena/inside /arena/tools /bin /lib /dev /proc /proc/sys/kernel /sys /root /home /var /run /mnt /opt /srv @HOST@; do
  try "touch $p" touch $p/x; try "mkdir $p" mkdir $p/y
done
for f in /arena/inside/host.py /etc/passwd /usr/bin/env /proc/sysrq-trigger /proc/1/oom_score_adj /proc/sys/kernel/core_pattern; do
  try "write $f" dd if=/dev/zero of=$f bs=1 count=1 conv=notrunc
done
for n in 1 2 3 9 15 18 19 20; do kill -$n 1 2> /dev/null; done; for i in $(seq 200); do kill -INT 1; done 2> /dev/null
try "control socket" test -e /arena/run/control.sock
try "environ of the first process" cat /proc/1/environ
try "memory of the first process" dd if=/proc/1/mem bs=1 count=1
try "descriptors of the first process" ls /proc/1/fd
try "root of the first process" ls /proc/1/root/
try "limits of the first process" prlimit --pid 1 --nofile=3:3
try "priority of the first process" renice -n 19 -p 1
try "policy of the first process" chrt --idle -p 0 1
try "new user space" unshare -r true
try "new network" unshare -n true
try "mount" mount -t tmpfs none /mnt
try "remount" mount -o remount,rw /
try "larger /work" mount -o remount,size=4G,nr_inodes=0 /work
try "host file" cat @HOST@/secret
try "shadow" cat /etc/shadow
for host in 127.0.0.1 ::1; do for kind in tcp udp; do
  try "$kind $host" bash -c "echo hello > /dev/$kind/$host/@PORT@ && [ $kind = tcp ]"
done; done
try "other interfaces" sh -c "ls /sys/class/net | grep -v '^lo$' || grep -v -e ' lo:' -e '|' /proc/net/dev"
try "docker socket" test -S /var/run/docker.sock
try "keys in the environment" sh -c "env | grep -i -e canary -e token -e api_key"
try "canary in files" grep -rl @CANARY@ /work /tmp /arena /etc /home /root /var /run /opt
try "processes of others" sh -c "ps -e -o pid= -o comm= | grep -v -E ' (python3[.0-9]*|bash|sh|ps|grep|timeout)( |$)'"
"""


def test_reaching_out(backend: Backend, happened: Happened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    (tmp_path / "secret").write_text(CANARY)
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(tcp.getsockname())
        tcp.setblocking(False)
        udp.setblocking(False)
        marks = {
            "@HOST@": str(tmp_path),
            "@PORT@": str(tcp.getsockname()[1]),
            "@CANARY@": CANARY[:6] + "[-]" + CANARY[7:],
        }
        script = REACHING
        for mark, value in marks.items():
            script = script.replace(mark, value)
        with backend.open(SPEC) as fresh:
            result = SandboxWorkspace(fresh, ALLOWANCE).run(script, 60)
            assert fresh.answers(), "the first process did not live through it"
        for each in (tcp.accept, lambda: udp.recv(1)):
            with pytest.raises(BlockingIOError):
                each()
    lines = [line for line in result.output.splitlines() if line.startswith(("DONE", "refused"))]
    done = [line for line in lines if line.startswith("DONE")]
    happened(
        "workspace: writes outside, first process, network, keys, host files",
        f"{len(lines)} tries, {len(done)} succeeded",
    )
    assert len(lines) >= 60, result.output[-2000:]
    assert not done, done
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_terminal_cannot_be_typed_into(backend: Backend, happened: Happened) -> None:
    script = (
        "import fcntl, os, pty, termios\n"
        "def push(fd):\n    try: fcntl.ioctl(fd, termios.TIOCSTI, b'x'); return 'DONE'\n    except OSError as e: return e.strerror\n"
        "try: print(push(os.open('/dev/tty', os.O_RDWR)))\nexcept OSError as e: print('no terminal')\n"
        "try: print(push(pty.openpty()[1]))\nexcept OSError as e: print('no pseudo-terminal')\n"
        "print(push(0), push(1), push(2))\n"
    )
    with backend.open(SPEC) as fresh:
        workspace = SandboxWorkspace(fresh, ALLOWANCE)
        workspace.write("typing_.py", script.encode())
        output = workspace.run("python3 typing_.py").output
    happened("workspace: TIOCSTI", output.replace("\n", ", "))
    assert "DONE" not in output
    assert output.count("Operation not permitted") >= 3
