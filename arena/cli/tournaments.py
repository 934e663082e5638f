"""Verbs that play tournaments: run, resume."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arena.config import Loaded
    from arena.executor.base import Executor
    from arena.record import RecordWriter
    from arena.sandbox.base import Backend

RESULTS = Path("results")
Overrides = Annotated[list[str] | None, typer.Argument(help="key=value, for example rounds=3 players.0.name=ada.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command()(run)
    app.command()(resume)


def run(
    config: Annotated[Path, typer.Argument(help="YAML file; `arena init` writes one.")],
    overrides: Overrides = None,
    results: Annotated[Path, typer.Option(help="Folder that gets a folder for this run.")] = RESULTS,
    output: Annotated[Path | None, typer.Option(help="The run's own folder, empty or not there yet.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
) -> None:
    """Play a tournament."""
    from arena import config as configs

    loaded = configs.load(config, overrides or ())
    if dry_run:
        from arena.cli.plan import show_plan

        show_plan(loaded)
        return
    from arena import start
    from arena.sandbox.reap import reap

    reap()
    backend = _backend(loaded)
    with _workers(loaded) as workers, start.create(loaded, backend, results, output, sys.argv) as record:
        _play(loaded, record, backend, workers)


def resume(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    config: Annotated[Path | None, typer.Option(help="The config, to make sure that it is still the same.")] = None,
    overrides: Overrides = None,
) -> None:
    """Go on with a run that was interrupted: finished edits and matches are never done again."""
    from arena import start
    from arena.record import Record
    from arena.sandbox.reap import reap

    loaded = start.loaded_again(Record.read(path), config, overrides or ())
    with _workers(loaded) as workers, Record.open(path) as record:
        if record.run.status == "finished":
            print(f"{path} is finished; nothing to do")
            return
        backend = _backend(loaded)
        for note in (*record.warnings, *(f"removed {line}" for line in reap())):
            print(f"note: {note}", file=sys.stderr)
        record.event("run_resumed", base=str(loaded.base), sandbox=backend.name)
        _play(loaded, record, backend, workers)


def _workers(loaded: "Loaded") -> "Executor":
    from arena import executor

    return executor.named(loaded.config.executor, loaded.config.workers)


def _backend(loaded: "Loaded") -> "Backend":
    """The sandbox of the run; says plainly which it is, and why not a better one."""
    from arena.sandbox import select

    untrusted = [player.name for player in loaded.config.players if not player.trusted]
    choice = select.choose(loaded.config.sandbox, untrusted)
    for reason in choice.passed_over:
        print(f"note: not used: {reason}", file=sys.stderr)
    if choice.backend.name == "process":
        print("note: sandbox process: NO ISOLATION; every player is marked trusted", file=sys.stderr)
    return choice.backend


def _play(loaded: "Loaded", record: "RecordWriter", backend: "Backend", workers: "Executor") -> None:
    from arena.cli.live import live
    from arena.cli.summary import show_run
    from arena.tournament import Tournament

    print(f"run {record.path}  (sandbox {backend.name}; stop with Ctrl-C, go on with: arena resume {record.path})")
    with live(loaded.config.rounds) as listener:
        Tournament(loaded, record, backend, workers, listener).run()
    show_run(record)
