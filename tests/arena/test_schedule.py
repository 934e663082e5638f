import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import schedule
from arena.errors import ConfigError
from arena.types import seat_order

NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=8, unique=True)


@given(NAMES)
def test_everyone_meets_everyone_once_and_the_callers_list_is_left_alone(players: list[str]) -> None:
    before = list(players)
    found = schedule.matchups(players, "pairs", (2,))
    assert players == before
    assert Counter(frozenset(pair) for pair in found) == Counter(
        frozenset((a, b)) for i, a in enumerate(players) for b in players[i + 1 :]
    )
    assert all(players.index(a) < players.index(b) for a, b in found)


@given(NAMES)
def test_all_players_sit_in_one_matchup(players: list[str]) -> None:
    assert schedule.matchups(players, "all", range(1, 9)) == (tuple(players),)


@pytest.mark.parametrize(("kind", "seats"), [("pairs", (3, 4)), ("all", (2,))])
def test_player_counts_the_game_does_not_take_are_refused(kind, seats) -> None:
    with pytest.raises(ConfigError, match=f"schedule: {kind} puts"):
        schedule.matchups(["a", "b", "c"], kind, seats)


@given(st.integers(1, 8), st.integers(0, 12))
def test_every_player_takes_every_seat_equally_often(size: int, count: int) -> None:
    seats = Counter(
        (player, seat)
        for _ in schedule.pairs(1, 0, 0, count)
        for rotation in range(size)
        for seat, player in enumerate(seat_order(size, rotation))
    )
    expected = {(player, seat): count for player in range(size) for seat in range(size)}
    assert seats == Counter({place: times for place, times in expected.items() if times})


@given(st.integers(0, 2**63), st.integers(0, 20), st.integers(0, 20), st.integers(1, 200))
def test_seeds_do_not_depend_on_how_many_pairs_are_asked_for(root: int, round_: int, matchup: int, count: int) -> None:
    many = schedule.pairs(root, round_, matchup, count)
    assert [pair.index for pair in many] == list(range(count))
    assert schedule.pairs(root, round_, matchup, count // 2) == many[: count // 2]


def test_seeds_are_unique_over_rounds_matchups_and_pairs() -> None:
    seeds = [
        pair.seed for round_ in range(10) for matchup in range(10) for pair in schedule.pairs(3, round_, matchup, 50)
    ]
    assert len(set(seeds)) == 5000
    assert seeds[0] != schedule.pairs(4, 0, 0, 1)[0].seed


@given(st.integers(0, 300), st.integers(1, 40), st.randoms())
def test_batches_hold_every_pair_once_whatever_their_order(count: int, most: int, chance: random.Random) -> None:
    pairs = list(schedule.pairs(1, 0, 0, count))
    shuffled = chance.sample(pairs, count)
    batches = list(schedule.batches(shuffled, most))
    assert [pair for batch in batches for pair in batch] == pairs
    assert all(0 < len(batch) <= most for batch in batches)
    assert len(batches) == -(-count // most)


@given(st.integers(1, 200), st.integers(1, 40), st.data())
def test_what_is_left_after_whole_batches_falls_into_the_same_batches(
    count: int, most: int, data: st.DataObject
) -> None:
    batches = list(schedule.batches(schedule.pairs(1, 0, 0, count), most))
    left = data.draw(st.lists(st.sampled_from(batches), unique=True))
    again = list(schedule.batches([pair for batch in left for pair in batch], most))
    assert again == sorted(left, key=lambda batch: batch[0].index)


def test_a_batch_never_spans_a_gap() -> None:
    pairs = [pair for pair in schedule.pairs(1, 0, 0, 10) if pair.index not in (2, 3)]
    assert [[p.index for p in batch] for batch in schedule.batches(pairs, 5)] == [[0, 1], [4], [5, 6, 7, 8, 9]]
