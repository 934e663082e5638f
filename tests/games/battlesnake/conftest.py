"""Boards to order, and the house bots loaded without leaving compiled files in their folders."""

import json
import random
import runpy

import pytest

from games.battlesnake.config import Config
from games.battlesnake.engine import BattlesnakeEngine, tables_for
from games.battlesnake.game import Battlesnake
from games.battlesnake.opening import Position
from games.battlesnake.request import RequestWriter


def _place(*bodies, food=(), hazards=(), healths=None, seed=0, **settings):
    config = Config(**{"food_spawn_chance": 0, "minimum_food": 0, **settings})
    position = Position(tuple(bodies), tuple(healths or [100] * len(bodies)), tuple(food), tuple(hazards))
    writer = RequestWriter(config, tables_for(config), len(bodies), seed, version="1", timeout=100)
    return BattlesnakeEngine(config, position, random.Random(seed), writer)


def _turn(engine, *moves):
    engine.apply({seat: {"move": move} for seat, move in zip(engine.to_move(), moves, strict=True)})
    return engine.frame()


def _load(folder):
    return runpy.run_path(str(folder / "main.py"))["move"]


def _match(engine, movers, seed):
    """Play to the end; every answer must be legal."""
    random.seed(seed)
    while not engine.done:
        replies = {seat: movers[seat](json.loads(engine.observe(seat))) for seat in engine.to_move()}
        reasons = {seat: engine.illegal(seat, reply) for seat, reply in replies.items()}
        assert set(reasons.values()) == {None}
        engine.apply(replies)
    return engine


@pytest.fixture(scope="session")
def place():
    """An engine on a board to order: bodies by seat, no food of its own accord."""
    return _place


@pytest.fixture(scope="session")
def turn():
    """Play one turn, moves in order of the living seats; gives the frame after it."""
    return _turn


@pytest.fixture(scope="session")
def match():
    """Play a match to its end with functions for bots."""
    return _match


@pytest.fixture(scope="session")
def bots():
    """The four house bots and the starter, by name, as functions."""
    game = Battlesnake(Config())
    return {name: _load(folder) for name, folder in {**game.house_bots(), "starter": game.starter}.items()}
