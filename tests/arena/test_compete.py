"""The competition phase: batches played once, lost ones again, late bots judged again alone."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from arena import compete, registry
from arena.errors import GameError, SandboxError
from arena.listener import Listener
from arena.sandbox.process import ProcessBackend
from arena.types import Batch, Code, Outcome, Pair, Played
from tests.arena.parts import GUESS, LIMITS, PICK, batch, code, guess, python_bot
from tests.conformance.doubles import Duel

DUEL = "tests.conformance.doubles:Duel"


class Here:
    """An executor in this very process; `lose` says which units, by number, are lost with their worker."""

    workers = 1

    def __init__(self, lose: Callable[[int], bool] = lambda _: False) -> None:
        self._lose, self.units = lose, 0

    def submit(self, unit: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.units += 1
        try:
            if self._lose(self.units):
                raise SandboxError("a worker process died")
            future.set_result(unit(*arguments))
        except (SandboxError, GameError) as error:
            future.set_exception(error)
        return future

    def close(self) -> None: ...

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None: ...


class Heard(Listener):
    def __init__(self) -> None:
        self.matches, self.phases = 0, []

    def played(self, matches: int) -> None:
        self.matches += matches

    def phase(self, round_: int, name: str) -> None:
        self.phases.append(name)


def run(batches: Sequence[Batch], executor: Here, heard: Listener | None = None) -> list[tuple[Batch, list[Played]]]:
    kept: list[tuple[Batch, list[Played]]] = []
    compete.run_batches(batches, executor, heard or Listener(), lambda asked, played: kept.append((asked, played)))
    return kept


def split(asked: Batch, size: int) -> list[Batch]:
    return compete.batches_of(asked, asked.pairs, size)


def test_every_batch_is_kept_once_and_whole() -> None:
    heard, batches = Heard(), split(batch(python_bot(), python_bot(), pairs=5), 2)
    kept = run(batches, Here(), heard)
    assert sorted((asked.pairs[0].index, len(played)) for asked, played in kept) == [(0, 4), (2, 4), (4, 2)]
    assert all(asked in batches for asked, _ in kept)
    assert (heard.matches, heard.phases) == (10, [])


def test_a_lost_batch_is_played_again() -> None:
    batches = split(batch(python_bot(), python_bot(), pairs=3), 1)
    executor = Here(lambda unit: unit in (2, 4))
    kept = run(batches, executor)
    assert sorted(asked.pairs[0].index for asked, _ in kept) == [0, 1, 2]
    assert executor.units == 5


def test_a_batch_lost_three_times_pauses_the_run_after_the_others_were_kept() -> None:
    batches = split(batch(python_bot(), python_bot(), pairs=3), 1)
    kept: list[int] = []
    executor = Here(lambda unit: unit in (1, 4, 5))
    with pytest.raises(SandboxError, match="a worker process died"):
        compete.run_batches(batches, executor, Listener(), lambda asked, _: kept.append(asked.pairs[0].index))
    assert sorted(kept) == [1, 2]
    assert executor.units == 5


LATE_ONCE = """
import os, pathlib
def move(state):
    mark = pathlib.Path("@MARK@")
    if not mark.exists():
        mark.touch()
        while True: pass
    return {"pick": 42}
"""


def test_a_timeout_counts_only_as_far_as_it_is_confirmed_alone(tmp_path: Any) -> None:
    once = python_bot(LATE_ONCE.replace("@MARK@", str(tmp_path / "mark")))
    heard, executor = Heard(), Here()
    ((_, played),) = run([batch(once, python_bot())], executor, heard)
    assert [each.rechecked for each in played] == [True, False]
    assert not any(each.outcome.faults for each in played if each.outcome)
    assert heard.phases == ["recheck"]
    assert executor.units == 2


def test_a_worker_lost_over_a_second_judgement_is_tried_again(tmp_path: Any) -> None:
    once = python_bot(LATE_ONCE.replace("@MARK@", str(tmp_path / "mark")))
    executor = Here(lambda unit: unit in (2, 3))
    ((_, played),) = run([batch(once, python_bot())], executor)
    assert [each.rechecked for each in played] == [True, False]
    assert executor.units == 4


def test_of_a_slow_player_three_confirmed_timeouts_are_enough() -> None:
    slow = python_bot("def move(state):\n    while True: pass\n")
    limits = replace(LIMITS, start_seconds=0.05, move_seconds=0.05)
    executor = Here()
    batches = split(batch(slow, python_bot(), pairs=3, limits=limits), 2)
    kept = run(batches, executor)
    played = [each for _, matches in kept for each in matches]
    assert [each.rechecked for each in played] == [True] * 3 + [False] * 3
    assert all(each.outcome and each.outcome.faults[0].kind == "start_timeout" for each in played)
    assert executor.units == 2 + compete.MAX_RECHECKS


def test_batches_with_timeouts_come_last_and_in_order() -> None:
    slow = python_bot("def move(state):\n    while True: pass\n")
    limits = replace(LIMITS, start_seconds=0.05, move_seconds=0.05)
    late = [replace(each, matchup=1) for each in split(batch(slow, python_bot(), pairs=2, limits=limits), 1)]
    good = split(batch(python_bot(), python_bot(), pairs=2), 1)
    kept = run([late[1], good[0], late[0], good[1]], Here())
    order = [(asked.matchup, asked.pairs[0].index) for asked, _ in kept]
    assert sorted(order[:2]) == [(0, 0), (0, 1)]
    assert order[2:] == [(1, 0), (1, 1)]


class Forgetful(Duel):
    """Gives no result for the second half of its matches."""

    def play(self, batch: Batch, backend: Any) -> Iterator[Played]:
        whole = list(super().play(batch, backend))
        yield from whole[: len(whole) // 2]


class Repeating(Duel):
    def play(self, batch: Batch, backend: Any) -> Iterator[Played]:
        for each in super().play(batch, backend):
            yield each
            yield each


class Stale(Duel):
    """Gives last round's results: those of other seeds."""

    def play(self, batch: Batch, backend: Any) -> Iterator[Played]:
        for each in super().play(batch, backend):
            yield replace(each, seed=each.seed + 1)


class Inventive(Duel):
    def play(self, batch: Batch, backend: Any) -> Iterator[Played]:
        yield from super().play(replace(batch, pairs=(*batch.pairs, Pair(99, 1))), backend)


@pytest.mark.parametrize(
    ("game", "error", "says"),
    [
        ("Forgetful", SandboxError, "Forgetful gave 1 results for 2 matches"),
        ("Repeating", GameError, "Repeating gave a result for pair 0 rotation 0 of seed 1000 that nobody asked for"),
        ("Stale", GameError, "Stale gave a result for pair 0 rotation 0 of seed 1001 that nobody asked for"),
        ("Inventive", GameError, "Inventive gave a result for pair 99 rotation 0 of seed 1 that nobody asked for"),
    ],
)
def test_results_are_exactly_those_that_were_asked_for(game: str, error: type[Exception], says: str) -> None:
    number = code({"number.txt": "7"})
    with pytest.raises(error, match=says):
        compete.play(batch(number, number, game=f"tests.arena.test_compete:{game}"))


def test_engine_games_are_played_and_shown_by_themselves() -> None:
    game = registry.game(DUEL)
    asked = batch(code({"number.txt": "7"}), code({"number.txt": "9"}), pairs=2, game=DUEL)
    played = compete.play(asked)
    assert [each.hosting for each in played] == ["engine"] * 4
    assert played[0].outcome is not None
    assert played[0].outcome.replay is not None
    assert [frame["scores"] for frame in compete.frames(game, played[0].outcome.replay)] == [
        list(played[0].outcome.scores)
    ]


def test_turn_games_are_shown_by_playing_their_moves_again() -> None:
    (first, _) = compete.play(batch(python_bot(), python_bot()))
    assert first.outcome is not None
    assert first.outcome.replay is not None
    frames = list(compete.frames(guess(), first.outcome.replay))
    assert [frame["turn"] for frame in frames] == list(range(6))
    assert frames[-1]["scores"] == list(first.outcome.scores)


@pytest.mark.parametrize(
    ("game", "submission", "reason"),
    [
        (GUESS, python_bot(), ""),
        (GUESS, code({"main.py": PICK}), "bot.toml is missing"),
        (
            GUESS,
            python_bot("raise ValueError('x')\n"),
            "crash on the first move: ended with exit code 1: ValueError: x",
        ),
        (GUESS, code({"bot.toml": "x = " + "[" * 8000}), "bot.toml is no valid TOML"),
        (DUEL, code({"number.txt": "7"}), ""),
        (DUEL, code({"number.txt": "many"}), "number.txt holds no number"),
    ],
)
def test_a_submission_is_valid_or_has_a_reason(game: str, submission: Code, reason: str) -> None:
    prepared = compete.prepare(game, {}, submission, LIMITS, "process", True)
    assert prepared.verdict.valid == (reason == "")
    assert prepared.verdict.reason.startswith(reason)
    assert prepared.code == (None if reason else submission)


def test_untrusted_code_is_nothing_for_a_sandbox_that_isolates_nothing() -> None:
    with pytest.raises(SandboxError, match="is not trusted"):
        compete.prepare(GUESS, {}, python_bot(), LIMITS, "process", False)


@pytest.mark.parametrize(
    ("pairs", "most", "size"),
    [(0, 64, 1), (1, 64, 1), (8, 64, 1), (9, 64, 2), (400, 64, 50), (10_000, 64, 64), (9, 1, 1)],
)
def test_batches_are_few_but_enough_for_several_cores(pairs: int, most: int, size: int) -> None:
    assert compete.batch_size(pairs, most) == size


def test_void_matches_are_not_counted_as_played() -> None:
    class Spoilt(Here):
        def submit(self, unit: Callable[..., Any], *arguments: Any) -> "Future[Any]":
            future = super().submit(unit, *arguments)
            played = future.result()
            played.insert(0, Played(0, 0, played[0].seed, None, "fresh", 0.1, "lost"))
            return future

    heard = Heard()
    ((_, played),) = run([batch(python_bot(), python_bot())], Spoilt(), heard)
    assert len(played) == 3
    assert heard.matches == 2


def test_matches_come_as_they_are_finished() -> None:
    coming = compete.matches(guess(), batch(python_bot(), python_bot(), pairs=2), ProcessBackend())
    first = next(coming)
    assert isinstance(first.outcome, Outcome)
    coming.close()  # type: ignore[attr-defined]
