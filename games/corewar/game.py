"""Core War on pMARS: warriors in Redcode fight for the memory of a simulated machine."""

import hashlib
import json
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from arena.errors import GameError, SubmissionError
from arena.game import Baseline, EngineGame, GameConfig
from arena.sandbox.base import Backend
from arena.seeds import derive
from arena.types import Batch, Code, Fault, FaultKind, Limits, Outcome, Played, Verdict, seat_order
from games.corewar import pmars, replay, warrior
from games.corewar.engine import Battle, Mars, Result, opened
from games.corewar.settings import MAX_SEATS, CoreWarConfig
from games.corewar.warrior import Warrior

_CHUNK_STEPS = 12_000_000  # instructions a process may have to execute: an eighth of a second, so that results flow
_WEAKEST_FIRST = ("gate", "vampire", "dwarf", "scanner", "stone", "paper", "quickpaper")
_STAND_IN = b"dat.f #0, #0\n"  # sits where a warrior that does not assemble would have stood, and dies at once
_LAST_POSITION = 2**30  # pMARS's own bound of -F


class CoreWar(EngineGame):
    """The game. A submission is the file `warrior.red`; scores are those of pMARS: (W*W-1)/S for each survivor."""

    id: ClassVar[str] = "corewar"
    version: ClassVar[str] = "1"
    seats: ClassVar[tuple[int, ...]] = tuple(range(2, MAX_SEATS + 1))
    Config: ClassVar[type[GameConfig]] = CoreWarConfig
    batch_pairs: ClassVar[int] = 256  # a third of a millisecond a battle: opening the sandbox must not weigh more
    folder: ClassVar[Path] = Path(__file__).parent

    config: CoreWarConfig

    @classmethod
    def setup(cls, source: Path | None) -> str:
        """Get and build pMARS, see `pmars.setup`. Raises ConfigError, PrerequisiteError."""
        return f"built {pmars.setup(source)}"

    def brief(self) -> str:
        """The rules, with this tournament's settings where they are not the usual ones."""
        changed = [
            f"{key} {value}" for key, value in self.config if value != type(self.config).model_fields[key].default
        ]
        note = f"\n## Settings of this tournament\n\nOther than above: {', '.join(changed)}.\n" if changed else ""
        return super().brief() + note

    def house_bots(self) -> Mapping[str, Path]:
        """Name to folder, weakest first (mean points against one another and the baselines)."""
        return dict(sorted(super().house_bots().items(), key=lambda bot: _WEAKEST_FIRST.index(bot[0])))

    def validate(self, code: Code, backend: Backend, limits: Limits, *, trusted: bool) -> Verdict:
        """Whether pMARS assembles the warrior. Raises SandboxError, PrerequisiteError."""
        try:
            source = warrior.source_of(code)
            with opened(backend, self.config, limits, "corewar-validate", trusted=trusted) as mars:
                mars.assemble(source, min(self.seats))
        except SubmissionError as error:
            return Verdict(False, str(error))
        return Verdict(True)

    def play(self, batch: Batch, backend: Backend) -> Iterator[Played]:
        """Play every pair in all rotations. Raises SandboxError, GameError, PrerequisiteError."""
        label = f"corewar-{batch.round}-{batch.matchup}"
        with opened(backend, self.config, batch.limits, label, trusted=all(batch.trusted)) as mars:
            ready = [_assembled(mars, code, len(batch.codes)) for code in batch.codes]
            stand_in = mars.assemble(_STAND_IN, len(batch.codes)) if None in ready else None
            warriors = [one or stand_in for one in ready]
            for played in self._battles(batch, mars, [one for one in warriors if one is not None]):
                yield _with_forfeits(batch, played, [one is None for one in ready])

    def _battles(self, batch: Batch, mars: Mars, warriors: Sequence[Warrior]) -> Iterator[Played]:
        seats = len(warriors)
        size = max(1, _CHUNK_STEPS // (seats * seats * self.config.max_cycles))
        for first in range(0, len(batch.pairs), size):
            pairs = batch.pairs[first : first + size]
            battles = [Battle(k, self.position(pair.seed)) for pair in pairs for k in range(seats)]
            owners = [pair for pair in pairs for _ in range(seats)]
            started = time.monotonic()
            results = mars.play(warriors, battles)
            seconds = (time.monotonic() - started) / len(battles)
            replays = self._replays(mars, warriors, battles, results, [pair.index < batch.replays for pair in owners])
            for pair, battle, result, raw in zip(owners, battles, results, replays, strict=True):
                outcome = self._outcome(warriors, battle, result, raw)
                yield Played(pair.index, battle.rotation, pair.seed, outcome, "engine", seconds)

    def _replays(
        self,
        mars: Mars,
        warriors: Sequence[Warrior],
        battles: Sequence[Battle],
        results: Sequence[Result],
        wanted: Sequence[bool],
    ) -> Iterator[dict[str, Any] | None]:
        """For each battle its replay, or None where none is wanted; the traced battle must be the one that counted."""
        for battle, result, is_wanted in zip(battles, results, wanted, strict=True):
            if not is_wanted:
                yield None
                continue
            (traced,) = mars.play(warriors, [battle], trace=True)
            if _decided(traced) != _decided(result):
                raise GameError(
                    f"the traced battle at {battle.position} ended otherwise: {_decided(traced)}, {_decided(result)}"
                )
            yield replay.keep(traced, self.config)

    def _outcome(
        self, warriors: Sequence[Warrior], battle: Battle, result: Result, raw: dict[str, Any] | None
    ) -> Outcome:
        seats = len(warriors)
        by_seat = [warriors[(seat + battle.rotation) % seats].numbers for seat in range(seats)]
        decided = [self.id, self.version, self.config.model_dump(), by_seat, battle.position, _decided(result)]
        return Outcome(
            scores=tuple(float(score) for score in result.scores),
            turns=result.cycles,
            state_hash=_hash(decided),
            details={
                "position": battle.position,
                "survivors": result.survivors,
                "alive_at_death": list(result.alive_at_death),
            },
            replay=raw,
        )

    def position(self, seed: int) -> int:
        """pMARS's -F for a pair's seed: places the warriors, the same in every rotation."""
        first = self.config.min_distance + 1  # one less would start pMARS's generator at 0, where it stays
        return first + derive(seed, "position") % (_LAST_POSITION - first)

    def frames(self, raw: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Frames of a recorded replay, first to last; the last one has the scores."""
        return replay.frames(raw)

    def render(self, frame: Mapping[str, Any]) -> str:
        """The core as text, with the standings below."""
        return replay.text(frame)

    def tools(self) -> Mapping[str, Path]:
        """pMARS itself, where it is built."""
        found = pmars.locate()
        return {"pmars": found} if found else {}

    def prerequisites(self) -> Iterable[str]:
        """The missing pMARS, with the way to get it."""
        return pmars.prerequisites()

    def baselines(self) -> Mapping[str, Baseline]:
        """The human-written warriors of `baselines.toml` that are on this machine."""
        listed = tomllib.loads((self.folder / "baselines.toml").read_text(encoding="utf-8"))["baseline"]
        engine = pmars.engine()
        folder = engine.warriors if engine else pmars.PACKAGED_WARRIORS
        return {entry["name"]: _baseline(entry, folder) for entry in listed if (folder / entry["file"]).is_file()}


def _assembled(mars: Mars, code: Code, seats: int) -> Warrior | None:
    """The warrior of `code`; None where it is invalid: why is for its owner alone, and `validate` tells it."""
    try:
        return mars.assemble(warrior.source_of(code), seats)
    except SubmissionError:
        return None


def _with_forfeits(batch: Batch, played: Played, rejected: Sequence[bool]) -> Played:
    """`played`, with the faults of those for whom a stand-in took the seat."""
    if played.outcome is None or not any(rejected):
        return played
    order = seat_order(len(rejected), played.rotation)
    faults = tuple(
        Fault(seat, *_why(batch, batch.players[player])) for seat, player in enumerate(order) if rejected[player]
    )
    scores = tuple(0.0 if rejected[player] else played.outcome.scores[seat] for seat, player in enumerate(order))
    return replace(played, outcome=replace(played.outcome, faults=faults, scores=scores))


def _why(batch: Batch, player: str) -> tuple[FaultKind, str]:
    if player in batch.absent:
        return "invalid_submission", batch.absent[player]
    return "rejected", f"{warrior.FILE} is not valid"


def _decided(result: Result) -> list[Any]:
    return [result.cycles, result.survivors, list(result.scores), list(result.alive_at_death)]


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _baseline(entry: Mapping[str, Any], folder: Path) -> Baseline:
    """Author and title come from the warrior's own header where it has them."""
    path = folder / entry["file"]
    headers = _headers(path.read_text(encoding="latin-1"))
    return Baseline(
        name=entry["name"],
        title=headers.get("name", entry["title"]),
        author=headers.get("author", entry["author"]),
        source=entry["source"],
        licence=entry["licence"],
        year=entry.get("year"),
        files={warrior.FILE: path},
    )


def _headers(source: str) -> dict[str, str]:
    """Of lines like ";name Rave" the first of each kind."""
    found: dict[str, str] = {}
    for line in source.splitlines():
        key, _, value = line.removeprefix(";").strip().partition(" ")
        if line.startswith(";") and key.lower() in {"name", "author"} and value.strip():
            found.setdefault(key.lower(), value.strip())
    return found
