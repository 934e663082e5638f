import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.documents import MatchRecord, RoundDocument
from arena.errors import RecordError
from arena.scoring import forfeit_matches, matchup_result, round_result, tournament_winner, wilson
from arena.types import Fault
from tests.arena.samples import batch, outcome, pairs, record_of, round_document, whole_batch

PLAYERS = ("ada", "bob")


def played(results: Sequence[Sequence[float]], players: Sequence[str] = PLAYERS, matchup: int = 0) -> list[MatchRecord]:
    """A pair for each of `results`, the players' scores in it."""
    of = batch(pairs(len(results), matchup=matchup), players, matchup=matchup)
    size = len(players)
    return [
        record_of(of, pair, turn, outcome([scores[(seat + turn) % size] for seat in range(size)]))
        for pair, scores in zip(of.pairs, results, strict=True)
        for turn in range(size)
    ]


@pytest.mark.parametrize(
    ("mean", "count", "low", "high"),
    [(0.5, 10, 0.2366, 0.7634), (0, 10, 0, 0.2775), (1, 10, 0.7225, 1), (0.81, 263, 0.7584, 0.8529), (0.3, 0, 0, 1)],
)
def test_wilson_gives_published_values(mean: float, count: int, low: float, high: float) -> None:
    assert wilson(mean, count) == pytest.approx((low, high), abs=2e-4)


@given(st.floats(0, 1), st.integers(1, 10**6))
def test_wilson_holds_the_mean_and_stays_a_share(mean: float, count: int) -> None:
    low, high = wilson(mean, count)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1


def test_no_planned_match_vanishes_from_the_counts() -> None:
    of = batch(pairs(5))
    matches = whole_batch(of)
    lost = [outcome([0, 1]), outcome([0, 1])]
    crashed = [outcome([1, 0], [Fault(0, "crash", turn=3)]), outcome([1, 0], [Fault(0, "move_timeout", turn=3)])]
    # pair 0 and 1 as they are: ada wins 4; then 2 lost on the board, 2 by its faults, 1 spoilt, 1 never started
    bad = [record_of(of, of.pairs[2 + i], 0, result) for i, result in enumerate([*lost, crashed[0]])]
    bad.append(record_of(of, of.pairs[2], 0, crashed[1]).model_copy(update={"pair": 3, "rotation": 1}))
    result = matchup_result(PLAYERS, [*matches[:4], *bad], 5, spoilt=1)
    assert (result.planned, result.played, result.spoilt, result.missing) == (10, 8, 1, 1)
    assert result.standings["ada"].share == 0.5
    assert result.forfeits == {"ada": {"crash": 1, "move_timeout": 1}}


def test_more_matches_than_planned_are_refused() -> None:
    with pytest.raises(RecordError, match="ada - bob: 4 matches played, 0 spoilt, 2 planned"):
        matchup_result(PLAYERS, played([(1, 0), (1, 0)]), 1)


def test_a_matchup_without_matches_has_no_share() -> None:
    standing = matchup_result(PLAYERS, [], 4).standings["ada"]
    assert (standing.share, standing.low, standing.high, standing.mean_rank) == (None, 0, 1, None)


def test_counts_of_a_matchup() -> None:
    of = batch(pairs(1))
    matches = [record_of(of, of.pairs[0], 0, outcome([1, 1]), voids=2), record_of(of, of.pairs[0], 1, outcome([2, 1]))]
    result = matchup_result(PLAYERS, matches, 1)
    assert (result.draws, result.voids, result.missing) == (1, 2, 0)
    assert result.standings["bob"].share == 0.75  # rotation 1 seats bob first
    assert result.standings["bob"].mean_rank == 1.25


def test_the_interval_counts_pairs_not_matches() -> None:
    standing = matchup_result(PLAYERS, played([(1, 0)] * 6), 6).standings["ada"]
    assert (standing.low, standing.high) == wilson(1, 6)


@pytest.mark.parametrize(("count", "decisive"), [(3, False), (4, True)])
def test_a_round_of_two_is_decisive_where_the_interval_excludes_one_half(count: int, decisive: bool) -> None:
    result = round_result(PLAYERS, played([(1, 0)] * count))
    assert (result.winner, result.decisive, result.standings) == ("ada", decisive, {"ada": 1, "bob": 2})
    assert result.margin == (1, *wilson(1, count))


def test_exact_equality_has_no_winner() -> None:
    result = round_result(PLAYERS, played([(1, 0), (0, 1), (1, 1)]))
    assert (result.winner, result.decisive, result.standings) == (None, False, {"ada": 1, "bob": 1})


def test_nothing_played_is_no_result() -> None:
    assert round_result(PLAYERS, []).standings == {}
    assert round_result(PLAYERS, []).winner is None


def test_seat_order_does_not_matter() -> None:
    """The first seat always wins: with seats swapped in pairs nobody is better."""
    of = batch(pairs(8))
    matches = [record_of(of, pair, turn, outcome([1, 0])) for pair in of.pairs for turn in (0, 1)]
    result = round_result(PLAYERS, matches)
    assert result.winner is None
    assert matchup_result(PLAYERS, matches, 8).standings["ada"].share == 0.5


@given(st.permutations(["a", "b", "c", "d"]), st.integers(4, 12))
def test_best_mean_rank_wins_a_free_for_all(order: list[str], count: int) -> None:
    strength = tuple(float(order.index(name)) for name in "abcd")
    result = round_result("abcd", whole_batch(batch(pairs(count), "abcd"), strength))
    assert result.winner == order[3]
    assert result.standings == {name: 4 - order.index(name) for name in "abcd"}
    assert result.margin is not None
    assert result.margin[0] == pytest.approx(2 / 3)  # one place of three, mapped to [0, 1]


def test_sums_of_thirds_that_are_equal_are_a_tie() -> None:
    cycle = [(3, 2, 1, 0), (0, 3, 2, 1), (1, 0, 3, 2), (2, 1, 0, 3)]
    result = round_result("abcd", played(cycle * 25, "abcd"))
    assert result.winner is None
    assert set(result.standings.values()) == {1}
    # here the floating-point means of a and c differ in their last digit
    result = round_result("abcd", played([(2, 1, 0, 2), (1, 1, 3, 2), (3, 3, 3, 1)], "abcd"))
    assert (result.winner, result.standings) == (None, {"a": 1, "b": 4, "c": 1, "d": 3})


def test_a_narrow_lead_in_a_free_for_all_is_not_decisive_a_clear_one_is() -> None:
    narrow = played([(3, 2, 1), (2, 3, 1), (3, 2, 1)], "abc")
    assert (round_result("abc", narrow).winner, round_result("abc", narrow).decisive) == ("a", False)
    clear = played([(3, 2, 1)] * 40, "abc")
    assert round_result("abc", clear).decisive


def test_pairwise_matchups_of_three_make_one_round() -> None:
    matches = [
        *played([(1, 0)] * 20, ("a", "b"), 0),
        *played([(1, 0)] * 20, ("a", "c"), 1),
        *played([(1, 1)] * 20, ("b", "c"), 2),
    ]
    result = round_result("abc", matches)
    assert (result.winner, result.decisive, result.standings) == ("a", True, {"a": 1, "b": 2, "c": 2})
    assert result.margin is not None
    assert result.margin[0] == pytest.approx(0.875)  # 1 against 1/4


def test_one_invalid_submission_forfeits_every_match() -> None:
    of = batch(pairs(5))
    matches = forfeit_matches(of, {"bob": "main.py: line 3: no Bot"})
    assert len(matches) == 10
    assert {match.winner for match in matches} == {"ada"}
    assert {(match.termination, match.hosting, match.turns) for match in matches} == {("invalid_submission", "none", 0)}
    assert all(match.faults[0].player == "bob" and "line 3" in match.faults[0].detail for match in matches)
    assert round_result(PLAYERS, matches).decisive
    assert matchup_result(PLAYERS, matches, 5).forfeits == {"bob": {"invalid_submission": 10}}
    assert matches == forfeit_matches(of, {"bob": "main.py: line 3: no Bot"})
    assert len({match.state_hash for match in matches}) == 10


def test_no_valid_submission_no_winner() -> None:
    matches = forfeit_matches(batch(pairs(5)), {"ada": "x", "bob": "y"})
    assert {match.winner for match in matches} == {None}
    assert round_result(PLAYERS, matches).winner is None
    assert matchup_result(PLAYERS, matches, 5).played == 10


def test_the_only_valid_of_three_wins() -> None:
    matches = forfeit_matches(batch(pairs(5), "abc"), {"a": "x", "c": "y"})
    assert round_result("abc", matches).standings == {"a": 2, "b": 1, "c": 2}


def rounds(*results: tuple[str | None, bool]) -> list[RoundDocument]:
    empty = round_document([], 0)
    return [
        empty.model_copy(update={"round": number, "winner": winner, "decisive": decisive})
        for number, (winner, decisive) in enumerate(results)
    ]


@pytest.mark.parametrize(
    ("results", "winner"),
    [
        ([("a", True)], None),  # round 0 is the starter code
        ([("a", True), ("b", False)], "b"),
        ([(None, False), ("a", True), ("b", False), ("b", False)], "b"),  # most rounds first
        ([(None, False), ("a", False), ("a", False), ("b", False), ("b", True)], "b"),  # then decisive ones
        ([(None, False), ("a", True), ("b", False), ("a", True), ("a", False), ("b", False), ("b", True)], "a"),
        ([(None, False), ("b", True), ("a", True), ("c", True)], "c"),  # then the last decisive one
        ([(None, False), ("b", True), ("a", True), ("c", False), ("c", True), ("a", False)], "c"),
        ([(None, False), ("b", False), ("a", False)], None),
        ([(None, False), (None, False)], None),
        ([], None),
    ],
)
def test_winner_of_a_tournament(results: list[tuple[str | None, bool]], winner: str | None) -> None:
    documents = rounds(*results)
    assert tournament_winner(documents) == winner
    assert tournament_winner(reversed(documents)) == winner


def test_intervals_cover_the_true_share_at_least_as_often_as_they_say() -> None:
    """Pairs that score 0, 1/2 or 1: exact coverage by summing over all outcomes of 12 pairs."""
    count, chances = 12, (0.2, 0.5, 0.3)
    truth, covered = chances[1] / 2 + chances[2], 0.0
    for wins in range(count + 1):
        for draws in range(count + 1 - wins):
            losses = count - wins - draws
            ways = math.factorial(count) / (math.factorial(wins) * math.factorial(draws) * math.factorial(losses))
            low, high = wilson((wins + draws / 2) / count, count)
            if low <= truth <= high:
                covered += ways * chances[0] ** losses * chances[1] ** draws * chances[2] ** wins
    assert covered > 0.95
