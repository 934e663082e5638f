"""House bots and starter: always legal, deterministic, each stronger than the one before."""

import json
import random
import time

import pytest

from arena.bot import manifest
from arena.types import Code, FileEntry
from games.battlesnake.config import Config
from games.battlesnake.game import HOUSE_BOTS, Battlesnake


def share(bots, match, stronger, weaker, seeds):
    """Match points of `stronger`, as a share, over mirrored pairs of standard matches."""
    game, points = Battlesnake(Config()), 0.0
    for seed in range(seeds):
        for mine in (0, 1):
            names = (stronger, weaker) if mine == 0 else (weaker, stronger)
            scores = match(game.engine(2, seed), [bots[name] for name in names], seed).scores()
            points += 0.5 + 0.5 * ((scores[mine] > scores[1 - mine]) - (scores[mine] < scores[1 - mine]))
    return points / (2 * seeds)


@pytest.mark.parametrize(
    ("stronger", "weaker", "seeds", "least"),
    [
        ("random_walk", "starter", 20, 0.65),
        ("greedy", "random_walk", 20, 0.7),
        ("flood_fill", "greedy", 20, 0.75),
        ("lookahead", "flood_fill", 10, 0.65),
    ],
)
def test_the_ladder(bots, match, stronger, weaker, seeds, least):
    assert share(bots, match, stronger, weaker, seeds) >= least


@pytest.mark.parametrize("ruleset", ["standard", "royale", "wrapped", "constrictor"])
def test_all_four_play_every_ruleset_legally_to_the_end(bots, match, ruleset):
    config = Config(ruleset=ruleset, shrink_every_n_turns=10, max_turns=120)
    movers = [bots[name] for name in HOUSE_BOTS]
    for seed in range(2):
        assert match(Battlesnake(config).engine(4, seed), movers, seed).done


@pytest.mark.parametrize("name", [*HOUSE_BOTS, "starter"])
def test_every_bot_plays_alone_and_on_small_boards(bots, match, name):
    config = Config(ruleset="solo", width=7, height=7, max_turns=80)
    assert match(Battlesnake(config).engine(1, 3), [bots[name]], 3).scores()[0] > 0


@pytest.mark.parametrize("name", [*HOUSE_BOTS, "starter"])
def test_bots_repeat_from_their_seed(bots, match, name):
    config = Config(max_turns=60)
    ends = [match(Battlesnake(config).engine(2, 5), [bots[name]] * 2, 11).frame() for _ in range(2)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("name", [*HOUSE_BOTS, "starter"])
def test_a_cornered_bot_still_answers_legally(bots, place, name):
    ring = ((0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (3, 0))
    engine = place(ring, ((9, 9), (9, 8), (9, 7)))
    assert engine.illegal(0, bots[name](json.loads(engine.observe(0)))) is None


def test_the_lookahead_stays_far_below_the_move_limit(bots, match):
    mover, slowest = bots["lookahead"], [0.0]

    def timed(state):
        start = time.process_time()
        reply = mover(state)
        slowest[0] = max(slowest[0], time.process_time() - start)
        return reply

    match(Battlesnake(Config(width=19, height=19, max_turns=40)).engine(4, 1), [timed] * 4, 1)
    assert slowest[0] < Battlesnake.limits.move_seconds / 2


@pytest.mark.parametrize("name", [*HOUSE_BOTS, "starter"])
def test_every_folder_is_a_submission(name):
    game = Battlesnake(Config())
    folder = {**game.house_bots(), "starter": game.starter}[name]
    files = tuple(
        FileEntry(path.name.encode(), "file", path.read_bytes()) for path in folder.iterdir() if path.is_file()
    )
    assert manifest(Code("0" * 40, files)).entry == "main:move"


def test_the_house_is_listed_weakest_first_and_whole():
    listed = Battlesnake(Config()).house_bots()
    assert tuple(listed) == HOUSE_BOTS
    assert {path.name for path in (Battlesnake.folder / "bots").iterdir() if path.is_dir()} == set(HOUSE_BOTS)


def test_the_starter_dies_of_bodies_not_of_walls(bots, match):
    causes = []
    for seed in range(20):
        causes += match(Battlesnake(Config()).engine(2, seed), [bots["starter"]] * 2, seed).details()["causes"]
    assert "wall-collision" not in causes
    assert "snake-self-collision" in causes


def test_random_walk_uses_the_seeded_chance(bots):
    state = json.loads(Battlesnake(Config()).engine(2, 1).observe(0))
    answers = []
    for _ in range(2):
        random.seed(4)
        answers.append([bots["random_walk"](state)["move"] for _ in range(20)])
    assert answers[0] == answers[1]
    assert len(set(answers[0])) > 1
