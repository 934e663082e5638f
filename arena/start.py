"""Begins a run: what was asked for, what it will run on, and the record that keeps both."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from arena import __version__, registry
from arena import config as config_module
from arena.config import Loaded, TournamentConfig
from arena.documents import LockDocument, RunDocument, Totals
from arena.errors import ConfigError
from arena.events import now
from arena.record import Record, RecordWriter
from arena.sandbox.base import Backend
from arena.sandbox.place import interpreter

PACKAGES = ("docker", "pydantic", "pyyaml", "rich", "trueskill", "typer")


def create(
    loaded: Loaded, backend: Backend, results: Path, output: Path | None = None, argv: Sequence[str] = ()
) -> RecordWriter:
    """A new run under `results`, or in `output`. Raises ConfigError, RecordError, SandboxError."""
    config = loaded.config
    record = Record.create(
        results,
        source=loaded.source,
        config=config.model_dump(mode="json"),
        lock=lock(config, backend, argv),
        run=RunDocument(
            status="running",
            game=config.game,
            players=config.names,
            rounds_planned=config.rounds,
            rounds_done=-1,
            winner=None,
            totals=Totals(cost=0.0, tokens=0, matches=0, wall_seconds=0.0),
            ratings={},
            started=now(),
            updated=now(),
        ),
        output=output,
    )
    record.event("run_started", base=str(loaded.base), sandbox=backend.name)
    return record


def loaded_again(record: Record, path: Path | None, overrides: Sequence[str]) -> Loaded:
    """The config of a run, to go on with it; `path` and `overrides`, if given, must say the same as the run's own.

    Relative paths start where they did, or at the folder of `path`. Raises ConfigError that names the differing key.
    """
    source = path.read_bytes() if path else record.config_source
    base = path.parent.resolve() if path else _base(record)
    if path or overrides:
        given = config_module.parse(source, str(path or record.path / "config.yaml"), overrides, base)
        record.require_config(given.model_dump(mode="json"))
    _require_version(record)
    return Loaded(TournamentConfig.model_validate(record.config), record.config_source, base)


def _require_version(record: Record) -> None:
    """The second half of a run must be of the same game as the first."""
    then, now_ = record.lock.game_version, registry.game_class(record.lock.game).version
    if then != now_:
        raise ConfigError(f"{record.path} was begun on {record.lock.game} {then}; this is {now_}: start a new run")


def _base(record: Record) -> Path:
    events = record.events() if (record.path / "events.jsonl").exists() else []
    for event in reversed(events):
        if event.type in ("run_started", "run_resumed"):
            return Path(event.data["base"])
    raise ConfigError(
        f"{record.path} was killed before it began; give its config: arena resume {record.path} --config FILE"
    )


def lock(config: TournamentConfig, backend: Backend, argv: Sequence[str]) -> LockDocument:
    """Everything that decides a run and is not in its config."""
    isolation = backend.isolation()
    return LockDocument(
        game=config.game,
        game_version=registry.game_class(config.game).version,
        arena_version=__version__,
        python=f"{sys.version.split()[0]} (bots: {_bot_python()})",
        platform=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        git_commit=_git_commit(),
        images={"code-arena": isolation.image} if isolation.image else {},
        isolation=asdict(isolation),
        prompt_hashes={},
        argv=tuple(argv),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _bot_python() -> str:
    asked = subprocess.run([interpreter(), "-I", "-V"], capture_output=True, text=True, check=True)
    return f"{interpreter()} {asked.stdout.strip()}"


def _git_commit() -> str | None:
    """Commit of this source tree; None for an installed package."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    asked = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None
