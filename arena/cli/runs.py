"""Verbs that read records: list, show, verify."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.errors import RecordError

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("list")(list_runs)
    app.command()(show)
    app.command()(verify)


def list_runs(
    results: Annotated[Path, typer.Argument(help="Folder that holds runs.")] = Path("results"), as_json: Json = False
) -> None:
    """Every run under a folder, newest last; what can't be read is named with the reason."""
    from arena.record import Record

    rows: list[dict[str, Any]] = []
    for path in sorted(results.glob("*/run.json"), key=lambda path: path.parent.name):
        try:
            rows.append({"run": str(path.parent), **Record.summary(path.parent).model_dump(mode="json")})
        except RecordError as error:
            rows.append({"run": str(path.parent), "status": "unreadable", "reason": str(error)})
    rows.sort(key=lambda row: str(row.get("started", "")))
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from arena.cli.tables import show_table

    body = [
        [
            row["run"],
            row["status"],
            row.get("game", ""),
            ", ".join(row.get("players", [])),
            f"{row['rounds_done']}/{row['rounds_planned']}" if "rounds_done" in row else "",
            row.get("winner") or row.get("reason", ""),
        ]
        for row in rows
    ]
    show_table(["run", "status", "game", "players", "round", "winner"], body)


def show(path: Run, as_json: Json = False) -> None:
    """How a run went: rounds, scores, winners, ratings."""
    from arena.record import Record

    record = Record.read(path)
    if as_json:
        rounds = [record.round(n).model_dump(mode="json") for n in record.rounds()]
        print(json.dumps({"run": record.run.model_dump(mode="json"), "rounds": rounds}, indent=2))
        return
    from arena.cli.summary import show_run

    show_run(record)


def verify(
    path: Run,
    sample: Annotated[int | None, typer.Option("-n", help="How many matches to play again; left out: all.")] = None,
    as_json: Json = False,
) -> None:
    """Check the record and play its matches again: same winners, same states? Exit code 1 if not."""
    from arena import executor
    from arena.cli.live import counter
    from arena.config import TournamentConfig
    from arena.record import Record
    from arena.sandbox import select
    from arena.verify import verify as verify_run

    record = Record.read(path)
    config = TournamentConfig.model_validate(record.config)
    untrusted = [player.name for player in config.players if not player.trusted]
    backend = select.choose("auto", untrusted).backend
    with counter("playing again") as progress, executor.named(config.executor, None) as workers:
        report = verify_run(record, sample, backend.name, workers, progress)
    if as_json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        for line in report.lines():
            print(line)
    if not report.sound:
        raise typer.Exit(1)
