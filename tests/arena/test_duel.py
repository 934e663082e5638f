from pathlib import Path

import pytest

from arena import duel
from arena.duel import Duel
from arena.errors import ConfigError, SubmissionError
from arena.executor.local import LocalExecutor
from arena.listener import Listener
from tests.arena.parts import GUESS, guess
from tests.arena.test_compete import Here


def a_duel(*references: str, matches: int = 4, kept: bool = False) -> Duel:
    return Duel(GUESS, guess(), references, matches, seed=7, kept=kept, trusted=True)


class Heard(Listener):
    def __init__(self) -> None:
        self.told: list[object] = []

    def phase(self, round_: int, name: str) -> None:
        self.told.append(name)

    def planned(self, matches: int, done: int) -> None:
        self.told.append((matches, done))

    def played(self, matches: int) -> None:
        self.told.append(matches)


def test_both_bots_play_every_seed_from_both_seats() -> None:
    heard = Heard()
    result, matches = duel.play(a_duel("house:low", "house:high", matches=6), "process", Here(), heard)
    assert [(match.pair, match.rotation) for match in matches] == [(pair, turn) for pair in range(3) for turn in (0, 1)]
    assert [match.seats for match in matches] == [("house:low", "house:high"), ("house:high", "house:low")] * 3
    assert (result.planned, result.played) == (6, 6)
    assert heard.told == ["compete", (6, 0), 2, 2, 2]


def test_the_same_seed_gives_the_same_matches_whoever_runs_them() -> None:
    here = duel.play(a_duel("house:low", "house:high"), "process", Here(), Listener())
    with LocalExecutor(2) as executor:
        there = duel.play(a_duel("house:low", "house:high"), "process", executor, Listener())
    assert [match.state_hash for match in here[1]] == [match.state_hash for match in there[1]]
    assert here[0].standings == there[0].standings


def test_a_bot_may_play_itself_under_two_names() -> None:
    result, matches = duel.play(
        a_duel("house:low", "house:low", "house:high", matches=3), "process", Here(), Listener()
    )
    assert result.players == ("house:low (1)", "house:low (2)", "house:high")
    assert len(matches) == 3


def test_kept_bots_are_said_to_be_kept() -> None:
    _, matches = duel.play(a_duel("house:low", "house:low", kept=True), "process", Here(), Listener())
    assert {match.hosting for match in matches} == {"kept"}


@pytest.mark.parametrize(
    ("references", "matches", "says"),
    [
        (("house:low",), 2, "guess takes 2, 3 players, not 1"),
        (("house:low",) * 4, 4, "guess takes 2, 3 players, not 4"),
        (("house:low",) * 2, 3, "-n 3: give a multiple of 2: every seed is played in all 2 seat orders"),
        (("house:low", "house:hi"), 2, "'hi' is no house bot of guess"),
        (("house:low", "nowhere"), 2, "bot 'nowhere': no such folder"),
    ],
)
def test_what_cannot_be_played_is_the_users_mistake(references: tuple[str, ...], matches: int, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        duel.play(a_duel(*references, matches=matches), "process", Here(), Listener())
    assert says in str(caught.value)


def test_an_invalid_bot_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("")
    with pytest.raises(SubmissionError, match=f"^{tmp_path} is no valid submission: bot.toml is missing"):
        duel.play(a_duel("house:low", str(tmp_path)), "process", Here(), Listener())
