import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.types import Code, Fault, FileEntry, points_of, ranks_of, seat_order, winner_of

SCORES = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8)


def test_a_file_is_found_by_its_path_but_never_through_a_link() -> None:
    code = Code("0" * 40, (FileEntry(b"a", "symlink", b"b"), FileEntry("ä/b".encode(), "executable", b"text")))
    assert code.get("ä/b") == b"text"
    assert code.get("a") is None
    assert code.get("b") is None


@given(SCORES)
def test_ranks_follow_scores_and_ties_share_a_rank(scores: list[float]) -> None:
    ranks = ranks_of(scores)
    for i, one in enumerate(scores):
        assert ranks[i] == 1 + sum(other > one for other in scores)


@given(SCORES, st.data())
def test_a_seat_at_fault_stands_below_all_others_and_the_later_fault_higher(scores: list[float], data) -> None:
    seats = data.draw(st.lists(st.sampled_from(range(len(scores))), unique=True))
    faults = [Fault(seat, "crash", turn=data.draw(st.integers(0, 3))) for seat in seats]
    ranks = ranks_of(scores, faults)
    for fault in faults:
        for seat in set(range(len(scores))) - set(seats):
            assert ranks[fault.seat] > ranks[seat]
        for other in faults:
            assert (ranks[fault.seat] < ranks[other.seat]) == (fault.turn > other.turn)


def test_of_two_seats_at_fault_the_score_decides_nothing() -> None:
    assert ranks_of((5.0, 0.0), (Fault(0, "crash", turn=2), Fault(1, "silence", turn=2))) == (1, 1)
    assert ranks_of((5.0, 0.0), (Fault(0, "crash", turn=2), Fault(1, "silence", turn=3))) == (2, 1)


@given(SCORES)
def test_points_are_shares_of_opponents_beaten_and_sum_to_half_the_seats(scores: list[float]) -> None:
    points = points_of(ranks_of(scores))
    assert all(0 <= share <= 1 for share in points)
    assert math.isclose(sum(points), len(scores) / 2 if len(scores) > 1 else 1.0)


@pytest.mark.parametrize(
    ("ranks", "points", "winner"),
    [
        ((1,), (1.0,), 0),
        ((2, 1), (0.0, 1.0), 1),
        ((1, 1), (0.5, 0.5), None),
        ((1, 1, 3), (0.75, 0.75, 0.0), None),
        ((3, 2, 1), (0.0, 0.5, 1.0), 2),
    ],
)
def test_points_and_winner(ranks: tuple[int, ...], points: tuple[float, ...], winner: int | None) -> None:
    assert points_of(ranks) == points
    assert winner_of(ranks) == winner


@pytest.mark.parametrize("players", range(1, 9))
def test_over_all_rotations_every_player_has_every_seat_once(players: int) -> None:
    orders = [seat_order(players, rotation) for rotation in range(players)]
    assert orders[0] == tuple(range(players))
    assert all(sorted(order) == list(range(players)) for order in orders)
    for seat in range(players):
        assert sorted(order[seat] for order in orders) == list(range(players))
