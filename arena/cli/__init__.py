"""The command line. Every verb lives in a module of its own kind and imports what is heavy only when it is called."""

import os
import signal
import sys

import typer

from arena import __version__
from arena.errors import INTERRUPTED, ArenaError, exit_code

app = typer.Typer(
    name="arena",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tournaments of models that compete through the codebases they own.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"code-arena {__version__}")
        raise typer.Exit


@app.callback()
def arena(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Tournaments of models that compete through the codebases they own."""


def main() -> None:
    """Entry point: runs a verb and turns what the arena raises into a message and an exit code."""
    from arena.cli import games, machine, matches, runs, tournaments

    for part in (tournaments, runs, matches, games, machine):
        part.register(app)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill pauses a run, as Ctrl-C does
    try:
        app()
    except ArenaError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:  # that code is how Typer passes a Ctrl-C on
            raise
        print("interrupted", file=sys.stderr, flush=True)
        # Workers end by themselves when this process is gone; waiting for them would not be Ctrl-C.
        os._exit(INTERRUPTED)
    except BrokenPipeError:  # `arena ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
