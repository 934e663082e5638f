"""Start squares and first food."""

import random
from collections import Counter

import pytest

from games.battlesnake.config import Config
from games.battlesnake.opening import opening

CORNERS = {(1, 1), (1, 9), (9, 1), (9, 9)}
MIDDLES = {(1, 5), (5, 1), (5, 9), (9, 5)}


def openings(count=400, seats=4, **settings):
    return [opening(Config(**settings), seats, random.Random(seed)) for seed in range(count)]


def test_snakes_start_coiled_with_full_health_on_distinct_ring_squares():
    for position in openings():
        heads = [body[0] for body in position.bodies]
        assert set(heads) in (CORNERS, MIDDLES)
        assert all(body == (body[0],) * 3 for body in position.bodies)
        assert position.healths == (100,) * 4
        assert position.hazards == ()


def test_every_seat_meets_every_start_square():
    seen = Counter(position.bodies[seat][0] for position in openings() for seat in (0, 1))
    assert set(seen) == CORNERS | MIDDLES
    assert min(seen.values()) > 60  # 100 expected


def test_first_food_is_diagonal_to_each_head_away_from_centre_and_corners():
    for position in openings():
        *near, centre = position.food
        assert centre == (5, 5)
        assert len(set(near)) == len(position.bodies)
        for (hx, hy), (fx, fy) in zip((body[0] for body in position.bodies), near, strict=True):
            assert (abs(hx - fx), abs(hy - fy)) == (1, 1)
            assert abs(fx - 5) + abs(fy - 5) >= abs(hx - 5) + abs(hy - 5)
            assert not (fx in (0, 10) and fy in (0, 10))


def test_no_centre_food_where_the_minimum_is_none():
    assert all((5, 5) not in position.food for position in openings(20, minimum_food=0))


@pytest.mark.parametrize("side", [7, 9, 19, 25])
def test_other_sizes_place_all_food_on_the_board_and_on_no_snake(side):
    for position in openings(60, width=side, height=side):
        assert len(set(position.food)) == len(position.food) == 5
        assert all(0 <= x < side and 0 <= y < side for x, y in position.food)
        assert not set(position.food) & {body[0] for body in position.bodies}


@pytest.mark.parametrize("side", [7, 9, 11, 19])
def test_all_heads_stand_on_one_colour_so_that_they_can_meet(side):
    for position in openings(40, width=side, height=side):
        assert len({sum(body[0]) % 2 for body in position.bodies}) == 1


def test_the_opening_does_not_depend_on_how_many_sit_down():
    for seed in range(20):
        two, four = (opening(Config(), seats, random.Random(seed)) for seats in (2, 4))
        assert two.bodies == four.bodies[:2]
