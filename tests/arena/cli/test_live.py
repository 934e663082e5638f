"""What a running tournament shows: one line a phase, or a bar on a terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from arena.cli.live import PHASES, LiveListener, counter, live

SHOWN = """
import time
from arena.cli.live import counter, live
with live(3) as listener:
    listener.step("early", 1)
    listener.played(0)
    listener.spent(1.5)
    listener.phase(1, "edit")
    listener.step("ada\\x1b[31m", 7)
    time.sleep(0.3)
    listener.phase(1, "compete")
    listener.planned(40, 10)
    listener.played(20)
    listener.warn("[bold]odd\\x07 name")
    time.sleep(0.3)
with counter("verifying") as count:
    count(3, 10)
    time.sleep(0.3)
"""


def everything(listener: LiveListener) -> None:
    for phase in PHASES:
        listener.phase(1, phase)
    listener.step("ada", 3)
    listener.planned(20, 5)
    listener.played(2)
    listener.spent(0.5)
    listener.spent(None)
    listener.warn("bot \x1b[2J odd")


def test_without_a_terminal_there_is_a_line_a_phase(capfd: pytest.CaptureFixture[str]) -> None:
    with live(3) as listener:
        everything(listener)
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "round 1/3  checking submissions",
        "round 1/3  editing",
        "round 1/3  playing",
        "round 1/3  judging timeouts again",
        "round 1/3  20 matches, 5 of them in the record",
    ]
    assert err == "warning: bot \N{REPLACEMENT CHARACTER}[2J odd\n"


def test_a_counter_without_a_terminal_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    with counter("verifying") as count:
        count(1, 10)
    assert capfd.readouterr() == ("", "")


def on_a_terminal(script: str) -> str:
    """What `script` shows on a terminal of its own."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen([sys.executable, "-c", script], stdout=theirs, stderr=theirs, env=environment) as shown:
        os.close(theirs)
        data = b""
        while True:
            try:
                chunk = os.read(ours, 65_536)
            except OSError:  # how Linux says that nobody has the other end any more
                break
            if not chunk:
                break
            data += chunk
    os.close(ours)
    assert shown.returncode == 0, data.decode()
    return data.decode()


def test_on_a_terminal_there_is_a_bar_with_counts_rate_and_money() -> None:
    shown = on_a_terminal(SHOWN)
    for part in ("round 1/3  editing", "step 7", "round 1/3  playing", "30/40", "matches/s", "$1.50", "verifying"):
        assert part in shown, part
    assert "warning: [bold]odd\N{REPLACEMENT CHARACTER} name" in shown
    assert "ada\N{REPLACEMENT CHARACTER}[31m" in shown


def test_names_never_steer_the_terminal() -> None:
    assert "\x07" not in on_a_terminal(SHOWN)
