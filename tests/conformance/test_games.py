from collections.abc import Collection, Sequence

import pytest

from arena import registry
from arena.conformance import Check, check_game
from arena.conformance.again import elsewhere
from arena.conformance.check import perform
from arena.conformance.game import _plausible, _probes
from arena.conformance.matches import Arena
from arena.errors import ConfigError, GameError, PrerequisiteError
from arena.sandbox.select import backend, choose

PROCESS = backend("process")
DOUBLES = "tests.conformance.doubles"


SLOW = {"silence", "hang", "closed pipe", "100 MB of log"}


def quick(name: str) -> Sequence[Check]:
    """What the suite finds of a double, without the checks that wait for seconds."""
    arena = Arena(f"{DOUBLES}:{name}", {}, registry.game(f"{DOUBLES}:{name}"), PROCESS)
    probes = [(called, probe) for called, probe in _probes(arena) if called not in SLOW]
    return list(perform(probes, blame=GameError))


def failed(name: str, checks: Collection[str]) -> set[str]:
    """Which of `checks` the double fails."""
    arena = Arena(f"{DOUBLES}:{name}", {}, registry.game(f"{DOUBLES}:{name}"), PROCESS)
    probes = [(called, probe) for called, probe in _probes(arena) if called in checks]
    assert len(probes) == len(checks)
    return {check.name for check in perform(probes, blame=GameError) if check.passed is False}


@pytest.mark.parametrize("name", registry.names("games"))
def test_every_registered_game_passes(name: str) -> None:
    try:
        checks = list(check_game(name, choose("auto", ()).backend))
    except PrerequisiteError as error:
        pytest.skip(str(error))
    assert [check for check in checks if check.passed is False] == []
    assert sum(check.passed is True for check in checks) > 15


@pytest.mark.parametrize("name", ["Guess", "Duel"])
def test_honest_games_pass(name: str) -> None:
    checks = quick(name)
    assert [check for check in checks if check.passed is False] == []
    omitted = {check.name for check in checks if check.passed is None}
    assert omitted == ({"no network from inside"} if name == "Guess" else set())


@pytest.mark.parametrize(
    ("name", "caught"),
    [
        ("HashDependent", {"same result in another process"}),
        ("SeedTelling", {"observations"}),
        ("DisturbedByLooking", {"observations", "replays end in the recorded result"}),
        ("Nondeterministic", {"same seed, same result", "replays end in the recorded result"}),
        ("Lenient", {"illegal move", "illegal move in mid-match"}),
        ("Touchy", {"odd replies", "illegal move"}),
        ("DeafToForfeits", {"crash", "everybody falls out"}),
        ("ForgetfulDetails", {"same seed, same result", "replays end in the recorded result"}),
        ("Versionless", {"files"}),
        ("LaxSettings", {"unknown settings refused"}),
        ("Unrotated", {"seats are swapped", "invalid code forfeits on its own seat"}),
        ("LyingReplay", {"replays end in the recorded result"}),
        ("Credulous", {"invalid: binary files", "invalid: no files", "invalid code forfeits on its own seat"}),
    ],
)
def test_a_broken_game_is_caught_by_name(name: str, caught: set[str]) -> None:
    assert failed(name, caught) == caught


def test_only_the_broken_part_is_called_broken() -> None:
    wrong = [check for check in quick("Unfair") if check.passed is False]
    assert [check.name for check in wrong] == ["seats are fair"]
    assert "starter [100, 0]" in wrong[0].detail


def test_settings_reach_the_game_and_are_checked() -> None:
    with pytest.raises(ConfigError, match="no_such"):
        list(check_game("battlesnake", PROCESS, {"no_such": 1}))


def test_what_this_machine_lacks_is_no_failure() -> None:
    with pytest.raises(PrerequisiteError, match="buy dice"):
        list(check_game(f"{DOUBLES}:Unplayable", PROCESS))


def test_a_game_that_another_process_cannot_load_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.GAMES, "here-only", f"{DOUBLES}:Guess")
    arena = Arena("here-only", {}, registry.game("here-only"), PROCESS)
    with pytest.raises(GameError, match="here-only"):
        elsewhere(arena, pairs=1, hash_seed=1)


@pytest.mark.parametrize(
    ("count", "trials", "share", "plausible"),
    [
        (50, 100, 0.5, True),
        (62, 100, 0.5, True),
        (100, 100, 0.5, False),
        (20, 100, 0.5, False),
        (0, 20, 0.5, False),
        (33, 100, 1 / 3, True),
        (60, 100, 1 / 3, False),
    ],
)
def test_binomial_bounds(count: int, trials: int, share: float, plausible: bool) -> None:
    assert _plausible(count, trials, share) is plausible
