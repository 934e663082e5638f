"""Names of players that break paths, shells and tables elsewhere."""

import re

import pytest

from tests.integration.runs import (
    Place,
    frozen,
    matches_of,
    scripted,
    strict_json,
)

NAMES = ["gpt-4.1", "org/model", "a b", "x;touch pwned", "é", "n" * 200]


def test_names_are_shown_as_they_are_and_break_nothing(place: Place) -> None:
    place.bot("legal")
    options = place.script("steps", {1: [{"run": "echo $0 > file"}]})
    players = [scripted(name, options, "legal") for name in NAMES[:4]] + [frozen(name, "legal") for name in NAMES[4:]]
    config = place.config(players)
    before = set(place.path.iterdir())
    place.arena("run", config, "--results", "results")
    assert set(place.path.iterdir()) - before == {place.path / "results"}
    assert not list(place.path.rglob("pwned"))
    (run,) = (place.path / "results").iterdir()
    (listed,) = strict_json(place.arena("list", "results", "--json").stdout)
    assert listed["players"] == NAMES
    shown = strict_json(place.arena("show", run, "--json").stdout)
    assert sorted(shown["rounds"][1]["standings"]) == sorted(NAMES)
    for text in (
        place.arena("list", "results").stdout,
        place.arena("show", run).stdout,
        place.arena("replay", run).stdout,
    ):
        joined = re.sub(r"[\s│]+", "", text)
        assert all(re.sub(r"\s", "", name) in joined for name in NAMES), text
    match = next(match for match in matches_of(run) if set(match.seats) == {"org/model", "x;touch pwned"})
    said = place.arena("replay", run, match.match_id, "--frame", "-1").stdout
    assert f"seats 0={match.seats[0]} 1={match.seats[1]};" in said
    place.arena("verify", run, "-n", "3")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["../x", "b"], "players.0.name: a name must not be a path"),
        (["b", "/etc"], "players.1.name: a name must not be a path"),
        (["a", "a"], "players: 'a' and 'a' are the same name"),
        (["Ann", "aNN"], "players: 'Ann' and 'aNN' are the same name"),
        (["a", "n" * 201], "players.1.name: String should have at most 200 characters"),
        (["a", "b\n"], "players.1.name: use printable characters"),
    ],
)
def test_names_that_are_paths_or_given_twice_are_refused(place: Place, names: list[str], said: str) -> None:
    place.bot("legal")
    config = place.config([frozen(name, "legal") for name in names])
    before = set(place.path.iterdir())
    refused = place.arena("run", config, code=2).stderr
    assert said in refused
    assert str(config) in refused
    assert set(place.path.iterdir()) == before
