"""Every way a bot can fall out of a match, each with its own termination, in both kinds of sandbox."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import seat
from arena.errors import SandboxError
from arena.referee import place
from arena.sandbox.base import Exit, ProcessSpec, Sandbox
from arena.sandbox.place import work_directory
from arena.seat import MAX_DETAIL, MAX_NESTING, BotFault, Seat, explain, parse_reply
from arena.types import Fault, Limits
from tests.arena.parts import LIMITS, backend, code, hosted, open_with

RAW = "import os, time\ndef raw(text):\n    os.write(3, text)\n"


def opened(name: str) -> Iterator[Sandbox]:
    """A sandbox for the bots of this file, which are put into /bots one by one."""
    where, folder = backend(name), work_directory()
    with open_with(where, folder) as one:
        one.bots = folder  # type: ignore[attr-defined]
        yield one
    shutil.rmtree(folder)


@pytest.fixture(scope="module", params=["process", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    yield from opened(request.param)


@pytest.fixture(scope="module")
def local() -> Iterator[Sandbox]:
    """For what takes seconds and is the same on this side of every sandbox."""
    yield from opened("process")


_number = iter(range(10_000))


def started(sandbox: Sandbox, source: str, limits: Limits = LIMITS, **more: Any) -> Seat:
    """The bot `move` of `source`, started."""
    name = f"bot{next(_number)}"
    place(code({"main.py": source}), sandbox.bots / name)  # type: ignore[attr-defined]
    return Seat(sandbox, hosted(sandbox, name, **more), limits)


def ended(bot: Seat, fault: Fault) -> Fault:
    """`fault` in the light of how the process ended, as the referee records it."""
    bot.ask_end(closed=fault.kind == "closed_pipe")
    return explain(fault, bot.take_end(), bot.stderr)


def fault_of(act: Callable[[], object]) -> BotFault:
    """The fault that `act` ends in."""
    with pytest.raises(BotFault) as caught:
        act()
    return caught.value


def asked(bot: Seat, *questions: bytes) -> None:
    """Ask and hear, again and again."""
    for question in questions:
        bot.ask(question)
        bot.answer()


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def play(sandbox: Sandbox, source: str, limits: Limits = LIMITS, turns: int = 3) -> tuple[Fault | None, str]:
    """`turns` questions to a bot; its fault, if there was one, and its log."""
    bot, turn = started(sandbox, source, limits), 0
    try:
        for turn in range(turns):
            bot.ask(b'{"turn": %d}\n' % turn)
            bot.answer()
        bot.ask_end()
        bot.take_end()
    except BotFault as fault:
        return ended(bot, fault.at(1, turn)), bot.stderr
    finally:
        bot.close()
    return None, bot.stderr


@pytest.mark.parametrize(
    ("body", "kind", "turn", "detail"),
    [
        ("raise ValueError('what now')", "crash", 0, "ended with exit code 1: ValueError: what now"),
        ("raise SystemExit", "crash", 0, "ended with exit code 1"),
        ("raise SystemExit(7)", "crash", 0, "ended with exit code 7"),
        ("os._exit(3)", "crash", 0, "ended with exit code 3"),
        ("import signal; os.kill(os.getpid(), signal.SIGSEGV)", "crash", 0, "killed by signal 11 (SIGSEGV)"),
        ("os.kill(os.getpid(), 40)", "crash", 0, "killed by signal 40"),
        ("return {} if state['turn'] < 2 else 1 / 0", "crash", 2, "exit code 1: ZeroDivisionError: division by zero"),
        ("os.close(3); time.sleep(20)", "closed_pipe", 0, "the bot closed its end"),
        ("raw(b'hello\\n'); time.sleep(20)", "not_json", 0, "no JSON"),
        ("raw(b'\\n'); time.sleep(20)", "not_json", 0, "no JSON"),
        ("raw(b'{\"pick\": 1\\n'); time.sleep(20)", "not_json", 0, "no JSON"),
        ("raw(b'{\"a\": NaN}\\n'); time.sleep(20)", "not_json", 0, "NaN is no JSON number"),
        ("raw(b'{\"a\": 1e999}\\n'); time.sleep(20)", "not_json", 0, "1e999 is no JSON number"),
        ("raw(b'{\"a\": \\xff\\xfe}\\n'); time.sleep(20)", "not_json", 0, "no JSON ('utf-8' codec"),
        ("raw(b'[' * 3000 + b'\\n'); time.sleep(20)", "not_json", 0, "nested too deep"),
        ("raw(b'[' * 70 + b']' * 70 + b'\\n'); time.sleep(20)", "not_json", 0, "nested deeper than 64"),
        ("raw(b'{\"a\": ' + b'1' * 5000 + b'}\\n'); time.sleep(20)", "not_json", 0, "no JSON"),
        ("return [1, 2]", "not_json", 0, "no JSON object: b'[1, 2]"),
        ("return None", "not_json", 0, "no JSON object: b'null"),
        ("return {'a': object()}", "crash", 0, "TypeError: Object of type object is not JSON serializable"),
        ("raw(b'{}\\n{}\\n'); time.sleep(20)", "not_json", 0, "more than one line in answer to one request"),
        ("return {'a': 'x' * 9000}", "oversize", 0, "a line of more than 8192 bytes"),
        ("raw(b'x' * 9000); time.sleep(20)", "oversize", 0, "a line of more than 8192 bytes"),
        ("while state['turn'] == 1: pass\n    return {}", "move_timeout", 1, "0.2 s are allowed"),
    ],
)
def test_every_fault_has_a_termination_of_its_own(
    sandbox: Sandbox, body: str, kind: str, turn: int, detail: str
) -> None:
    fault, _ = play(sandbox, f"{RAW}def move(state):\n    {body}\n")
    assert fault is not None
    assert (fault.seat, fault.kind, fault.turn) == (1, kind, turn)
    assert detail in fault.detail
    assert len(fault.detail) <= MAX_DETAIL


@pytest.mark.parametrize(
    ("source", "kind", "detail"),
    [
        ("while True: pass\n", "start_timeout", "0.8 s are allowed"),
        ("import nothing_like_it\n", "crash", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def other(state): return {}\n", "crash", "AttributeError: module 'main' has no attribute 'move'"),
        ("# def move(state): return {}\n", "crash", "has no attribute 'move'"),
        ("def move(state:\n", "crash", "SyntaxError: '(' was never closed"),
        ("class move:\n    def __init__(self): raise OSError('no')\n", "crash", "OSError: no"),
    ],
)
def test_bots_that_never_get_to_their_first_answer(sandbox: Sandbox, source: str, kind: str, detail: str) -> None:
    fault, _ = play(sandbox, source)
    assert fault is not None
    assert fault.kind == kind
    assert detail in fault.detail


def test_an_error_of_syntax_names_file_and_line(sandbox: Sandbox) -> None:
    _, log = play(sandbox, "x = 1\ndef move(state):\n    retrun {}\n")
    assert 'main.py", line 3' in log


def test_start_up_has_its_own_time_and_does_not_count_on_moves(local: Sandbox) -> None:
    slow = "import time\nwhile time.process_time() < 0.5: pass\ndef move(state): return {}\n"
    assert play(local, slow) == (None, "")


def test_all_moves_of_a_match_share_a_bank(local: Sandbox) -> None:
    burn = (
        "import time\ndef move(state):\n    end = time.process_time() + 0.1\n"
        "    while time.process_time() < end: pass\n"
    )
    fault, _ = play(local, burn + "    return {}\n", replace(LIMITS, match_seconds=0.25), turns=9)
    assert fault is not None
    assert (fault.kind, fault.turn) == ("match_timeout", 3)  # the first answer is on the account of the start
    assert fault.cpu_seconds is not None
    assert 0.25 < fault.cpu_seconds < 0.6
    assert "0.25 are allowed" in fault.detail.replace("0.25 s", "0.25")


def test_silence_is_judged_by_the_wall_clock(local: Sandbox) -> None:
    slept = "import time\ndef move(state):\n    time.sleep(60 * state['turn'])\n    return {}\n"
    before = time.monotonic()
    fault, _ = play(local, slept, replace(LIMITS, move_seconds=0.05))
    assert fault is not None
    assert (fault.kind, fault.turn) == ("silence", 1)
    assert "no answer within 2.05 s of wall time" in fault.detail
    assert fault.wall_seconds is not None
    assert fault.cpu_seconds is not None
    assert fault.wall_seconds > 2.05 > 0.05 > fault.cpu_seconds
    assert time.monotonic() - before < 5


def test_waiting_is_no_fault_where_no_time_of_the_processor_is_used(local: Sandbox) -> None:
    assert play(local, "import time\ndef move(state):\n    time.sleep(0.2)\n    return {}\n", turns=2) == (None, "")


def test_thinking_between_the_questions_is_charged(local: Sandbox) -> None:
    source = (
        "import threading\ndef think():\n    while True: pass\n"
        "def move(state):\n"
        "    if not state['turn']: threading.Thread(target=think, daemon=True).start()\n    return {}\n"
    )
    bot = started(local, source)
    asked(bot, b'{"turn": 0}\n')
    time.sleep(0.5)
    fault = fault_of(lambda: asked(bot, b'{"turn": 1}\n'))
    assert fault.kind == "move_timeout"
    ended(bot, fault.at(0, 1))
    bot.close()


def test_replies_of_a_match_are_bounded_together(sandbox: Sandbox) -> None:
    limits = replace(LIMITS, replies_bytes=20_000)
    fault, _ = play(sandbox, "def move(state): return {'a': 'x' * 6000}\n", limits, turns=9)
    assert fault is not None
    assert (fault.kind, fault.turn) == ("oversize", 3)
    assert "more than 20000 bytes of replies in one match" in fault.detail


def test_print_is_log_and_never_protocol(sandbox: Sandbox) -> None:
    source = (
        "import os, sys\nprint('importing')\n"
        "def move(state):\n    print('{\"pick\": 1}')\n    os.write(1, b'raw\\n')\n"
        "    sys.stderr.write('err\\n')\n    return {}\n"
    )
    fault, log = play(sandbox, source)
    assert fault is None
    assert sorted(log.split()) == sorted(["importing", *['{"pick":', "1}", "raw", "err"] * 3])


def test_of_a_long_log_head_and_tail_are_kept(sandbox: Sandbox) -> None:
    source = "import sys\ndef move(state):\n    print('first' if not state['turn'] else 'x' * 99999)\n    return {}\n"
    fault, log = play(sandbox, source + "import atexit\n", replace(LIMITS, stderr_bytes=1000), turns=5)
    assert fault is None
    assert log.startswith("first\nxxx")
    assert log.endswith("xxx\n")
    assert "bytes left out" in log
    assert len(log) < 1100


def test_a_log_that_is_no_text_is_kept_as_far_as_it_is(sandbox: Sandbox) -> None:
    fault, log = play(
        sandbox, "import os\ndef move(state):\n    os.write(2, bytes(range(256)))\n    return {}\n", turns=1
    )
    assert fault is None
    assert "ABC" in log
    assert "\N{REPLACEMENT CHARACTER}" in log


def test_a_closed_log_is_nothing_to_wait_for(sandbox: Sandbox) -> None:
    assert play(sandbox, "import os\ndef move(state):\n    os.closerange(1, 3)\n    return {}\n") == (None, "")


def test_answers_nobody_asked_for_are_faults(local: Sandbox) -> None:
    bot = started(local, f"{RAW}def move(state):\n    raw(b'{{}}\\n')\n    time.sleep(0.2)\n    return {{}}\n")
    bot.ask(b"{}\n")
    assert bot.answer() == {}
    time.sleep(0.5)
    with pytest.raises(BotFault, match="an answer that nobody had asked for") as caught:
        bot.ask(b"{}\n")
    assert caught.value.kind == "not_json"
    ended(bot, caught.value.at(0, 1))
    bot.close()


def test_what_a_bot_may_take_its_chance_from_is_its_own_seed(sandbox: Sandbox) -> None:
    source = "import os, random\ndef move(state): return {'seed': os.environ['ARENA_SEED'], 'dice': random.random()}\n"
    seen = []
    for seed in (5, 5, 6):
        bot = started(sandbox, source, seed=seed)
        bot.ask(b"{}\n")
        seen.append(dict(bot.answer()))
        bot.ask_end()
        bot.take_end()
        bot.close()
    assert seen[0] == seen[1]
    assert seen[0]["seed"] == "5"
    assert seen[0]["dice"] != seen[2]["dice"]


def test_a_process_is_fresh_for_every_match(sandbox: Sandbox) -> None:
    source = (
        "import json\ncount = 0\ndef move(state):\n    global count\n    count += 1\n"
        "    json.leak = getattr(json, 'leak', 0) + 1\n"
    )
    place(code({"main.py": source + "    return {'n': [count, json.leak]}\n"}), sandbox.bots / "leaky")  # type: ignore[attr-defined]
    for _ in range(3):
        bot = Seat(sandbox, hosted(sandbox, "leaky"), LIMITS)
        bot.ask(b"{}\n")
        assert bot.answer() == {"n": [1, 1]}
        bot.ask_end()
        bot.take_end()
        bot.close()


def test_how_a_match_ended_is_told_with_its_cost(sandbox: Sandbox) -> None:
    bot = started(sandbox, "import time\nwhile time.process_time() < 0.1: pass\ndef move(state): return {}\n")
    bot.ask(b"{}\n")
    assert not bot.answered
    bot.answer()
    assert bot.answered
    bot.ask_end()
    exit_ = bot.take_end()
    bot.close()
    assert exit_.status is None
    assert 0.05 < exit_.cpu_seconds < 2
    assert exit_.max_rss_kb > 1000


def test_a_bot_that_never_reads_blocks_nobody(local: Sandbox) -> None:
    bot = started(local, "import time\ntime.sleep(60)\n", replace(LIMITS, start_seconds=0.1, move_seconds=0.1))
    before = time.monotonic()
    with pytest.raises(BotFault) as caught:
        bot.ask(b"x" * 5_000_000 + b"\n")
    assert caught.value.kind == "silence"
    assert time.monotonic() - before < 4
    ended(bot, caught.value.at(0, 0))
    bot.close()


def test_a_full_buffer_is_no_answer_either(local: Sandbox) -> None:
    bot = started(local, "import time\ntime.sleep(60)\n", replace(LIMITS, start_seconds=0.1, move_seconds=0.1))
    fault = fault_of(lambda: [bot.ask(b"x" * 1000) for _ in range(100_000)])
    assert fault.kind == "silence"
    ended(bot, fault.at(0, 0))
    bot.close()


@pytest.mark.parametrize("size", [10, 5_000_000])
def test_a_bot_that_dies_over_its_question_has_crashed(local: Sandbox, size: int) -> None:
    bot = started(local, "import os, time\ntime.sleep(0.3)\nos._exit(9)\n")
    fault = fault_of(lambda: asked(bot, b"x" * size + b"\n"))
    assert ended(bot, fault.at(0, 0)).detail == "ended with exit code 9"
    bot.close()


def test_a_bot_that_is_gone_before_the_first_question_has_crashed(sandbox: Sandbox) -> None:
    bot = started(sandbox, "raise SystemExit(5)\n")

    time.sleep(0.3)
    fault = fault_of(lambda: bot.ask(b"{}\n"))
    assert fault.kind == "closed_pipe"
    assert ended(bot, Fault(0, "closed_pipe")).detail == "ended with exit code 5"
    bot.close()


@pytest.mark.parametrize("question", [True, False])
def test_a_bot_that_cannot_even_be_started_has_crashed(sandbox: Sandbox, question: bool) -> None:
    bot = Seat(sandbox, ProcessSpec("python", "/nowhere/at/all", entry="main:move"), LIMITS)
    fault = ended(bot, fault_of(lambda: asked(bot, b"{}\n") if question else bot.answer()).at(0, 0))
    assert (fault.kind, fault.detail[:52]) == ("crash", "ended with exit code 1: FileNotFoundError: [Errno 2]")
    bot.close()


def test_a_bot_that_hangs_up_on_an_open_question(local: Sandbox) -> None:
    source = f"{RAW}def move(state):\n    raw(b'{{}}\\n')\n    time.sleep(0.3)\n    os.close(3)\n    time.sleep(60)\n"
    for finish in (Seat.answer, lambda bot: bot.ask(b"{}\n")):
        bot = started(local, source)
        bot.ask(b"{}\n")
        bot.answer()
        bot.ask(b"{}\n")
        time.sleep(0.6)
        with pytest.raises(BotFault) as caught:
            finish(bot)
        fault = ended(bot, caught.value.at(0, 1))
        assert fault.kind == "closed_pipe"
        bot.close()


def test_a_bot_that_hangs_up_between_questions(local: Sandbox) -> None:
    source = f"{RAW}def move(state):\n    raw(b'{{}}\\n')\n    os._exit(4)\n"
    bot = started(local, source)
    bot.ask(b"{}\n")
    bot.answer()
    time.sleep(0.2)
    with pytest.raises(BotFault) as caught:
        bot.ask(b"{}\n")
    assert ended(bot, caught.value.at(0, 1)).detail == "ended with exit code 4"
    bot.close()


SLEEPER = "import time\ndef move(state):\n    time.sleep(0.5)\n    return {}\n"
SLOW_BURNER = "import time\nend = time.process_time() + 9\nwhile time.process_time() < end: pass\n"


def together(*bots: Seat) -> None:
    for bot in bots:
        bot.rivals = bots


def test_a_bot_that_overspends_while_another_is_heard_is_ended_at_once(local: Sandbox) -> None:
    with open_with(backend("process"), local.bots) as other:  # type: ignore[attr-defined]
        other.bots = local.bots  # type: ignore[attr-defined]
        limits = replace(LIMITS, start_seconds=0.1, move_seconds=0.1)
        slow, burner = started(local, SLEEPER), started(other, SLOW_BURNER, limits)
        together(slow, burner)
        for bot in (slow, burner):
            bot.ask(b"{}\n")
        assert slow.answer() == {}
        fault = fault_of(burner.answer)
        assert fault.kind == "start_timeout"
        assert fault_of(lambda: burner.ask(b"{}\n")) is fault
        assert fault.cpu is not None
        assert 0.2 < fault.cpu < 0.45, "it was not left to burn until it was heard"
        slow.ask_end()
        slow.take_end()
        burner.ask_end()
        assert burner.take_end().status is None
        for bot in (slow, burner):
            bot.close()


def test_a_bot_that_is_not_there_yet_or_no_more_is_in_nobodys_way(local: Sandbox) -> None:
    with open_with(backend("process"), local.bots) as stopped, open_with(backend("process"), local.bots) as other:  # type: ignore[attr-defined]
        stopped._process.send_signal(signal.SIGSTOP)  # type: ignore[attr-defined]
        late = Seat(stopped, ProcessSpec("python", "/", entry="main:move"), LIMITS)
        dead = Seat(other, ProcessSpec("python", "/nowhere/at/all", entry="main:move"), LIMITS)
        slow = started(local, SLEEPER)
        together(slow, late, dead)
        asked(slow, b"{}\n")
        slow.ask_end()
        slow.take_end()
        late.allow(0.0)
        late.ask(b"{}\n")
        fault = fault_of(late.answer)
        assert fault.kind == "silence"
        assert "no answer within 2 s of wall time" in fault.detail
        stopped._process.send_signal(signal.SIGCONT)  # type: ignore[attr-defined]
        assert ended(dead, fault_of(dead.answer).at(0, 0)).kind == "crash"
        for bot in (slow, late, dead):
            bot.close()


def test_what_is_still_in_the_log_can_be_read_while_the_bot_lives(local: Sandbox) -> None:
    bot = started(local, "def move(state):\n    print('thinking', flush=True)\n    return {}\n")
    asked(bot, b"{}\n")
    assert bot.log() == "thinking\n"
    bot.ask_end()
    bot.take_end()
    bot.close()


def test_the_clock_of_a_process_that_is_gone_stands_still(local: Sandbox) -> None:
    bot = started(local, f"{RAW}def move(state):\n    raw(b'{{}}\\n')\n    os._exit(0)\n")
    bot.ask(b"{}\n")
    time.sleep(0.3)
    bot.ask_end()
    assert bot.take_end().status == 0
    assert bot.answer() == {}
    bot.close()


def test_descriptors_do_not_leak_whatever_happens(sandbox: Sandbox) -> None:
    before = len(descriptors())
    for body in ("return {}", "1 / 0", "os.close(3)"):
        play(sandbox, f"{RAW}def move(state):\n    {body}\n")
    assert len(descriptors()) == before


def test_a_seat_in_a_sandbox_that_is_gone_leaves_nothing_open() -> None:
    closed = open_with(backend("process"), Path("/usr"))
    closed.close()
    before = len(descriptors())
    with pytest.raises(SandboxError, match="the sandbox is gone"):
        Seat(closed, hosted(closed, "x"), LIMITS)
    assert len(descriptors()) == before


ELSEWHERE = """
import socket, sys
from arena.errors import SandboxError
from arena.sandbox.base import ProcessSpec, Sandbox
from arena.seat import Seat
from arena.types import Limits

class Elsewhere(Sandbox):
    def start(self, spec, protocol, stderr):
        socket.send_fds(self._control, [b"x"], [protocol])

bot = Seat(Elsewhere(socket.socket(fileno=int(sys.argv[1])), {}), ProcessSpec("exec", "/"), Limits())
try:
    bot.answer()
except SandboxError as error:
    print(error)
"""


def test_a_process_whose_clock_cannot_be_read_is_never_judged() -> None:
    """Here the bot is this process, which the referee, in a process space of its own, has no number for."""
    import socket

    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    space = ["unshare", "--pid", "--fork"] if os.geteuid() == 0 else ["unshare", "--user", "--pid", "--fork"]
    if subprocess.run([*space, "true"], capture_output=True, check=False).returncode:
        pytest.skip("process spaces can't be made here: sysctl kernel.unprivileged_userns_clone=1")
    command = [*space, sys.executable, "-c", ELSEWHERE, str(theirs.fileno())]
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, text=True) as referee:
        _, (pipe,), _, _ = socket.recv_fds(ours, 1, 1)
        os.write(pipe, b"+{}\n")
        assert referee.stdout is not None
        assert "CPU time can't be read" in referee.stdout.read()
    os.close(pipe)
    ours.close()
    theirs.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(JSON)
def test_objects_come_through_as_they_were_and_nothing_else_does(value: Any) -> None:
    line = json.dumps(value).encode() + b"\n"
    if isinstance(value, dict):
        assert parse_reply(line) == value
    else:
        with pytest.raises(BotFault, match="no JSON object"):
            parse_reply(line)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_fault(line: bytes) -> None:
    try:
        told = type(parse_reply(line)).__name__
    except BotFault as fault:
        told = fault.kind
    assert told in ("dict", "not_json")


@pytest.mark.parametrize("depth", [1, MAX_NESTING - 1, MAX_NESTING])
def test_nesting_is_allowed_up_to_its_limit(depth: int) -> None:
    line = b'{"a":' * depth + b"1" + b"}" * depth
    assert parse_reply(line)
    with pytest.raises(BotFault, match="nested deeper"):
        parse_reply(b'{"a":' * (MAX_NESTING + 1 - depth) + line + b"}" * (MAX_NESTING + 1 - depth))
    wide = json.dumps({"a": [[]] * 1000}).encode()
    assert parse_reply(wide) == {"a": [[]] * 1000}


def test_the_wall_clock_is_never_tighter_than_two_seconds_more() -> None:
    assert seat.wall_limit(0.1, Limits(wall_factor=10)) == 2.1
    assert seat.wall_limit(1.0, Limits(wall_factor=10)) == 10.0


def test_only_a_closed_pipe_is_seen_in_another_light() -> None:
    late = Fault(0, "move_timeout", "late")
    assert explain(late, Exit(-9, 1.0), "log") is late
    closed = Fault(0, "closed_pipe", "the bot closed its end", 3, wall_seconds=0.5)
    assert explain(closed, Exit(None, 1.0), "log") is closed
    assert explain(closed, Exit(0, 1.0), "\n\n") == Fault(0, "crash", "ended with exit code 0", 3, 1.0, 0.5)
    assert explain(closed, Exit(1, 1.0), "a\n  b  \n\n").detail == "ended with exit code 1: b"
    assert len(explain(closed, Exit(1, 1.0), "x" * 9999).detail) == MAX_DETAIL
    trace = 'File "/bot/main.py", line 3, in f\nFile "/bot/deep/a b.py", line 7\nFile "/usr/x.py", line 9\nOops: y\n'
    assert explain(closed, Exit(1, 1.0), trace).detail == "ended with exit code 1: Oops: y (deep/a b.py, line 7)"
    long = explain(closed, Exit(1, 1.0), trace + "x" * 9999).detail
    assert (len(long), long[-23:]) == (MAX_DETAIL, "x (deep/a b.py, line 7)")
