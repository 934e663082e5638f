"""The suite for games: files, determinism, fairness, faults, replays."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arena import registry, tree
from arena.conformance import engine, turn
from arena.conformance.again import elsewhere
from arena.conformance.check import Check, Omitted, Probe, demand, perform
from arena.conformance.matches import Arena, code_in, code_of_baseline, essence, outcome, with_contents
from arena.errors import GameError, PrerequisiteError
from arena.game import Baseline, TurnGame
from arena.sandbox.base import Backend
from arena.types import Code, FileEntry, Verdict, ranks_of, seat_order, winner_of

_REPEATED_PAIRS, _MIRROR_PAIRS = 3, 100
_ENOUGH = 20  # decisive matches, to say anything about fairness
_CHANCE = 1e-4  # of calling a fair game unfair, for each bot it is tried with
_OTHER_HASH_SEED = 4_242


def check_game(name: str, backend: Backend, config: Mapping[str, Any] | None = None) -> Iterator[Check]:
    """Carry out the suite on the game called `name`, with settings `config`, in sandboxes of `backend`.

    Raises ConfigError, PrerequisiteError before it starts.
    """
    game = registry.game(name, config)
    if missing := list(game.prerequisites()):
        raise PrerequisiteError(f"{name}: {'; '.join(missing)}")
    backend.check()
    yield from perform(_probes(Arena(name, dict(config or {}), game, backend)), blame=GameError)


def _probes(arena: Arena) -> Iterator[Probe]:
    for name, check in (
        ("files", files),
        ("unknown settings refused", unknown_settings),
        ("starter validates", starter_validates),
    ):
        yield name, partial(check, arena)
    for name, folder in arena.game.house_bots().items():
        yield f"house bot validates: {name}", partial(_folder_validates, arena, folder)
    for name, baseline in arena.game.baselines().items():
        yield f"baseline validates: {name}", partial(_baseline_validates, arena, baseline)
    for what, code in spoilt(arena.starter).items():
        yield f"invalid: {what}", partial(is_invalid, arena, code)
    for name, check in (
        ("same seed, same result", same_result),
        ("same result in another process", same_result_elsewhere),
        ("seats are swapped", seats_swapped),
        ("mirror match", mirror_match),
        ("seats are fair", seats_fair),
    ):
        yield name, partial(check, arena)
    yield from (turn if isinstance(arena.game, TurnGame) else engine).probes(arena)


def files(arena: Arena) -> str:
    """Everything that belongs to a game is there."""
    game = arena.game
    for name in ("rules.md", "board.js"):
        path = game.folder / name
        demand(path.is_file() and path.read_text(encoding="utf-8").strip(), f"{path} is missing or empty")
    demand(game.starter.is_dir(), f"the starter {game.starter} is missing")
    demand(isinstance(game.version, str) and game.version, "it has no version")
    demand(game.seats and all(seats > 0 for seats in game.seats), f"seats must be player counts, not {game.seats}")
    demand(list(game.seats) == sorted(set(game.seats)), f"seats must be ascending, not {game.seats}")
    demand(game.brief().strip(), "its brief is empty")
    return f"{game.id} version {game.version} for {', '.join(map(str, game.seats))}"


def unknown_settings(arena: Arena) -> str:
    """A misspelt setting is an error, not a default."""
    key = "no_setting_of_any_game"
    try:
        type(arena.game).Config.model_validate({**arena.settings, key: 1})
    except ValidationError as error:
        named = [each for each in error.errors() if key in each["loc"]]
        demand(named, f"refused, but not for the unknown key: {error.errors()[0]['msg']}")
        return str(named[0]["msg"])
    raise GameError(f"its settings accept the unknown key {key}")


def starter_validates(arena: Arena) -> str:
    """What every player starts from may play."""
    return validates(arena, arena.starter)


def validates(arena: Arena, code: Code) -> str:
    """`code` may play."""
    verdict = arena.verdict(code)
    demand(verdict.valid, f"invalid: {verdict.reason}")
    return f"tree {code.tree[:12]}"


def _folder_validates(arena: Arena, folder: Path) -> str:
    return validates(arena, code_in(folder))


def _baseline_validates(arena: Arena, baseline: Baseline) -> str:
    return validates(arena, code_of_baseline(baseline))


def spoilt(starter: Code) -> Mapping[str, Code]:
    """Codebases that no game can accept."""
    links = [FileEntry(entry.path, "symlink", b"/etc/passwd") for entry in starter.files]
    return {
        "no files": tree.code_of([]),
        "empty files": with_contents(starter, b""),
        "binary files": with_contents(starter, bytes(range(256)) * 16),
        "files of one endless line": with_contents(starter, b"x" * 1_000_000),
        "links to files of this machine": tree.code_of(links),
    }


def is_invalid(arena: Arena, code: Code) -> str:
    """`code` may not play, and its owner is told why in one line that gives nothing of this machine away."""
    verdict: Verdict = arena.verdict(code)
    demand(not verdict.valid, "it may play")
    demand(verdict.reason.strip(), "no reason is given")
    demand("\n" not in verdict.reason.strip(), f"the reason is more than a line: {verdict.reason!r}")
    demand("root:" not in verdict.reason, "the reason shows the content of a file of this machine")
    return verdict.reason[:200]


def same_result(arena: Arena) -> str:
    """Two plays of the same matches are equal."""
    first, second = ([essence(each) for each in _mirror(arena)] for _ in range(2))
    demand(first == second, _difference(first, second))
    return f"{len(first)} matches twice"


def same_result_elsewhere(arena: Arena) -> str:
    """Nor does it matter which process plays them, or how it hashes."""
    here = [essence(each) for each in _mirror(arena)]
    there = elsewhere(arena, _REPEATED_PAIRS, _OTHER_HASH_SEED)
    demand(here == there, _difference(here, there))
    return f"{len(here)} matches under another hash seed"


def _mirror(arena: Arena) -> list[Any]:
    return arena.play([arena.starter] * arena.few, _REPEATED_PAIRS)


def _difference(first: list[Any], second: list[Any]) -> str:
    differing = [index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
    if len(first) != len(second) or not differing:
        return f"{len(first)} matches the first time, {len(second)} the second"
    return f"match {differing[0]} of {len(first)} differs: {first[differing[0]]} and {second[differing[0]]}"


def seats_swapped(arena: Arena) -> str:
    """Every player sits on every seat once a pair, and credit follows the player.

    Players named in another order are the same match where the same code sits on the same seats.
    """
    if arena.many == 1:
        raise Omitted("a game for one")
    for seats in sorted({arena.few, arena.many}):
        rival = next((code_in(folder) for folder in arena.game.house_bots().values()), arena.starter)
        codes = [arena.starter, rival] + [arena.starter] * (seats - 2)
        ahead = arena.play(codes, 2)
        behind = arena.play(codes[1:] + codes[:1], 2)
        wanted = [(pair, rotation) for pair in range(2) for rotation in range(seats)]
        given = [(each.pair, each.rotation) for each in ahead]
        demand(given == wanted, f"{seats} seats: pairs and rotations {given} are played, not {wanted}")
        first = [essence(each) for each in ahead if each.rotation > 0]
        second = [essence(each) for each in behind if each.rotation < seats - 1]
        demand(first == second, f"{seats} seats: {_difference(first, second)}")
    return f"with {' and '.join(str(seats) for seats in sorted({arena.few, arena.many}))} seats"


def mirror_match(arena: Arena) -> str:
    """The same bot under several names: equal seats, equal wins, and no fault of its own."""
    if arena.few == 1:
        raise Omitted("a game for one")
    played = arena.play([arena.starter] * arena.few, _MIRROR_PAIRS // 2)
    wins: Counter[int | None] = Counter()
    for each in played:
        came = outcome(each)
        demand(not came.faults, f"the starter is at fault: {came.faults[:1]}")
        seat = winner_of(ranks_of(came.scores))
        wins[None if seat is None else seat_order(arena.few, each.rotation)[seat]] += 1
    shares = [wins[player] for player in range(arena.few)]
    demand(len(set(shares)) == 1, f"the copies of one bot won {shares} of {len(played)} matches with seats swapped")
    return f"{shares} wins, {wins[None]} draws in {len(played)} matches"


def seats_fair(arena: Arena) -> str:
    """No seat wins more mirror matches than chance allows.

    A bot may make a seat better by its own doing (one that always breaks down at the same time loses where it moves
    first), so a game counts as unfair only where no bot finds its seats fair.
    """
    if arena.few == 1:
        raise Omitted("a game for one")
    lopsided: list[str] = []
    for name, code in _bots(arena):
        wins = _wins_by_seat(arena, code)
        decisive = sum(wins)
        if decisive < _ENOUGH:
            continue
        if all(_plausible(count, decisive, 1 / arena.few) for count in wins):
            aside = f"; lopsided by its own doing: {', '.join(lopsided)}" if lopsided else ""
            return f"{name}: seats won {wins} of {_MIRROR_PAIRS}{aside}"
        lopsided.append(f"{name} {wins}")
    if not lopsided:
        raise Omitted(f"no bot decides {_ENOUGH} of {_MIRROR_PAIRS} matches against itself")
    raise GameError(f"every bot's mirror matches are lopsided, wins by seat: {'; '.join(lopsided)}")


def _bots(arena: Arena) -> Iterator[tuple[str, Code]]:
    yield "starter", arena.starter
    for name, folder in arena.game.house_bots().items():
        yield name, code_in(folder)


def _wins_by_seat(arena: Arena, code: Code) -> list[int]:
    """Of the pairs' first matches only: those of the other rotations are the same, since the code is."""
    wins = [0] * arena.few
    for each in arena.play([code] * arena.few, _MIRROR_PAIRS):
        came = outcome(each)
        if each.rotation == 0 and (seat := winner_of(ranks_of(came.scores, came.faults))) is not None:
            wins[seat] += 1
    return wins


def _plausible(count: int, trials: int, share: float) -> bool:
    """Whether a two-sided binomial test leaves `count` of `trials` to chance."""
    odds = [math.comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(trials + 1)]
    return 2 * min(sum(odds[: count + 1]), sum(odds[count:])) > _CHANCE
