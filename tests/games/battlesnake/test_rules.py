"""The standard rules, case by case, from the published rules page and the draft specification of the standard mode."""

import pytest


def up_from(x, y, length=3):
    """A snake that has been going up, head at (x, y)."""
    return tuple((x, y - i) for i in range(length))


def outcome(engine):
    details = engine.details()
    return list(zip(details["causes"], details["eliminated_by"], strict=True))


@pytest.mark.parametrize(("move", "head"), [("up", (5, 6)), ("down", (5, 4)), ("left", (4, 5)), ("right", (6, 5))])
def test_a_move_adds_a_head_and_takes_the_tail(place, turn, move, head):
    body = ((5, 5), (5, 5), (5, 5))
    frame = turn(place(body, ((1, 1),) * 3), move, "up")
    assert frame["snakes"][0]["body"] == [head, (5, 5), (5, 5)]
    assert frame["turn"] == 1


def test_a_move_costs_one_health(place, turn):
    frame = turn(place(up_from(5, 5), up_from(1, 5), healths=(100, 7)), "up", "up")
    assert [snake["health"] for snake in frame["snakes"]] == [99, 6]


def test_food_restores_health_and_doubles_the_tail_at_once(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), food=[(5, 6)], healths=(3, 100))
    frame = turn(engine, "up", "up")
    assert frame["snakes"][0] == {
        "health": 100, "length": 4, "cause": None, "body": [(5, 6), (5, 5), (5, 4), (5, 4)],
    }  # fmt: skip
    assert frame["food"] == []
    assert turn(engine, "up", "up")["snakes"][0]["body"] == [(5, 7), (5, 6), (5, 5), (5, 4)]


def test_eating_with_one_health_left_saves(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), food=[(5, 6)], healths=(1, 100))
    assert turn(engine, "up", "up")["snakes"][0]["health"] == 100
    assert not engine.done


def test_starvation(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), healths=(1, 100))
    frame = turn(engine, "up", "up")
    assert outcome(engine) == [("out-of-health", None), (None, None)]
    assert frame["snakes"][0]["health"] == 0
    assert engine.done


@pytest.mark.parametrize(("head", "move"), [((5, 10), "up"), ((0, 5), "left"), ((10, 5), "right")])
def test_leaving_the_board(place, turn, head, move):
    engine = place(up_from(*head), up_from(3, 5))
    turn(engine, move, "up")
    assert outcome(engine)[0] == ("wall-collision", None)


def test_leaving_the_board_at_the_bottom(place, turn):
    engine = place(((5, 0), (5, 1), (5, 2)), up_from(3, 5))
    turn(engine, "down", "up")
    assert outcome(engine)[0] == ("wall-collision", None)


def test_starving_is_checked_before_the_wall(place, turn):
    engine = place(up_from(5, 10), up_from(3, 5), healths=(1, 100))
    turn(engine, "up", "up")
    assert outcome(engine)[0] == ("out-of-health", None)


def test_turning_back_onto_the_neck_is_legal_and_kills(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5))
    assert engine.illegal(0, {"move": "down"}) is None
    turn(engine, "down", "up")
    assert outcome(engine)[0] == ("snake-self-collision", 0)


def test_biting_the_own_body(place, turn):
    engine = place(((5, 5), (5, 6), (6, 6), (6, 5), (6, 4), (5, 4)), up_from(1, 5))
    turn(engine, "right", "up")
    assert outcome(engine)[0] == ("snake-self-collision", 0)


def test_the_square_the_own_tail_leaves_is_free(place, turn):
    engine = place(((5, 5), (5, 6), (6, 6), (6, 5)), up_from(1, 5))
    turn(engine, "right", "up")
    assert outcome(engine)[0] == (None, None)


def test_the_tail_of_a_snake_that_has_just_eaten_stays(place, turn):
    engine = place(((5, 5), (5, 6), (6, 6), (6, 5), (6, 5)), up_from(1, 5))
    turn(engine, "right", "up")
    assert outcome(engine)[0] == ("snake-self-collision", 0)


def test_running_into_another_body(place, turn):
    engine = place(up_from(4, 5), ((5, 7), (5, 6), (5, 5), (5, 4)))
    turn(engine, "right", "up")
    assert outcome(engine) == [("snake-collision", 1), (None, None)]


def test_two_that_pass_through_each_other_both_hit_a_body(place, turn):
    engine = place(((4, 5), (3, 5), (2, 5)), ((5, 5), (6, 5), (7, 5)))
    turn(engine, "right", "left")
    assert outcome(engine) == [("snake-collision", 1), ("snake-collision", 0)]


def test_the_square_another_tail_leaves_is_free_even_if_that_snake_eats_now(place, turn):
    # The second segment is laid where the tail is after its move, so the square left is free.
    engine = place(up_from(4, 5), ((5, 7), (5, 6), (5, 5)), food=[(5, 8)])
    turn(engine, "right", "up")
    assert outcome(engine) == [(None, None), (None, None)]


def test_head_to_head_equals_both_die_each_by_the_other(place, turn):
    engine = place(((4, 5), (3, 5), (2, 5)), ((6, 5), (7, 5), (8, 5)))
    turn(engine, "right", "left")
    assert outcome(engine) == [("head-collision", 1), ("head-collision", 0)]
    assert engine.scores()[0] == engine.scores()[1]


def test_head_to_head_the_longer_survives(place, turn):
    engine = place(((4, 5), (3, 5), (2, 5)), ((6, 5), (7, 5), (8, 5), (9, 5)))
    turn(engine, "right", "left")
    assert outcome(engine) == [("head-collision", 1), (None, None)]
    assert engine.scores()[1] > engine.scores()[0]


def test_head_to_head_over_food_counts_the_new_length_of_both(place, turn):
    engine = place(((4, 5), (3, 5), (2, 5)), ((6, 5), (7, 5), (8, 5)), food=[(5, 5)])
    frame = turn(engine, "right", "left")
    assert outcome(engine) == [("head-collision", 1), ("head-collision", 0)]
    assert [snake["length"] for snake in frame["snakes"]] == [4, 4]
    assert frame["food"] == []


def test_three_heads_two_longest_equal_all_die(place, turn):
    engine = place(
        ((2, 3), (2, 2), (2, 1), (2, 0), (1, 0)), ((4, 3), (4, 2), (4, 1), (4, 0), (5, 0)), ((3, 4), (3, 5), (3, 6))
    )
    turn(engine, "right", "left", "down")
    assert [cause for cause, _ in outcome(engine)] == ["head-collision"] * 3


def test_three_heads_the_sole_longest_survives_and_is_the_eliminator(place, turn):
    engine = place(((2, 3), (2, 2), (2, 1), (2, 0), (1, 0)), ((4, 3), (4, 2), (4, 1), (4, 0)), ((3, 4), (3, 5), (3, 6)))
    turn(engine, "right", "left", "down")
    assert outcome(engine) == [(None, None), ("head-collision", 0), ("head-collision", 0)]


def test_a_body_collision_comes_before_a_head_collision(place, turn):
    # Both heads meet on the body of a third.
    wall = tuple((x, 5) for x in range(8, 1, -1))
    engine = place(up_from(4, 4), ((4, 6), (4, 7), (4, 8), (4, 9)), wall)
    turn(engine, "up", "down", "right")
    assert outcome(engine) == [("snake-collision", 2), ("snake-collision", 2), (None, None)]


def test_a_head_collision_with_a_snake_that_dies_on_its_own_body(place, turn):
    curled = ((5, 5), (5, 6), (6, 6), (6, 5), (6, 4), (7, 4))
    engine = place(curled, ((7, 5), (8, 5), (9, 5)))
    turn(engine, "right", "left")
    assert outcome(engine) == [("snake-self-collision", 0), ("snake-collision", 0)]


def test_collisions_are_judged_together(place, turn):
    # Seat 0 dies on seat 1, which itself dies on seat 2 in the same turn: both count.
    engine = place(up_from(3, 5), ((4, 7), (4, 6), (4, 5), (4, 4)), ((5, 9), (5, 8), (5, 7), (5, 6)))
    turn(engine, "right", "right", "up")
    assert outcome(engine) == [("snake-collision", 1), ("snake-collision", 2), (None, None)]


def test_who_starves_or_leaves_the_board_is_in_nobodys_way(place, turn):
    engine = place(up_from(4, 5), ((5, 7), (5, 6), (5, 5), (5, 4)), up_from(9, 5), healths=(100, 1, 100))
    turn(engine, "right", "up", "up")
    assert outcome(engine) == [(None, None), ("out-of-health", None), (None, None)]


def test_the_eliminated_leave_the_board(place, turn):
    engine = place(up_from(5, 10), up_from(1, 5), up_from(9, 5))
    turn(engine, "up", "up", "up")
    assert engine.to_move() == (1, 2)
    frame = turn(engine, "up", "up")
    assert frame["snakes"][0]["body"] == []
    turn(engine, "right", "up")
    assert outcome(engine)[1] == (None, None)


def test_a_silent_snake_goes_on_and_first_goes_up(place):
    engine = place(((5, 5),) * 3, ((1, 1),) * 3)
    engine.apply({1: {"move": "right"}})
    assert engine.frame()["snakes"][0]["body"][0] == (5, 6)
    engine.apply({0: {"move": "left"}})
    assert engine.frame()["snakes"][1]["body"][0] == (3, 1)
    engine.apply({1: {"move": "up"}})
    assert engine.frame()["snakes"][0]["body"][0] == (3, 6)


def test_forfeit_eliminates_in_this_turn_and_clears_the_way(place):
    engine = place(up_from(4, 5), ((5, 7), (5, 6), (5, 5), (5, 4)), up_from(9, 5))
    engine.forfeit(1)
    engine.apply({0: {"move": "right"}, 2: {"move": "up"}})
    assert outcome(engine) == [(None, None), ("forfeit", None), (None, None)]
    assert engine.details()["eliminated_on"] == [None, 1, None]
    assert engine.scores() == [1.0, 0.0, 1.0]


def test_forfeit_of_the_dead_changes_nothing(place, turn):
    engine = place(up_from(5, 10), up_from(1, 5), up_from(9, 5))
    turn(engine, "up", "up", "up")
    engine.forfeit(0)
    assert outcome(engine)[0] == ("wall-collision", None)


def test_forfeit_of_the_last_rival_ends_the_match(place):
    engine = place(up_from(4, 5), up_from(9, 5))
    engine.forfeit(1)
    assert engine.done
    engine.apply({0: {"move": "up"}})
    assert engine.scores() == [1.0, 0.0]


@pytest.mark.parametrize(
    "reply", [{}, {"move": None}, {"move": "north"}, {"move": ["up"]}, {"move": 1}, {"Move": "up"}]
)
def test_anything_but_the_four_words_is_illegal(place, reply):
    reason = place(up_from(5, 5), up_from(1, 5)).illegal(0, reply)
    assert reason is not None
    assert len(reason) < 120


def test_reasons_stay_short_whatever_the_move(place):
    assert len(place(up_from(5, 5), up_from(1, 5)).illegal(0, {"move": "x" * 60_000})) < 120


def test_extra_keys_are_ignored(place):
    assert place(up_from(5, 5), up_from(1, 5)).illegal(1, {"move": "up", "shout": "hi", "x": [1]}) is None


def test_scores_rank_by_turn_of_elimination(place, turn):
    engine = place(up_from(5, 9), up_from(1, 10), up_from(9, 5), up_from(3, 10))
    turn(engine, "up", "up", "up", "up")
    turn(engine, "up", "up")
    first, second, third, fourth = engine.scores()
    assert third > first > second == fourth
    assert engine.done


def test_the_turn_limit_is_a_draw_of_the_living(place, turn):
    engine = place(up_from(5, 5), up_from(1, 10), up_from(9, 5), max_turns=2)
    turn(engine, "up", "up", "up")
    assert not engine.done
    turn(engine, "up", "up")
    assert engine.done
    assert engine.scores() == [2.0, 0.0, 2.0]
    assert engine.details()["turn_limit"]


def test_a_decided_match_did_not_end_by_the_limit(place, turn):
    engine = place(up_from(5, 10), up_from(1, 5), max_turns=1)
    turn(engine, "up", "up")
    assert not engine.details()["turn_limit"]


def test_food_is_filled_up_to_the_minimum(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), minimum_food=4)
    assert len(turn(engine, "up", "up")["food"]) == 4


def test_a_certain_chance_adds_one_piece_a_turn(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), food=[(10, 10)], food_spawn_chance=100)
    assert len(turn(engine, "up", "up")["food"]) == 2
    assert len(turn(engine, "up", "up")["food"]) == 3


def test_filling_up_replaces_the_chance(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), minimum_food=1, food_spawn_chance=100)
    assert len(turn(engine, "up", "up")["food"]) == 1


def test_the_chance_is_as_set(place, turn):
    spawned = 0
    for seed in range(1500):
        engine = place(up_from(5, 5), up_from(1, 5), food=[(10, 10)], food_spawn_chance=15, seed=seed)
        spawned += len(turn(engine, "up", "up")["food"]) - 1
    assert 180 < spawned < 270  # 225 expected, standard deviation 14


def test_food_waits_when_the_board_is_full(place, turn):
    # On 7 x 7, one snake fills all but one row; the other stands in it.
    rows = [[(x, y) for x in (range(7) if y % 2 == 0 else range(6, -1, -1))] for y in range(6)]
    long = tuple(point for row in rows for point in row)[::-1]
    engine = place(long, ((6, 6), (5, 6), (4, 6)), width=7, height=7, minimum_food=9)
    frame = turn(engine, "up", "right")
    taken = {tuple(p) for snake in frame["snakes"] for p in snake["body"]}
    assert len(frame["food"]) == 49 - len([p for p in taken if p[0] < 7])
