"""The system-call filters, run through a small interpreter of the kernel's language for them."""

import platform
import struct

import pytest

from arena.sandbox.inside import seccomp

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMNS = {"x86_64": 0, "aarch64": 1}
# Calls without which no Python program runs, and some that bots of any language use.
NEEDED = {
    "x86_64": {
        "read": 0, "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "clone": 56,
        "execve": 59, "exit_group": 231, "futex": 202, "getrandom": 318, "openat": 257, "fstat": 5, "poll": 7,
    },
    "aarch64": {
        "read": 63, "write": 64, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214, "rt_sigaction": 134,
        "execve": 221, "exit_group": 94, "futex": 98, "getrandom": 278, "openat": 56, "fstat": 80, "ppoll": 73,
    },
}  # fmt: skip


def instructions(machine: str, bot: bool, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int, int]]:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    return list(struct.iter_unpack("HBBI", seccomp._program(bot)))


def verdict(program: list[tuple[int, int, int, int]], number: int, arch: int, *arguments: int) -> int:
    """What the kernel would do about a system call."""
    data = struct.pack("<IIQ6Q", number, arch, 0, *arguments, *(0,) * (6 - len(arguments)))
    accumulator = place = 0
    while True:
        code, jump_true, jump_false, k = program[place]
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == 0x06:
            return k
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[code]
            place += jump_true if holds else jump_false


class Filter:
    """A filter, asked by name or number."""

    def __init__(self, machine: str, bot: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        self.machine = machine
        self.program = instructions(machine, bot, monkeypatch)

    def __call__(self, call: str | int, *arguments: int) -> int:
        column = COLUMNS[self.machine]
        special = {
            "clone": seccomp._CLONE,
            "clone3": seccomp._CLONE3,
            "socket": seccomp._SOCKET,
            "socketpair": seccomp._SOCKETPAIR,
            "ioctl": seccomp._IOCTL,
            "prlimit64": seccomp._PRLIMIT,
        }
        if isinstance(call, str):
            number = NEEDED[self.machine].get(call) or (special | seccomp._NUMBERS)[call][column]
            if call in special:
                number = special[call][column]
        else:
            number = call
        assert number is not None
        return verdict(self.program, number, ARCHITECTURES[self.machine], *arguments)


@pytest.fixture(params=["x86_64", "aarch64"])
def bot(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Filter:
    return Filter(request.param, True, monkeypatch)


@pytest.fixture(params=["x86_64", "aarch64"])
def agent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Filter:
    return Filter(request.param, False, monkeypatch)


def test_every_jump_lands_and_every_path_ends(bot: Filter, agent: Filter) -> None:
    for program in (bot.program, agent.program):
        assert len(program) <= 4096, "the kernel takes no more"
        assert program[-1] == (0x06, 0, 0, ALLOW)
        for place, (code, jump_true, jump_false, k) in enumerate(program):
            assert code in (0x20, 0x15, 0x35, 0x45, 0x06)
            if code in (0x15, 0x35, 0x45):
                assert place + 1 + max(jump_true, jump_false) < len(program)
            if code == 0x20:
                assert k % 4 == 0
                assert k < 64


def test_what_programs_need_is_allowed(bot: Filter, agent: Filter) -> None:
    for allowed in (bot, agent):
        for name, number in NEEDED[allowed.machine].items():
            if name != "clone":
                assert allowed(number) == ALLOW, name


def test_everything_on_the_list_is_denied(bot: Filter, agent: Filter) -> None:
    for denying, left in ((bot, set()), (agent, seccomp._BOT_ONLY)):
        for name, numbers in seccomp._NUMBERS.items():
            if numbers[COLUMNS[denying.machine]] is not None:
                assert denying(name) == (ALLOW if name in left else EPERM), name


def test_numbers_are_not_given_twice() -> None:
    for column in (0, 1):
        numbers = [each[column] for each in seccomp._NUMBERS.values() if each[column] is not None]
        numbers += [each[column] for each in (seccomp._CLONE, seccomp._SOCKET, seccomp._SOCKETPAIR, seccomp._IOCTL)]
        assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("flags", [0x11, 0x4111, 0x01000000])
def test_bots_may_start_threads_and_no_processes(bot: Filter, flags: int) -> None:
    assert bot("clone", 0x003D0F00) == ALLOW
    assert bot("clone", flags) == EPERM


def test_the_argument_is_looked_at_without_its_upper_half(bot: Filter, agent: Filter) -> None:
    """A filter can't be misled by bits that the kernel itself ignores: these calls take 32-bit arguments."""
    assert bot("clone", (1 << 32) | 0x11) == EPERM
    assert agent("socket", (1 << 32) | 17) == EPERM


def test_agents_may_start_processes_but_no_name_spaces(agent: Filter) -> None:
    assert agent("clone", 0x11) == ALLOW
    for namespace in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
        assert agent("clone", 0x11 | namespace) == EPERM


def test_the_newer_clone_is_absent_so_that_libraries_fall_back(bot: Filter, agent: Filter) -> None:
    assert bot("clone3") == agent("clone3") == ENOSYS


@pytest.mark.parametrize(
    ("family", "bots", "agents"), [(1, 1, 1), (2, 0, 1), (10, 0, 1), (16, 0, 1), (17, 0, 0), (40, 0, 0)]
)
def test_families_of_sockets(bot: Filter, agent: Filter, family: int, bots: bool, agents: bool) -> None:
    for call in ("socket", "socketpair"):
        assert bot(call, family) == (ALLOW if bots else EPERM)
        assert agent(call, family) == (ALLOW if agents else EPERM)


def test_only_ones_own_limits_can_be_set(bot: Filter, agent: Filter) -> None:
    for each in (bot, agent):
        assert each("prlimit64", 0, 7) == ALLOW
        assert each("prlimit64", 1, 7) == EPERM


def test_terminals_cannot_be_typed_into(bot: Filter, agent: Filter) -> None:
    for each in (bot, agent):
        assert each("ioctl", 0, 0x5412) == EPERM
        assert each("ioctl", 0, 0x541C) == EPERM
        assert each("ioctl", 0, 0x5401) == ALLOW


def test_another_architecture_in_the_same_process_is_killed(bot: Filter, agent: Filter) -> None:
    i386 = 0x40000003
    for each in (bot, agent):
        assert verdict(each.program, 1, i386) == KILL


def test_the_second_table_of_x86_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    program = instructions("x86_64", True, monkeypatch)
    assert verdict(program, 0x40000000 + 101, ARCHITECTURES["x86_64"]) == ENOSYS


def test_a_machine_without_a_table_has_no_filter_and_no_bots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(KeyError, match="vax"):
        seccomp.prepare(bot=True)


def test_a_filter_that_the_kernel_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a child, which gives up new privileges for good: an empty program is none."""
    import os

    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            monkeypatch.setattr(seccomp, "_program", lambda _: b"")
            seccomp.prepare(bot=True)()
        except OSError as error:
            status = 0 if "the kernel refused the seccomp filter" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.parametrize("bot_", [True, False])
def test_the_kernel_takes_the_filter_and_keeps_to_it(bot_: bool) -> None:
    import os
    import socket

    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            seccomp.prepare(bot=bot_)()
            with socket.socket(socket.AF_UNIX):
                pass
            try:
                socket.socket(socket.AF_INET).close()
                status = 1 if bot_ else 0
            except PermissionError:
                status = 0 if bot_ else 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
