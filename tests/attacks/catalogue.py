"""The attacks of bots that end in a forfeit: what the bot does, and the terminations that are right for it."""

from dataclasses import dataclass, field

from arena.types import FaultKind, Limits
from tests.attacks.arenas import LIMITS, TURN


@dataclass(frozen=True, slots=True)
class Attack:
    """`body` defines `attack(state)`. `kinds`: right terminations; `detail`: a regular expression for the reason."""

    name: str
    body: str
    kinds: tuple[FaultKind, ...]
    detail: str = ""
    turn: int = TURN
    limits: Limits = LIMITS
    files: dict[str, str] = field(default_factory=dict)


def _line(expression: str) -> str:
    return f"def attack(state):\n    os.write(PROTOCOL, {expression})\n    time.sleep(60)\n"


def _do(*lines: str) -> str:
    return "def attack(state):\n" + "".join(f"    {line}\n" for line in lines)


def _importing(*lines: str) -> str:
    return "if ATTACKING:\n" + "".join(f"    {line}\n" for line in lines)


_NESTED = 'b\'{"move":"up","x":\' + b"[" * %d + b"]" * %d + b"}\\n"'
_OBJECTS = 'b\'{"move":"up","x":\' + b\'{"a":\' * %d + b"1" + b"}" * %d + b"}\\n"'

PROCESSES = (
    Attack("fork bomb", _do("while True: os.fork()"), ("crash",), "PermissionError"),
    Attack(
        "fork bomb that swallows refusals",
        _do("while True:", "    try: os.fork()", "    except OSError: pass"),
        ("move_timeout",),
    ),
    Attack(
        "child that outlives the match (double fork, setsid)",
        _do("if os.fork() == 0:", "    os.setsid()", "    if os.fork() == 0: time.sleep(600)", "return honest(state)"),
        ("crash",),
        "PermissionError",
    ),
    Attack(
        "child through posix_spawn",
        _do("os.posix_spawn('/bin/sleep', ['sleep', '600'], {})", "return honest(state)"),
        ("crash",),
        "PermissionError",
    ),
    Attack(
        "thread bomb",
        "import threading\n" + _do("while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"),
        ("crash", "move_timeout"),
        "can't start new thread|CPU",
    ),
    Attack(
        "thread bomb that spins",
        "import threading\ndef spin():\n    while True: pass\n"
        + _do("for _ in range(8): threading.Thread(target=spin, daemon=True).start()", "time.sleep(60)"),
        ("move_timeout", "crash"),
        "CPU time|can't start new thread",
    ),
    Attack("SIGSTOP to itself", _do("os.kill(os.getpid(), signal.SIGSTOP)"), ("silence",)),
    Attack(
        "busy, ignoring every signal",
        _do(
            "for n in range(1, 65):",
            "    try: signal.signal(n, signal.SIG_IGN)",
            "    except (OSError, ValueError): pass",
            "while True: pass",
        ),
        ("move_timeout",),
    ),
    Attack("another program in its place", _do("os.execv('/bin/sleep', ['sleep', '600'])"), ("silence",)),
)

MEMORY = (
    Attack("4 GB at once", _do("bytearray(4 << 30)"), ("crash",), "MemoryError"),
    Attack(
        "4 GB piece by piece",
        _do("hoard = []", "while True: hoard.append(bytearray(1 << 24))"),
        ("crash", "move_timeout"),
        "MemoryError|signal 9|out of memory|CPU",
    ),
    Attack(
        "4 GB shared mapping", "import mmap\n" + _do("mmap.mmap(-1, 4 << 30)"), ("crash",), "Cannot allocate memory"
    ),
    Attack(
        "memory by many children",
        _do("while True:", "    if os.fork() == 0:", "        hoard = bytearray(200 << 20)", "        time.sleep(600)"),
        ("crash",),
        "PermissionError",
    ),
    Attack("memfd", _do("os.ftruncate(os.memfd_create('x'), 4 << 30)"), ("crash",), "PermissionError"),
)

OUTPUT = (
    Attack("stdout flood", _do("while True: sys.stdout.write('x' * 65536)"), ("move_timeout", "silence")),
    Attack("stderr flood", _do("while True: os.write(2, b'x' * 65536)"), ("move_timeout", "silence")),
    Attack("protocol flood", _do("while True: os.write(PROTOCOL, b'{}\\n' * 10000)"), ("not_json", "oversize")),
    Attack("one endless line", _do("while True: os.write(PROTOCOL, b'x' * 65536)"), ("oversize",), "8192 bytes"),
    Attack(
        "one endless line, a byte at a time",
        _do("while True:", "    os.write(PROTOCOL, b'x')", "    time.sleep(0.01)"),
        ("silence", "move_timeout"),
    ),
    Attack("oversize reply", _line('b\'{"move":"up","x":"\' + b\'x\' * 8192 + b\'"}\\n\''), ("oversize",)),
    Attack(
        "too many bytes in a match",
        _do("return honest(state)") + "_plain = honest\ndef honest(state):\n    reply = _plain(state)\n"
        "    if ATTACKING: reply['shout'] = 'x' * 5000\n    return reply\n",
        ("oversize",),
        "in one match",
        limits=Limits(0.1, 1.0, 1.0, 1.0, 256, 16, 8192, 40_000),
    ),
    Attack("closed protocol, living on", _do("os.close(PROTOCOL)", "time.sleep(60)"), ("closed_pipe",)),
    Attack(
        "protocol shut for writing",
        _do("socket.socket(fileno=os.dup(PROTOCOL)).shutdown(socket.SHUT_WR)", "time.sleep(60)"),
        ("closed_pipe",),
    ),
    Attack(
        "protocol shut for reading",
        _do("socket.socket(fileno=os.dup(PROTOCOL)).shutdown(socket.SHUT_RD)", "return honest(state)"),
        ("closed_pipe", "crash"),
    ),
    Attack(
        "out-of-band bytes",
        _do("socket.socket(fileno=os.dup(PROTOCOL)).send(b'{', socket.MSG_OOB)", "time.sleep(60)"),
        ("silence", "closed_pipe", "crash"),
    ),
)

PROTOCOL = (
    Attack("invalid UTF-8", _line('b\'{"move":"\\xff\\xfe"}\\n\''), ("not_json",)),
    Attack("surrogates in UTF-8", _line('b\'{"move":"\\xed\\xa0\\x80"}\\n\''), ("not_json",)),
    Attack("UTF-16", _line("'{\"move\":\"up\"}'.encode('utf-16-le') + b'\\n\\0\\n'"), ("not_json",)),
    Attack("not JSON", _line("b'up\\n'"), ("not_json",)),
    Attack("no object", _line("b'[\"up\"]\\n'"), ("not_json",)),
    Attack("empty line", _line("b'\\n'"), ("not_json",)),
    Attack("not a number", _line('b\'{"move":"up","x":NaN}\\n\''), ("not_json",)),
    Attack("infinity", _line('b\'{"move":"up","x":1e999}\\n\''), ("not_json",)),
    Attack("a number of 7000 digits", _line("b'{\"move\":\"up\",\"x\":' + b'9' * 7000 + b'}\\n'"), ("not_json",)),
    *(
        Attack(f"JSON bomb, {depth} deep", _line(_NESTED % (depth, depth)), ("not_json",))
        for depth in (300, 940, 970, 980, 985, 990, 2000, 4000)
    ),
    Attack("JSON bomb of objects", _line(_OBJECTS % (965, 965)), ("not_json",)),
    Attack("JSON bomb in an illegal move", _line(_NESTED.replace("up", "no") % (975, 975)), ("not_json",)),
    Attack("two lines for one request", _line('b\'{"move":"up"}\\n\' * 2'), ("not_json",), "more than one line"),
    Attack(
        "answers before it is asked",
        _do(
            "os.write(PROTOCOL, json.dumps(honest(state)).encode() + b'\\n')", "time.sleep(0.3)", "return honest(state)"
        ),
        ("not_json", "crash"),
    ),
    Attack("illegal move", _do("return {'move': 'north'}"), ("illegal_move",), "north"),
    Attack("illegal move of another type", _do("return {'move': ['up']}"), ("illegal_move",)),
    Attack("no move", _do("return {}"), ("illegal_move",)),
    Attack("no object from the function", _do("return 5"), ("not_json",)),
)

ENDS = (
    Attack("exception", _do("raise ValueError('tired of this')"), ("crash",), "exit code 1: ValueError: tired of this"),
    Attack(
        "exception without end", "class E(Exception):\n    def __str__(self): raise E\n" + _do("raise E"), ("crash",)
    ),
    Attack("deep recursion", _do("return attack(state)"), ("crash", "move_timeout"), "RecursionError|CPU"),
    Attack("sys.exit", _do("sys.exit(0)"), ("crash",), "exit code 0"),
    Attack("os._exit", _do("os._exit(0)"), ("crash",), "exit code 0"),
    Attack("segmentation fault", "import ctypes\n" + _do("ctypes.string_at(8)"), ("crash",), "signal 11"),
    Attack("SIGKILL to itself", _do("os.kill(os.getpid(), signal.SIGKILL)"), ("crash",), "signal 9"),
    Attack("abort", _do("os.abort()"), ("crash",), "signal 6"),
    Attack("never answering, asleep", _do("time.sleep(600)"), ("silence",), "no answer within"),
    Attack("never answering, busy", _do("while True: pass"), ("move_timeout",), "CPU time"),
    Attack(
        "many moves just below the limit",
        _do("return honest(state)") + "_quick = honest\ndef honest(state):\n    end = time.process_time() + 0.07\n"
        "    while ATTACKING and time.process_time() < end: pass\n    return _quick(state)\n",
        ("match_timeout",),
        "in one match",
    ),
)

STARTS = (
    Attack("slow start, asleep", _importing("time.sleep(60)"), ("silence", "start_timeout"), "", 0),
    Attack("slow start, busy", _importing("while True: pass"), ("start_timeout", "silence"), "CPU time", 0),
    Attack("exception at import", _importing("raise ImportError('no such luck')"), ("crash",), "no such luck", 0),
    Attack("exit at import", _importing("raise SystemExit(3)"), ("crash",), "exit code 3", 0),
    Attack("memory at import", _importing("bytearray(4 << 30)"), ("crash",), "MemoryError", 0),
    Attack(
        "thread that holds the import",
        "import threading\n"
        + _importing("threading.Thread(target=time.sleep, args=(600,)).start()", "raise SystemExit(0)"),
        ("crash",),
        "exit code 0",
        0,
    ),
)

FORFEITS = (*PROCESSES, *MEMORY, *OUTPUT, *PROTOCOL, *ENDS, *STARTS)
