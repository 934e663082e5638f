"""A seccomp filter without libseccomp: classic BPF through prctl. Standard library only; runs inside sandboxes.

Numbers are those of the kernel's tables. On an architecture without a table here `prepare` raises.
"""

import ctypes
import platform
import struct
from collections.abc import Callable

_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# name: (x86_64, aarch64); None: the architecture has no such call
_NUMBERS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fork": (57, None),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vfork": (58, None),
    "vmsplice": (278, 75),
}
_CLONE, _CLONE3, _SOCKET, _SOCKETPAIR, _IOCTL, _PRLIMIT = (
    (56, 220),
    (435, 435),
    (41, 198),
    (53, 199),
    (16, 29),
    (302, 261),
)

# A bot is one process: with fork, anonymous files and shared memory gone, its address-space limit is its memory limit.
# What outlives the processes that made it (System V objects, message queues) is denied to all: nothing could free it.
_BOT_ONLY = {"fork", "vfork", "memfd_create", "sched_setaffinity"}

_EPERM, _ENOSYS = 1, 38
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, NEWTIME
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


def _instruction(code: int, k: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, jump_true, jump_false, k)


def _deny(number: int, errno: int = _EPERM) -> list[bytes]:
    return [_instruction(_JEQ, number, 0, 1), _instruction(_RET, _ERRNO | errno)]


def _guarded(number: int, tests: list[bytes]) -> list[bytes]:
    """`tests`, which may return, only for system call `number`; then the number is in the accumulator again."""
    body = [*tests, _instruction(_LOAD, 0)]
    return [_instruction(_JEQ, number, 0, len(body)), *body]


def _argument(index: int) -> bytes:
    return _instruction(_LOAD, 16 + 8 * index)


def _program(bot: bool) -> bytes:
    audit, column = _ARCHITECTURES[platform.machine()]
    program = [
        _instruction(_LOAD, 4),
        _instruction(_JEQ, audit, 1, 0),
        _instruction(_RET, _KILL),
        _instruction(_LOAD, 0),
    ]
    program += [_instruction(_JGE, 0x40000000, 0, 1), _instruction(_RET, _ERRNO | _ENOSYS)]  # the x32 table
    for name, numbers in _NUMBERS.items():
        number = numbers[column]
        if number is not None and (bot or name not in _BOT_ONLY):
            program += _deny(number)
    program += _deny(_CLONE3[column], _ENOSYS)  # its flags are behind a pointer; libc falls back to clone
    refuse = _instruction(_RET, _ERRNO | _EPERM)
    if bot:
        clone = [_argument(0), _instruction(_JSET, _CLONE_THREAD, 1, 0), refuse]
    else:
        clone = [_argument(0), _instruction(_JSET, _CLONE_NAMESPACES, 0, 1), refuse]
    program += _guarded(_CLONE[column], clone)
    families = [_AF_UNIX] if bot else [_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK]
    allowed = [_instruction(_JEQ, family, len(families) - i, 0) for i, family in enumerate(families)]
    for call in (_SOCKET, _SOCKETPAIR):
        program += _guarded(call[column], [_argument(0), *allowed, refuse])
    # Limits and priorities of the first process are within reach of its user: only one's own limits may be set.
    program += _guarded(_PRLIMIT[column], [_argument(0), _instruction(_JEQ, 0, 1, 0), refuse])
    terminal = [_argument(1), _instruction(_JEQ, _TIOCSTI, 1, 0), _instruction(_JEQ, _TIOCLINUX, 0, 1), refuse]
    program += _guarded(_IOCTL[column], terminal)
    return b"".join([*program, _instruction(_RET, _ALLOW)])


def prepare(bot: bool) -> Callable[[], None]:
    """A function that installs the filter for the calling process and all it will start; it can't be taken off.

    Everything is built here, so that the function itself is two system calls. It raises OSError.
    """
    program = _program(bot)
    buffer = ctypes.create_string_buffer(program, len(program))
    packed = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    header = ctypes.create_string_buffer(packed, len(packed))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4

    def install(kept: object = buffer) -> None:
        del kept  # named to keep the program alive
        if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel refused no_new_privs")
        if prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(header), 0, 0):
            raise OSError(ctypes.get_errno(), "the kernel refused the seccomp filter")

    return install
