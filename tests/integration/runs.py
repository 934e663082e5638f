"""Real runs of the command line for the tests: where they happen, what is played, and what a record says of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from arena.record import Record

ROOT = Path(__file__).resolve().parents[2]
ARENA = Path(sys.executable).with_name("arena")
PATIENCE = 60.0  # seconds after which a run that does not do what a test waits for is stuck

# It takes the first free square: the same answer to the same state, wherever and whenever.
LEGAL = """\
STEPS = {"up": (0, 1), "left": (-1, 0), "down": (0, -1), "right": (1, 0)}


def move(state):
    board, head = state["board"], state["you"]["body"][0]
    taken = {(part["x"], part["y"]) for snake in board["snakes"] for part in snake["body"]}
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            return {"move": name}
    return {"move": "up"}
"""
HUNGRY = LEGAL.replace("    return", "    return", 1).replace(
    "for name, (dx, dy) in STEPS.items():",
    "food = [(piece['x'], piece['y']) for piece in board['food']] or [(0, 0)]\n"
    "    near = lambda step: min(abs(head['x'] + step[1][0] - x) + abs(head['y'] + step[1][1] - y) for x, y in food)\n"
    "    for name, (dx, dy) in sorted(STEPS.items(), key=near):",
)
MANIFEST = 'entry = "main:move"\n'
SMALL = {"width": 7, "height": 7, "max_turns": 60}


class Place:
    """A folder for the runs of one test, with a temporary folder of its own, reachable by sandboxes of other users."""

    def __init__(self, path: Path, sandbox: str) -> None:
        self.path, self.sandbox = path, sandbox
        self.temporary = path / "tmp"
        self.temporary.mkdir()
        for folder in (self.path, self.temporary):
            folder.chmod(0o711)

    def write(self, name: str, content: str | bytes) -> Path:
        """A file of the test."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def bot(self, name: str, main: str = LEGAL, **extra: str) -> str:
        """A folder with a Python bot, as `bot` of a player."""
        for file, content in {"bot.toml": MANIFEST, "main.py": main, **extra}.items():
            self.write(f"{name}/{file}", content)
        return name

    def script(self, name: str, rounds: Mapping[int, Sequence[Mapping[str, str]]]) -> dict[str, Any]:
        """A script of steps by round, as `options` of a player."""
        document = {"rounds": {n: {"steps": list(steps)} for n, steps in rounds.items()}}
        self.write(f"{name}.yaml", yaml.safe_dump(document, width=10_000))
        return {"script": f"{name}.yaml"}

    def config(self, players: Sequence[Mapping[str, Any]], name: str = "config.yaml", **settings: Any) -> Path:
        """A config of small, quick matches; players are trusted, so that they play where there is no sandbox too."""
        document = {
            "game": "battlesnake",
            "game_config": SMALL,
            "rounds": 1,
            "matches": 1,
            "seed": 7,
            "sandbox": self.sandbox,
            **settings,
            "players": [{"trusted": True, **player} for player in players],
        }
        return self.write(name, yaml.safe_dump(document, allow_unicode=True, width=10_000))

    def environment(self, **more: str) -> dict[str, str]:
        """What the command line sees of ours; agents and games of these tests can be imported."""
        return {**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT), "COLUMNS": "1000", **more}

    def start(self, *arguments: str | Path, program: Sequence[str] = (), **environment: str) -> "subprocess.Popen[str]":
        """The command line, in a process group of its own."""
        return subprocess.Popen(
            [*(program or (str(ARENA),)), *map(str, arguments)],
            cwd=self.path,
            env=self.environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def arena(self, *arguments: str | Path, code: int = 0, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the command line to its end, which must be exit code `code`."""
        process = self.start(*arguments, **environment)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        said = f"arena {' '.join(map(str, arguments))}: {process.returncode}\n{stdout}\n{stderr}"
        assert process.returncode == code, said
        assert "Traceback" not in stderr, said
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def play(self, config: Path, *overrides: str, name: str = "run", code: int = 0, **environment: str) -> Path:
        """A whole run; its folder."""
        self.arena("run", config, *overrides, "--output", self.path / name, code=code, **environment)
        return self.path / name


def scripted(name: str, options: Mapping[str, Any], bot: str | None = None) -> dict[str, Any]:
    """A player that follows a script."""
    return {"name": name, "agent": "scripted", "options": dict(options), "bot": bot}


def frozen(name: str, bot: str) -> dict[str, Any]:
    """A player that never edits."""
    return {"name": name, "agent": "frozen", "bot": bot}


def git(record: Record, player: str, *arguments: str) -> str:
    """What plain git says of a player's repository."""
    command = ["git", f"--git-dir={record.repo_path(player)}", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "surrogateescape")


def wait_for(what: str, seen: Callable[[], Any], process: "subprocess.Popen[str] | None" = None) -> Any:
    """The first true value of `seen`, within PATIENCE and before `process` ends."""
    deadline = time.monotonic() + PATIENCE
    while not (found := seen()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        assert process is None or process.poll() is None, f"{what} did not come: {process and process.communicate()}"
        time.sleep(0.01)
    return found


def wait_for_line(process: "subprocess.Popen[str]", text: str) -> None:
    """Read what `process` prints until a line has `text`."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"{text!r} was never printed: {process.communicate()}")


def facts(run: Path) -> dict[str, Any]:
    """All that a run came to and that no clock has a part in, for comparison with another run of the same config."""
    record = Record.read(run)
    return {
        "rounds": [_round(record, n) for n in record.rounds()],
        "matches": [_match(match) for n in record.rounds() for match in record.matches(n)],
        "replays": {name: record.replay(name)["raw"] for n in record.rounds() for name in record.replays(n)},
        "codebases": {name: _codebase(record, name) for name in record.run.players},
        "status": record.run.status,
        "winner": record.run.winner,
        "ratings": record.run.ratings,
        "rounds_done": record.run.rounds_done,
        "totals": record.run.totals.matches,
    }


def _round(record: Record, n: int) -> dict[str, Any]:
    document = record.round(n)
    matchups = [each.model_copy(update={"voids": 0}) for each in document.matchups]
    edits = {
        name: each.model_copy(update={"attempt": 0, "seconds": 0.0, "spend": None})
        for name, each in document.edits.items()
    }
    return {
        **document.model_dump(mode="json", exclude={"wall_seconds", "matchups", "edits"}),
        "matchups": matchups,
        "edits": edits,
    }


_BY_CLOCK = {"wall_seconds", "cpu_seconds", "rechecked", "voids"}


def _match(match: Any) -> dict[str, Any]:
    shown = match.model_dump(mode="json", exclude=_BY_CLOCK)
    shown["faults"] = [(fault.player, fault.kind, fault.turn) for fault in match.faults]
    return shown


def _codebase(record: Record, name: str) -> dict[str, str]:
    return {
        "refs": git(
            record, name, "for-each-ref", "--format=%(refname) %(objectname) %(tree)", "refs/heads", "refs/tags"
        ),
        "history": git(record, name, "log", "--format=%H %T %at %s", "main"),
    }


def files_of(run: Path) -> dict[str, bytes]:
    """Every file of a run."""
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def strict_json(text: str | bytes) -> Any:
    """`text` as strict JSON: NaN and infinities are errors."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def descendants(root: int) -> dict[int, tuple[int, str]]:
    """Living processes below `root`: parent and command line by process id."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if state not in "ZX":
                parents[int(folder.name)] = int(parent)
    found = {root}
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return {pid: (parents[pid], _command_line(pid)) for pid in found - {root}}


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def matches_of(run: Path) -> Iterator[Any]:
    """Every match of the closed rounds."""
    record = Record.read(run)
    for n in record.rounds():
        yield from record.matches(n)
