"""Verbs about this machine: images, doctor, check."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from arena.errors import ConfigError

images_app = typer.Typer(no_args_is_help=True, help="The Docker image that sandboxes start from.")
MARKS = {True: "ok    ", False: "FAILED", None: "n/a   "}
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.add_typer(images_app, name="images")
    app.command()(doctor)
    app.command()(check)


@images_app.command("build")
def build_image() -> None:
    """Build the image: from a base that is pulled where a registry answers, made with mmdebstrap where none does."""
    from arena import images, registry
    from arena.sandbox import docker

    games = [registry.game(name) for name in registry.names("games")]
    tools = {f"/usr/local/bin/{name}": path for game in games for name, path in game.tools().items()}
    print(images.build(docker.connect(), print, tools))


@images_app.command("show")
def show_image() -> None:
    """Print the digest of the image that runs use; exit code 3 if there is none."""
    from arena import images
    from arena.sandbox import docker

    print(images.find(docker.connect()))


def doctor(
    config: Annotated[Path | None, typer.Argument(help="A config: look at what it needs only.")] = None,
    as_json: Json = False,
    reap: Annotated[bool, typer.Option("--reap", help="Remove what dead runs left behind.")] = False,
) -> None:
    """Say what this machine has for the arena, really trying it, and how to get what it lacks."""
    from arena import doctor as examination
    from arena.sandbox.reap import reap as remove_leftovers

    if reap:
        for line in remove_leftovers():
            print(f"removed {line}")
    findings = list(examination.examine(config))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        from arena.cli.tables import show_table

        rows = [[f.name, f.status, f.detail, f.fix] for f in findings]
        show_table(["part", "state", "what was seen", "fix"], rows)
    if not examination.can_isolate(findings):
        raise typer.Exit(3)


def check(
    kind: Annotated[str, typer.Argument(help="game, agent, sandbox, or all.")] = "all",
    name: Annotated[str | None, typer.Argument(help="Which one; left out: every registered one.")] = None,
    as_json: Json = False,
) -> None:
    """Run the conformance suites; exit code 1 if any check fails."""
    from arena import conformance

    kinds = ("game", "agent", "sandbox") if kind == "all" else (kind,)
    if kind not in ("all", "game", "agent", "sandbox"):
        raise ConfigError(f"check what? {kind!r} is none of game, agent, sandbox, all")
    rows = []
    for each in kinds:
        for part in [name] if name else conformance.registered(each):
            for result in conformance.run(each, part):
                rows.append({"kind": each, "part": part, **asdict(result)})
                if not as_json:
                    print(f"{MARKS[result.passed]} {each} {part}: {result.name}  {result.detail}", flush=True)
    failed = sum(row["passed"] is False for row in rows)
    if as_json:
        print(json.dumps(rows, indent=2))
    else:
        passed, left_out = (sum(row["passed"] is verdict for row in rows) for verdict in (True, None))
        print(f"{passed} passed, {failed} failed, {left_out} left out because they do not apply")
    if failed:
        raise typer.Exit(1)
