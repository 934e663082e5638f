"""What must hold for any moves from any seed, and agreement with a slow second engine."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.battlesnake.config import Config
from games.battlesnake.game import Battlesnake

STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
MOVES = list(STEPS)
SEEDS = st.integers(0, 2**63 - 1)
SCRIPTS = st.lists(st.lists(st.sampled_from(MOVES), min_size=4, max_size=4), min_size=1, max_size=80)
RULESETS = st.sampled_from(["standard", "royale", "wrapped", "constrictor"])


def steered(frame, seat, wish, wrapped=False):
    """`wish`, or the next move that does not kill at once: long matches from random wishes."""
    x, y = frame["snakes"][seat]["body"][0]
    taken = {tuple(p) for snake in frame["snakes"] if not snake["cause"] for p in snake["body"][:-1]}
    side = frame["width"]
    for move in MOVES[MOVES.index(wish) :] + MOVES:
        a, b = x + STEPS[move][0], y + STEPS[move][1]
        if wrapped:
            a, b = a % side, b % side
        if 0 <= a < side and 0 <= b < side and (a, b) not in taken:
            return move
    return wish


def run(config, seats, seed, script, steer=True):
    """Frames of a match, first to last, and the engine at its end."""
    engine = Battlesnake(config).engine(seats, seed)
    frames = [engine.frame()]
    for wishes in script:
        if engine.done:
            break
        moves = {
            seat: {
                "move": steered(frames[-1], seat, wishes[seat], config.ruleset == "wrapped") if steer else wishes[seat]
            }
            for seat in engine.to_move()
        }
        engine.apply(moves)
        frames.append(engine.frame())
    return frames, engine


def living(frame):
    return [snake for snake in frame["snakes"] if snake["cause"] is None]


@given(SEEDS, SCRIPTS, RULESETS, st.integers(2, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_same_seed_and_moves_give_the_same_frames(seed, script, ruleset, seats, steer):
    config = Config(ruleset=ruleset, shrink_every_n_turns=5)
    first, one = run(config, seats, seed, script, steer)
    again, two = run(config, seats, seed, script, steer)
    assert json.dumps(first) == json.dumps(again)
    assert one.details() == two.details()


@given(SEEDS, SCRIPTS, RULESETS, st.integers(2, 4), st.booleans(), st.integers(0, 6))
@settings(max_examples=120, deadline=None)
def test_every_frame_is_sound(seed, script, ruleset, seats, steer, minimum):
    config = Config(ruleset=ruleset, shrink_every_n_turns=5, minimum_food=minimum)
    frames, _ = run(config, seats, seed, script, steer)
    side = config.width
    for before, frame in zip([frames[0], *frames], frames, strict=False):
        bodies = {tuple(p) for snake in living(frame) for p in snake["body"]}
        food = [tuple(p) for p in frame["food"]]
        assert len(set(food)) == len(food)
        assert not set(food) & bodies
        assert all(0 <= x < side and 0 <= y < side for x, y in [*bodies, *food])
        if frame["turn"] and ruleset != "constrictor":
            assert len(food) >= min(minimum, side * side - len(bodies) - len(food))
        if ruleset != "royale":
            assert frame["hazards"] == []
        for was, snake in zip(before["snakes"], frame["snakes"], strict=True):
            assert 0 <= snake["health"] <= 100
            assert (snake["health"] == 0) <= (snake["cause"] is not None)
            assert snake["length"] - was["length"] in (0, 1)
            if was["cause"] is not None:
                assert (snake["cause"], snake["length"], snake["health"]) == (
                    was["cause"],
                    was["length"],
                    was["health"],
                )
                assert snake["body"] == [] or frame is before


@given(SEEDS, SCRIPTS, st.booleans())
@settings(max_examples=40, deadline=None)
def test_wrapped_nobody_hits_a_wall(seed, script, steer):
    _, engine = run(Config(ruleset="wrapped"), 3, seed, script, steer)
    assert "wall-collision" not in engine.details()["causes"]


@given(SEEDS, SCRIPTS)
@settings(max_examples=40, deadline=None)
def test_constrictor_all_living_have_one_length(seed, script):
    frames, _ = run(Config(ruleset="constrictor"), 4, seed, script)
    for frame in frames:
        assert {snake["length"] for snake in living(frame)} <= {3 + frame["turn"]}


@given(SEEDS, SCRIPTS, st.integers(2, 4))
@settings(max_examples=60, deadline=None)
def test_scores_order_seats_by_elimination(seed, script, seats):
    _, engine = run(Config(), seats, seed, script, steer=False)
    fell = [turn if turn is not None else engine.details()["turns"] + 1 for turn in engine.details()["eliminated_on"]]
    scores = engine.scores()
    for a in range(seats):
        for b in range(seats):
            assert (scores[a] > scores[b]) == (fell[a] > fell[b])


@pytest.mark.parametrize("ruleset", ["standard", "wrapped", "constrictor", "royale"])
def test_seats_are_alike(place, ruleset):
    """The same board with the seats dealt the other way round plays the same, seat for seat."""

    @given(SEEDS, SCRIPTS, st.permutations(range(4)))
    @settings(max_examples=40, deadline=None)
    def check(seed, script, order):
        bodies = [((1, 1),) * 3, ((1, 9),) * 3, ((9, 1),) * 3, ((9, 9), (9, 9), (9, 9), (9, 9))]
        rules = {
            "ruleset": ruleset,
            "minimum_food": 2,
            "food_spawn_chance": 30,
            "seed": seed,
            "shrink_every_n_turns": 4,
        }
        one = place(*bodies, **rules)
        two = place(*(bodies[seat] for seat in order), **rules)
        for wishes in script:
            if one.done:
                break
            frame = one.frame()
            moves = {seat: steered(frame, seat, wishes[seat], ruleset == "wrapped") for seat in one.to_move()}
            one.apply({seat: {"move": move} for seat, move in moves.items()})
            two.apply({order.index(seat): {"move": move} for seat, move in moves.items()})
            left, right = one.frame(), two.frame()
            assert [left["snakes"][seat] for seat in order] == right["snakes"]
            assert (left["food"], left["hazards"]) == (right["food"], right["hazards"])

    check()


def slow_turn(snakes, food, moves, side):
    """One standard turn without spawning, written to be obvious. A snake: [body, health, cause]; changed in place."""
    alive = [snake for snake in snakes if snake[2] is None]
    for snake, move in zip(snakes, moves, strict=True):
        if snake[2] is None:
            (x, y), (dx, dy) = snake[0][0], STEPS[move]
            snake[0] = [(x + dx, y + dy), *snake[0][:-1]]
            snake[1] -= 1
    eaten = {snake[0][0] for snake in alive} & food
    for snake in alive:
        if snake[0][0] in eaten:
            snake[0].append(snake[0][-1])
            snake[1] = 100
    food -= eaten
    for snake in alive:
        snake[2] = slow_fate(snake, side)
    rest = [snake for snake in alive if snake[2] is None]
    for snake, cause in [(snake, slow_collision(snake, rest)) for snake in rest]:
        snake[2] = cause


def slow_fate(snake, side):
    if snake[1] <= 0:
        return "out-of-health"
    outside = any(not (0 <= x < side and 0 <= y < side) for x, y in snake[0])
    return "wall-collision" if outside else None


def slow_collision(snake, rest):
    head, others = snake[0][0], [other for other in rest if other is not snake]
    if head in snake[0][1:]:
        return "snake-self-collision"
    if any(head in other[0][1:] for other in others):
        return "snake-collision"
    lost = any(head == other[0][0] and len(other[0]) >= len(snake[0]) for other in others)
    return "head-collision" if lost else None


POINTS = st.tuples(st.integers(0, 6), st.integers(0, 6))


@st.composite
def walks(draw):
    """A body of 3 to 9 segments that wandered over a 7 x 7 board without leaving it; it may cross itself."""
    body = [draw(POINTS)]
    for move in draw(st.lists(st.sampled_from(MOVES), min_size=2, max_size=8)):
        x, y = body[-1][0] + STEPS[move][0], body[-1][1] + STEPS[move][1]
        body.append((x, y) if 0 <= x < 7 and 0 <= y < 7 else body[-1])
    return tuple(body)


def test_it_agrees_with_a_slow_engine_on_crowded_boards(place):
    causes = set()

    @given(
        st.lists(st.tuples(walks(), st.integers(1, 6)), min_size=2, max_size=4),
        st.sets(POINTS, max_size=8),
        st.lists(st.lists(st.sampled_from(MOVES), min_size=4, max_size=4), min_size=1, max_size=6),
    )
    @settings(max_examples=400, deadline=None, derandomize=True)
    def check(snakes, food, script):
        bodies, healths = zip(*snakes, strict=True)
        engine = place(*bodies, food=sorted(food), healths=healths, width=7, height=7)
        slow = [[list(body), health, None] for body, health in snakes]
        for moves in script:
            if engine.done:
                break
            engine.apply({seat: {"move": moves[seat]} for seat in engine.to_move()})
            slow_turn(slow, food, moves[: len(slow)], 7)
            frame = engine.frame()
            assert [snake["cause"] for snake in frame["snakes"]] == [snake[2] for snake in slow]
            assert {tuple(p) for p in frame["food"]} == food
            for fast, (body, health, cause) in zip(frame["snakes"], slow, strict=True):
                if cause is None:
                    assert (fast["body"], fast["health"]) == (body, health)
            causes.update(engine.details()["causes"])

    check()
    assert causes >= {"out-of-health", "wall-collision", "snake-self-collision", "snake-collision", "head-collision"}
