"""What royale, wrapped, constrictor and solo change."""

import pytest

from arena.errors import ConfigError
from games.battlesnake.config import Config
from games.battlesnake.game import Battlesnake


def up_from(x, y, length=3):
    return tuple((x, y - i) for i in range(length))


def test_royale_a_hazard_costs_its_damage_on_top_of_the_move(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), hazards=[(5, 6)], ruleset="royale")
    assert [snake["health"] for snake in turn(engine, "up", "up")["snakes"]] == [85, 99]


def test_royale_leaving_a_hazard_costs_the_move_only(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), hazards=[(5, 5), (5, 4)], ruleset="royale")
    assert turn(engine, "up", "up")["snakes"][0]["health"] == 99


def test_royale_food_in_a_hazard_feeds_in_full(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), hazards=[(5, 6)], food=[(5, 6)], healths=(2, 9), ruleset="royale")
    assert turn(engine, "up", "up")["snakes"][0]["health"] == 100


def test_royale_death_in_a_hazard(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), hazards=[(5, 6)], healths=(15, 9), ruleset="royale")
    frame = turn(engine, "up", "up")
    assert engine.details()["causes"] == ["hazard", None]
    assert frame["snakes"][0]["health"] == 0


def test_royale_whom_the_move_itself_starves_did_not_die_of_the_hazard(place, turn):
    engine = place(up_from(5, 5), up_from(1, 5), hazards=[(5, 6)], healths=(1, 9), ruleset="royale")
    turn(engine, "up", "up")
    assert engine.details()["causes"] == ["out-of-health", None]


def circle(engine, turn, turns):
    """Two snakes that go round and round; the frame after `turns`."""
    for number in range(turns):
        move = ("up", "right", "down", "left")[number % 4]
        frame = turn(engine, move, move)
    return frame


def test_royale_one_side_is_taken_every_n_turns_and_hurts_from_the_next(place, turn):
    engine = place(((5, 5),) * 3, ((2, 2),) * 3, ruleset="royale", shrink_every_n_turns=4, hazard_damage=0)
    assert circle(engine, turn, 3)["hazards"] == []
    first = turn(engine, "left", "left")["hazards"]
    assert len(first) == 11
    assert len({x for x, _ in first}) == 1 or len({y for _, y in first}) == 1
    second = circle(engine, turn, 4)["hazards"]
    assert second[:11] == first
    assert len(second) in (21, 22)


def test_royale_hazards_appear_under_heads_without_effect(place, turn):
    engine = place(((0, 5),) * 3, ((10, 5),) * 3, ruleset="royale", shrink_every_n_turns=1, seed=3)
    frames = [turn(engine, move, move) for move in ("up",)]
    assert [snake["health"] for snake in frames[0]["snakes"]] == [99, 99]
    heads = {tuple(snake["body"][0]) for snake in frames[0]["snakes"]}
    assert heads & set(map(tuple, frames[0]["hazards"]))


def test_royale_shrinks_until_nothing_is_left_and_then_stays(place, turn):
    engine = place(
        ((3, 3),) * 3, ((5, 1),) * 3, width=7, height=7, ruleset="royale", shrink_every_n_turns=1, hazard_damage=0
    )
    frame = circle(engine, turn, 40)
    assert len(set(map(tuple, frame["hazards"]))) == len(frame["hazards"]) == 49


def test_standard_has_no_hazards_however_long(place, turn):
    engine = place(((5, 5),) * 3, ((2, 2),) * 3, shrink_every_n_turns=1)
    assert circle(engine, turn, 60)["hazards"] == []


@pytest.mark.parametrize(
    ("body", "move", "head"),
    [
        (up_from(5, 10), "up", (5, 0)),
        (((5, 0), (5, 1), (5, 2)), "down", (5, 10)),
        (up_from(0, 5), "left", (10, 5)),
        (up_from(10, 5), "right", (0, 5)),
    ],
)
def test_wrapped_edges_are_joined(place, turn, body, move, head):
    engine = place(body, up_from(3, 5), ruleset="wrapped")
    assert turn(engine, move, "up")["snakes"][0]["body"][0] == head
    assert not engine.done


def test_wrapped_collisions_reach_over_the_edge(place, turn):
    engine = place(((0, 5), (1, 5), (2, 5)), ((10, 7), (10, 6), (10, 5), (10, 4)), ruleset="wrapped")
    turn(engine, "left", "up")
    assert engine.details()["causes"] == ["snake-collision", None]


def test_wrapped_a_silent_snake_goes_on_over_the_edge(place):
    engine = place(up_from(5, 9), up_from(3, 3), ruleset="wrapped")
    for _ in range(3):
        engine.apply({})
    assert engine.frame()["snakes"][0]["body"][0] == (5, 1)


def test_constrictor_grows_each_turn_keeps_health_and_pins_the_tail(place, turn):
    engine = place(((5, 5),) * 3, ((1, 1),) * 3, ruleset="constrictor", minimum_food=3, food_spawn_chance=100)
    for number in range(1, 5):
        frame = turn(engine, "up", "up")
        snake = frame["snakes"][0]
        assert (snake["health"], snake["length"], snake["body"][-1]) == (100, 3 + number, (5, 5))
        assert frame["food"] == []


def test_constrictor_starts_without_food():
    assert Battlesnake(Config(ruleset="constrictor")).engine(2, 5).frame()["food"] == []


def test_solo_goes_on_with_one_and_scores_turns_survived(place, turn):
    engine = place(up_from(5, 8), ruleset="solo")
    assert not engine.done
    turn(engine, "up")
    turn(engine, "up")
    assert not engine.done
    turn(engine, "up")
    assert engine.done
    assert engine.scores() == [2.0]
    assert engine.details()["causes"] == ["wall-collision"]


@pytest.mark.parametrize(
    ("ruleset", "seats"), [("standard", 1), ("solo", 2), ("standard", 5), ("wrapped", 1), ("royale", 0)]
)
def test_seats_that_a_ruleset_is_not_for_are_refused(ruleset, seats):
    with pytest.raises(ConfigError, match=f"{ruleset} is for .* not {seats}"):
        Battlesnake(Config(ruleset=ruleset)).engine(seats, 1)


def test_the_player_counts_are_those_of_the_ruleset():
    assert Battlesnake.seats == (1, 2, 3, 4)
    assert Battlesnake(Config(ruleset="solo")).seats == (1,)
    assert Battlesnake(Config()).seats == (2, 3, 4)
