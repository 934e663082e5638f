"""The record of a run: one folder under `results/`, written by one process at a time, readable at any moment.

Every unit of work is committed once: a batch of matches is a part file, an edit its edit.json, a round its round.json.
What a kill can leave between two commits is cleaned away when the run is opened again.
"""

import itertools
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena import seeds, store
from arena.documents import (
    EditDocument,
    LedgerDocument,
    LockDocument,
    MatchRecord,
    PartDocument,
    RoundDocument,
    RunDocument,
    Spend,
    StepDocument,
    match_id,
    total,
)
from arena.errors import ConfigError, RecordError
from arena.events import Event, EventLog, now, read_events
from arena.repo import Repo
from arena.store import folder_name

RUN = "run.json"
LOCK = ".writer"
_MATCH_ID = re.compile(r"(\d{3,})-\d{2,}-\d{4,}-\d+", re.ASCII)


class Record:
    """A run, to be read; it may be in progress. Every method may raise RecordError."""

    def __init__(self, path: Path) -> None:
        """Raises RecordError if there is no run at `path`, or one of another schema."""
        self.path = path
        self.summary(path)

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Look at the run at `path`; takes no lock, changes nothing."""
        return Record(path)

    @staticmethod
    def open(path: Path) -> "RecordWriter":
        """Go on with the run at `path`. Raises RecordError if another process writes to it."""
        return RecordWriter(path)

    @staticmethod
    def create(
        results: Path,
        *,
        source: bytes,
        config: Mapping[str, Any],
        lock: LockDocument,
        run: RunDocument,
        output: Path | None = None,
    ) -> "RecordWriter":
        """Start a run in a new folder of `results`, or in `output`, which must be empty or not there.

        `source` is the config as given, `config` as resolved; it has the tournament's `seed`. Raises ConfigError for
        an `output` that holds something, RecordError if the folder can't be written.
        """
        path = store.new_folder(results, run.game) if output is None else store.empty_folder(output, LOCK)
        descriptor = store.take_lock(path / LOCK)
        try:
            store.empty_folder(path, LOCK)  # again, now that nobody else can be filling it
            (path / "rounds").mkdir()
            (path / "players").mkdir()
            store.write_atomic(path / "config.yaml", source)
            store.write_atomic(path / "config.json", store.to_json(config))
            store.write_atomic(path / "lock.json", store.to_json(lock))
            store.write_atomic(path / RUN, store.to_json(run))
        finally:
            os.close(descriptor)
        return RecordWriter(path)

    @staticmethod
    def summary(path: Path) -> RunDocument:
        """Where the run at `path` stands, from run.json alone."""
        return store.read_document(path / RUN, RunDocument)

    @property
    def run(self) -> RunDocument:
        """Where the run stands."""
        return self.summary(self.path)

    @property
    def lock(self) -> LockDocument:
        """Versions, images and isolation the run was started with."""
        return store.read_document(self.path / "lock.json", LockDocument)

    @property
    def config_source(self) -> bytes:
        """The config as it was given."""
        return store.read_bytes(self.path / "config.yaml")

    @property
    def config(self) -> dict[str, Any]:
        """The config as it was resolved."""
        found = store.read_json(self.path / "config.json")
        if not isinstance(found, dict) or not isinstance(found.get("seed"), int):
            raise RecordError(
                f"{self.path / 'config.json'} is damaged: seed: missing; restore it from a copy of the run"
            )
        return found

    def require_config(self, config: Mapping[str, Any]) -> None:
        """Raise ConfigError that names a key in which the resolved `config` differs from the one of this run."""
        if key := store.difference(self.config, config):
            raise ConfigError(f"{key}: differs from what {self.path} was started with; set it back, or start a new run")

    def events(self) -> list[Event]:
        """All events; their chain is verified."""
        return read_events(self.path / "events.jsonl")

    def round_folder(self, round_: int) -> Path:
        """Folder of a round."""
        return self.path / "rounds" / f"{round_:03d}"

    def player_folder(self, player: str) -> Path:
        """Folder of a player, whatever characters the name has."""
        return self.path / "players" / folder_name(player)

    def repo_path(self, player: str) -> Path:
        """Where a player's codebase is."""
        return self.player_folder(player) / "repo.git"

    def repo(self, player: str) -> Repo:
        """A player's codebase."""
        return Repo(self.repo_path(player))

    def rounds(self) -> list[int]:
        """Numbers of the closed rounds."""
        return sorted(int(path.parent.name) for path in (self.path / "rounds").glob("[0-9]*/round.json"))

    def has_round(self, round_: int) -> bool:
        """Whether `round_` is closed."""
        return (self.round_folder(round_) / "round.json").is_file()

    def round(self, round_: int) -> RoundDocument:
        """The document of a closed round."""
        path = self.round_folder(round_) / "round.json"
        document = store.read_document(path, RoundDocument)
        if document.round != round_:
            raise RecordError(f"{path} is of round {document.round}; it was put into the wrong folder")
        return document

    def matches(self, round_: int) -> list[MatchRecord]:
        """Matches of `round_` by matchup, pair and rotation; of a round not yet closed, those that are finished."""
        folder = self.round_folder(round_)
        if self.has_round(round_):
            return self._checked(round_, _joined(folder / "matches.jsonl.gz"))
        return self._checked(round_, _parts(folder / "parts"))

    def finished_pairs(self, round_: int) -> set[tuple[int, int]]:
        """(matchup, pair) of every pair that was played in all rotations."""
        return _whole_pairs(self.matches(round_))

    def _checked(self, round_: int, found: Iterable[tuple[str, MatchRecord]]) -> list[MatchRecord]:
        root = self.config["seed"]
        matches: dict[str, MatchRecord] = {}
        for where, match in found:
            _check_match(match, round_, root, where)
            if match.match_id in matches:
                raise RecordError(f"{where}: match {match.match_id} is there twice; remove the file that is too many")
            matches[match.match_id] = match
        return sorted(matches.values(), key=lambda match: (match.matchup, match.pair, match.rotation))

    def replay(self, match: str) -> Any:
        """The recorded replay of the match with id `match`."""
        return store.read_json(self._replay_path(match))

    def replays(self, round_: int) -> list[str]:
        """Ids of the matches of `round_` that have a replay."""
        found = (self.round_folder(round_) / "replays").glob("[0-9]*.json.gz")
        return sorted(path.name.removesuffix(".json.gz") for path in found)

    def _replay_path(self, match: str) -> Path:
        parts = _MATCH_ID.fullmatch(match)
        if parts is None:
            raise RecordError(f"{match!r} names no match; an id looks like 003-01-0007-1")
        return self.round_folder(int(parts[1])) / "replays" / f"{match}.json.gz"

    def has_edit(self, player: str, round_: int) -> bool:
        """Whether the player's edit of `round_` is finished."""
        return (self.player_folder(player) / f"{round_:03d}.edit.json").is_file()

    def edit(self, player: str, round_: int) -> EditDocument:
        """A finished edit."""
        return store.read_document(self.player_folder(player) / f"{round_:03d}.edit.json", EditDocument)

    def all_steps(self, player: str, round_: int) -> list[StepDocument]:
        """Steps of every attempt at the edit of `round_`, in the order they were done."""
        path = self._steps_path(player, round_)
        return [step for _, step in store.read_lines(path, StepDocument)] if path.exists() else []

    def steps(self, player: str, round_: int) -> list[StepDocument]:
        """Steps of the attempt that counts: the finished one, or the last."""
        attempt = self.edit(player, round_).attempt if self.has_edit(player, round_) else self.attempts(player, round_)
        return [step for step in self.all_steps(player, round_) if step.attempt == attempt]

    def _steps_path(self, player: str, round_: int) -> Path:
        return self.player_folder(player) / f"{round_:03d}.steps.jsonl"

    def ledger(self, player: str) -> list[LedgerDocument]:
        """Everything the player spent, in order."""
        path = self.player_folder(player) / "ledger.jsonl"
        return [entry for _, entry in store.read_lines(path, LedgerDocument)] if path.exists() else []

    def attempts(self, player: str, round_: int) -> int:
        """How many attempts at the edit of `round_` were begun."""
        return max((entry.attempt for entry in self.ledger(player) if entry.round == round_), default=0)

    def spend(self, player: str, round_: int | None = None) -> Spend:
        """Sum of the player's ledger, over all attempts, of one round or of all."""
        entries = [entry for entry in self.ledger(player) if round_ is None or entry.round == round_]
        return total(Spend(tokens=entry.tokens, cost=entry.cost) for entry in entries)


class RecordWriter(Record):
    """A run, to be written. Holds the lock until `close`; a context manager.

    `warnings` says what had to be repaired. Players may be recorded from threads of their own; rounds from one.
    """

    def __init__(self, path: Path) -> None:
        """Raises RecordError if another process writes to the run."""
        super().__init__(path)
        self._run_lock = threading.Lock()
        with ExitStack() as stack:
            stack.callback(os.close, store.take_lock(path / LOCK))
            self._clear_leftovers()
            line_files = sorted((path / "players").glob("*/*.jsonl"))
            self._events = EventLog(path / "events.jsonl")
            stack.callback(self._events.close)
            self.warnings = [*filter(None, (self._events.warning, *map(store.repair_tail, line_files)))]
            for warning in self.warnings:
                self.event("repaired", warning=warning)
            self._held = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write; idempotent."""
        self._held.close()

    def _clear_leftovers(self) -> None:
        for pattern in ("*", "rounds/*/*", "rounds/*/parts/*", "rounds/*/replays/*", "players/*/*"):
            for path in self.path.glob(f"{pattern}{store.TEMPORARY}"):
                if path.name.startswith("."):
                    path.unlink()
        for folder in (self.path / "rounds").glob("[0-9]*"):
            if self.has_round(int(folder.name)):
                _remove_parts(folder)
            else:
                (folder / "matches.jsonl.gz").unlink(missing_ok=True)

    def event(self, type_: str, /, **data: Any) -> Event:
        """Append an event."""
        return self._events.append(type_, **data)

    def write_run(self, run: RunDocument) -> None:
        """Say where the run stands."""
        with self._run_lock:
            store.write_atomic(self.path / RUN, store.to_json(run))

    def write_part(
        self, matches: Sequence[MatchRecord], replays: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """Record a finished batch: whole pairs of one matchup of an open round. `replays` are by match id.

        Raises RecordError for a batch that does not belong here or is here already.
        """
        first = matches[0]
        folder, root = self._open_round(first.round), self.config["seed"]
        for match in matches:
            _check_match(match, first.round, root, "batch")
        if {match.matchup for match in matches} != {first.matchup}:
            raise RecordError(f"batch of match {first.match_id}: it holds matches of several matchups")
        if {(match.matchup, match.pair) for match in matches} != _whole_pairs(matches):
            raise RecordError(f"batch of match {first.match_id}: a pair lacks rotations")
        path = folder / "parts" / f"{first.matchup:02d}-{min(match.pair for match in matches):06d}.json.gz"
        if path.exists():
            raise RecordError(f"{path} is there already; a batch is recorded once")
        for name, raw in (replays or {}).items():
            store.write_atomic(self._replay_path(name), store.pack(store.to_json(raw)), durable=False)
        store.write_atomic(path, store.pack(store.to_json(PartDocument(matches=tuple(matches)))))

    def _open_round(self, round_: int) -> Path:
        if self.has_round(round_):
            raise RecordError(f"round {round_} of {self.path} is closed; it never changes")
        folder = self.round_folder(round_)
        for part in ("parts", "replays"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        return folder

    def close_round(self, document: RoundDocument) -> None:
        """Join the parts of the round and commit it. Raises RecordError if `document` does not fit its matches."""
        folder, matches = self._open_round(document.round), self.matches(document.round)
        for index, result in enumerate(document.matchups):
            there = sum(match.matchup == index for match in matches)
            if there != result.played:
                raise RecordError(f"{folder}: matchup {index} has {there} matches, its result says {result.played}")
        store.write_atomic(folder / "matches.jsonl.gz", store.pack(store.to_lines(matches)))
        wanted = {match.match_id for match in matches if match.replay}
        for name in set(self.replays(document.round)) - wanted:
            self._replay_path(name).unlink()
        self._events.sync()
        store.write_atomic(folder / "round.json", store.to_json(document))
        _remove_parts(folder)

    def begin_attempt(self, player: str, round_: int) -> int:
        """Start an attempt at an edit; its number, from 1. Raises RecordError if the edit is finished."""
        if self.has_edit(player, round_):
            raise RecordError(f"the edit of {player!r} in round {round_} is finished; it is never done again")
        attempt = self.attempts(player, round_) + 1
        self.charge(player, round_, attempt, "begin", Spend(tokens=0, cost=0.0))
        return attempt

    def charge(self, player: str, round_: int, attempt: int, what: str, spend: Spend) -> None:
        """Put money and tokens on the player's ledger, for good. `what`: a word on what it was for."""
        entry = LedgerDocument(
            round=round_, attempt=attempt, what=what, tokens=spend.tokens, cost=spend.cost, time=now()
        )
        store.append_line(self._player(player) / "ledger.jsonl", store.to_json(entry))

    def append_step(self, step: StepDocument) -> None:
        """Record a step; it outlives any kill."""
        self._player(step.player)
        store.append_line(self._steps_path(step.player, step.round), store.to_json(step))

    def write_edit(self, edit: EditDocument) -> None:
        """Finish an edit."""
        store.write_atomic(self._player(edit.player) / f"{edit.round:03d}.edit.json", store.to_json(edit))

    def _player(self, player: str) -> Path:
        folder = self.player_folder(player)
        folder.mkdir(exist_ok=True)
        return folder


def _remove_parts(folder: Path) -> None:
    if (folder / "parts").exists():
        shutil.rmtree(folder / "parts")


def _joined(path: Path) -> Iterator[tuple[str, MatchRecord]]:
    for number, (_, match) in enumerate(store.read_lines(path, MatchRecord), 1):
        yield f"{path}: line {number}", match


def _parts(folder: Path) -> Iterator[tuple[str, MatchRecord]]:
    for path in sorted(folder.glob("[0-9]*.json.gz")):
        for match in store.read_document(path, PartDocument).matches:
            yield str(path), match


def _check_match(match: MatchRecord, round_: int, root: int, where: str) -> None:
    """Refuse a match that was put into the wrong folder, or is not of this run at all."""
    if match.round != round_:
        raise RecordError(f"{where}: match {match.match_id} is of round {match.round}, not {round_}; take it away")
    if match.match_id != match_id(match.round, match.matchup, match.pair, match.rotation):
        raise RecordError(f"{where}: match {match.match_id} is called otherwise than what it is; take it away")
    if match.seed != seeds.match_seed(root, match.round, match.matchup, match.pair):
        raise RecordError(f"{where}: match {match.match_id} has a seed of another run; take it away")


def _whole_pairs(matches: Iterable[MatchRecord]) -> set[tuple[int, int]]:
    by_pair = itertools.groupby(
        sorted(matches, key=lambda m: (m.matchup, m.pair, m.rotation)), key=lambda m: (m.matchup, m.pair)
    )
    groups = ((key, list(group)) for key, group in by_pair)
    return {key for key, group in groups if [m.rotation for m in group] == [*range(len(group[0].seats))]}
