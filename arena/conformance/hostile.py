"""Bots of turn games that misbehave on purpose; they need to know nothing of the game they are in."""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.bot import FILE, Manifest, manifest
from arena.conformance.matches import with_files
from arena.types import TIMEOUTS, Code, FaultKind, FileEntry

MODULE = "conformance_bot"
FLOOD_BYTES = 100_000_000
_LATE = TIMEOUTS - {"silence"}

_BOT = """\
import os, socket, sys, time

{honest}

def misbehave():
{misdeed}

class Bot:
    def __init__(self):
        self.answers = 0
        self.honest = made() if isinstance(made, type) else made
        self.honest = getattr(self.honest, "move", self.honest)

    def move(self, observation):
        if self.answers >= {after}:
            return misbehave()
        self.answers += 1
        return self.honest(observation)
"""
_FLOOD = """\
for _ in range(1000):
    data = b"f" * {size}
    while data:
        data = data[os.write({where}, data):]
"""


@dataclass(frozen=True, slots=True)
class Misdeed:
    """What a bot does, and what the referee must call it. `after`: honest answers before it."""

    name: str
    body: str
    called: frozenset[FaultKind]
    after: int = 0


def _kinds(*kinds: FaultKind) -> frozenset[FaultKind]:
    return frozenset(kinds)


CRASH = Misdeed("crash", "raise RuntimeError('on purpose')", _kinds("crash"))
MISDEEDS = (
    CRASH,
    Misdeed("exit", "os._exit(0)", _kinds("crash")),
    Misdeed("hang", "while True: pass", frozenset(_LATE)),
    Misdeed("silence", "time.sleep(3600)", _kinds("silence")),
    Misdeed("garbage", "os.write(3, b'\\xff\\xfe{{[\\n'); time.sleep(3600)", _kinds("not_json")),
    Misdeed("answer of the wrong type", "return [1, 2, 3]", _kinds("not_json")),
    Misdeed("illegal move", "return {'conformance': 'no move of any game'}", _kinds("illegal_move")),
    Misdeed("100 MB in one line", _FLOOD.format(size=FLOOD_BYTES // 1000, where=3), _kinds("oversize")),
    Misdeed(
        "100 MB of log",
        _FLOOD.format(size=FLOOD_BYTES // 1000, where=2) + "raise RuntimeError('after the flood')",
        frozenset({"crash", *TIMEOUTS}),
    ),
    Misdeed("closed pipe", "os.close(3); time.sleep(3600)", _kinds("closed_pipe")),
)
IN_MID_MATCH = (
    Misdeed("crash in mid-match", "raise RuntimeError('on purpose')", _kinds("crash"), after=1),
    Misdeed("hang in mid-match", "while True: pass", _kinds("move_timeout"), after=1),
    Misdeed("illegal move in mid-match", "return {'conformance': 'no move'}", _kinds("illegal_move"), after=1),
)


def bot(starter: Code, misdeed: Misdeed, names: Mapping[str, object] | None = None) -> Code:
    """The starter turned into a bot that does `misdeed`; `names` are put into its body."""
    written = manifest(starter)
    body = misdeed.body.format(**names) if names else misdeed.body
    source = _BOT.format(
        honest=_honest(written),
        misdeed="\n".join(f"    {line}" for line in body.splitlines()),
        after=misdeed.after,
    )
    return with_files(
        starter,
        FileEntry(FILE.encode(), "file", f'entry = "{MODULE}:Bot"\n'.encode()),
        FileEntry(f"{MODULE}.py".encode(), "file", source.encode()),
    )


def can_start_honest(starter: Code) -> bool:
    """Whether bots made of `starter` can give honest answers first: it is hosted Python."""
    return manifest(starter).entry is not None


def _honest(written: Manifest) -> str:
    if written.entry is None:
        return "made = None"
    module, _, name = written.entry.partition(":")
    return f"from {module} import {name} as made"
