"""Plays matches of the game under check, and tells what of an outcome must repeat."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from arena import build, compete, seeds, tree
from arena.errors import SandboxError
from arena.game import Baseline, Game, TurnGame
from arena.sandbox.base import Backend
from arena.types import Batch, Code, FileEntry, Limits, Outcome, Pair, Played, Verdict

_ROOT = 20_240_229  # of the suite's match seeds


@dataclass(frozen=True)
class Arena:
    """The game under check, as `name` and `settings` make it, and the sandboxes it is played in."""

    name: str
    settings: Mapping[str, Any]
    game: Game
    backend: Backend

    @property
    def few(self) -> int:
        """The smallest number of seats with an opponent, where the game has one."""
        return min((seats for seats in self.game.seats if seats > 1), default=1)

    @property
    def many(self) -> int:
        """The largest number of seats."""
        return max(self.game.seats)

    @cached_property
    def starter(self) -> Code:
        """The starter codebase."""
        return code_in(self.game.starter)

    def play(
        self, codes: Sequence[Code], pairs: int = 1, *, replays: int = 0, limits: Limits | None = None
    ) -> list[Played]:
        """`pairs` pairs of a matchup of `codes`, in order; always the same seeds.

        Raises SandboxError, GameError, SubmissionError where a build fails.
        """
        players = tuple(f"player-{index}" for index in range(len(codes)))
        seeded = tuple(Pair(index, seeds.match_seed(_ROOT, 0, 0, index)) for index in range(pairs))
        batch = Batch(
            self.game.id,
            self.settings,
            0,
            0,
            players,
            tuple(map(self._built, codes)),
            (True,) * len(codes),  # all that plays here is ours, the hostile bots too
            seeded,
            limits or self.game.limits,
            sandbox=self.backend.name,
            replays=replays,
        )
        return [played for played in compete.matches(self.game, batch, self.backend) if played.outcome is not None]

    def verdict(self, code: Code) -> Verdict:
        """Whether `code` may play. Raises SandboxError."""
        limits, place = self.game.limits, self.backend.name
        return compete.prepare(self.name, self.settings, code, limits, place, True).verdict

    def _built(self, code: Code) -> Code:
        """`code` as it plays: after its build step. Raises SubmissionError, SandboxError."""
        return build.built(code, self.backend, trusted=True) if isinstance(self.game, TurnGame) else code


def outcome(played: Played) -> Outcome:
    """The outcome of a match. Raises SandboxError for a void one."""
    if played.outcome is None:
        raise SandboxError(f"the match is void: {played.void}")
    return played.outcome


def essence(played: Played) -> list[Any]:
    """What must be equal where (game, settings, code, seats, seed) are; JSON-able, free of clocks and logs."""
    came = outcome(played)
    faults = [[fault.seat, fault.kind, fault.turn] for fault in came.faults]
    return [came.state_hash, list(came.scores), came.turns, faults, json.loads(json.dumps(came.details))]


def code_in(folder: Path) -> Code:
    """The codebase in `folder`. Raises ConfigError, SubmissionError, LimitExceeded."""
    return tree.code_of(tree.read_directory(folder))


def code_of_baseline(baseline: Baseline) -> Code:
    """The codebase of a baseline."""
    return tree.code_of([FileEntry(path.encode(), "file", file.read_bytes()) for path, file in baseline.files.items()])


def with_files(code: Code, *files: FileEntry) -> Code:
    """`code` with `files` added to it or put in place of what is there."""
    names = {file.path for file in files}
    return tree.code_of([entry for entry in code.files if entry.path not in names] + list(files))


def with_contents(code: Code, data: bytes) -> Code:
    """`code` with every regular file's content replaced by `data`."""
    return tree.code_of([entry if entry.kind == "symlink" else replace(entry, data=data) for entry in code.files])
