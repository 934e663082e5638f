"""events.jsonl: what happened in a run, one typed event a line, each with the SHA-256 of the line before it."""

import hashlib
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from arena.documents import Count, Document, JsonObject
from arena.errors import RecordError
from arena.store import LineFile, read_lines, repair_tail, to_json

NO_LINE = "0" * 64  # `prev` of the first event


class Event(Document):
    """One line. `prev`: SHA-256 of the line before, without its newline."""

    seq: Count
    time: str
    type: str = Field(pattern=r"^[a-z][a-z_]*$")
    data: JsonObject
    prev: str


def now() -> str:
    """The time as the record writes it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class EventLog:
    """The one writer of an event file.

    An event outlives the death of this process as soon as `append` returns, and a power cut from the next `sync` on:
    events come often, and what must never be lost is in documents of its own.
    """

    def __init__(self, path: Path) -> None:
        """Open `path`, made if it isn't there; a torn last line is cut off (`warning` says so).

        Raises RecordError if the chain is broken.
        """
        self.warning = repair_tail(path)
        self._lock, self._seq, self._prev = threading.Lock(), 0, NO_LINE
        if path.exists():
            events, self._prev = _read(path)
            self._seq = len(events)
        self._file = LineFile(path)

    def append(self, type_: str, /, **data: Any) -> Event:
        """Write one event; any thread may. Raises RecordError."""
        with self._lock:
            event = Event(seq=self._seq, time=now(), type=type_, data=data, prev=self._prev)
            line = to_json(event)
            self._file.append(line)
            self._seq, self._prev = self._seq + 1, hashlib.sha256(line).hexdigest()
        return event

    def sync(self) -> None:
        """Have all events so far outlive a power cut."""
        self._file.sync()

    def close(self) -> None:
        """Sync and let go."""
        self._file.close()


def read_events(path: Path) -> list[Event]:
    """All events, the chain verified; a torn last line (it may be in the writing) is left out. Raises RecordError."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[Event], str]:
    events: list[Event] = []
    prev = NO_LINE
    for line, event in read_lines(path, Event):
        if (event.seq, event.prev) != (len(events), prev):
            raise RecordError(
                f"{path}: line {len(events) + 1} does not follow the line before it: lines were changed, moved "
                "or lost; restore the file from a copy of the run"
            )
        events.append(event)
        prev = hashlib.sha256(line).hexdigest()
    return events, prev
