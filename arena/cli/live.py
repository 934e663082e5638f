"""What a running tournament shows: round, phase, matches done, matches a second, money, time left."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from arena.cli.tables import plain
from arena.listener import Listener

PHASES = {
    "validate": "checking submissions",
    "edit": "editing",
    "compete": "playing",
    "recheck": "judging timeouts again",
}


class LiveListener(Listener):
    """A progress bar on a terminal; elsewhere one line a phase."""

    def __init__(self, rounds: int, progress: Progress | None) -> None:
        self._rounds, self._progress = rounds, progress
        self._task: TaskID | None = None
        self._started = time.monotonic()
        self._round = self._matches = 0
        self._spent = 0.0

    def phase(self, round_: int, name: str) -> None:
        """Name the phase."""
        self._round = round_
        text = f"round {round_}/{self._rounds}  {PHASES[name]}"
        if self._progress is None:
            print(text, flush=True)
        elif self._task is None:
            self._task = self._progress.add_task(text, total=None, rate="", money=self._money())
        else:
            self._progress.reset(self._task, description=text, total=None, rate="", money=self._money())

    def step(self, player: str, steps: int) -> None:
        """Show who is how far."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, rate=f"{plain(player)}: step {steps}")

    def spent(self, dollars: float | None) -> None:
        """Money spent so far in the tournament; None if unknown."""
        self._spent = dollars if dollars is not None else self._spent

    def _money(self) -> str:
        return f"${self._spent:.2f}"

    def planned(self, matches: int, done: int) -> None:
        """Set the bar's end."""
        self._started, self._matches = time.monotonic(), 0
        if self._progress is None:
            print(f"round {self._round}/{self._rounds}  {matches} matches, {done} of them in the record", flush=True)
        elif self._task is not None:
            self._progress.update(self._task, total=matches, completed=done)

    def played(self, matches: int) -> None:
        """Move the bar."""
        self._matches += matches
        if self._progress is not None and self._task is not None:
            rate = self._matches / max(1e-6, time.monotonic() - self._started)
            self._progress.update(self._task, advance=matches, rate=f"{rate:.0f} matches/s")

    def warn(self, text: str) -> None:
        """Print above the bar."""
        line = f"warning: {plain(text)}"
        if self._progress is not None:
            self._progress.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)


@contextmanager
def live(rounds: int) -> Iterator[LiveListener]:
    """A listener that shows progress until the block ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield LiveListener(rounds, None)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TextColumn("{task.fields[money]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield LiveListener(rounds, progress)


@contextmanager
def counter(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function of (done, all) that shows how far something is, on a terminal."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
