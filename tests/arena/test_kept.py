"""Bots that are kept for a batch: one process, a new object a match, faults found in the match they belong to."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from arena import kept, referee, registry
from arena.sandbox.base import Backend
from arena.sandbox.process import ProcessBackend
from arena.types import Batch, Code, Played
from tests.arena.parts import LIMITS, Frail, backend, batch, code, guess, python_bot

# Counts what it is asked, in itself, in its class and in its module.
COUNTING = """
import os
asked = 0
class Bot:
    games = 0
    def __init__(self):
        Bot.games += 1
        self.moves = 0
    def move(self, state):
        global asked
        asked, self.moves = asked + 1, self.moves + 1
        return {"pick": self.moves, "games": Bot.games, "asked": asked, "pid": os.getpid()}
"""
PICK = "class Bot:\n    def move(self, state):\n        return {'pick': (7 * state['turn'] + state['last']) % 100}\n"
# In the game and turn it is told of, it does BODY.
ODD = """
import os, time
class Bot:
    made = 0
    def __init__(self):
        Bot.made += 1
        self.number = Bot.made
    def move(self, state):
        if state["turn"] == 2 and state["seat"] == 1 and state["last"] == LAST:
            BODY
        return {"pick": (3 * state["turn"] + state["last"]) % 100}
"""


def bot(source: str) -> Code:
    return code({"bot.toml": 'entry = "main:Bot"\n', "main.py": source})


def play(asked: Batch, where: Backend | None = None) -> list[Played]:
    return list(referee.play(guess(), asked, where or ProcessBackend()))


def replies(played: Played, player: int) -> list[dict[str, Any]]:
    """What `player` answered in a match, turn by turn."""
    assert played.outcome is not None
    assert played.outcome.replay is not None
    seat = str((player - played.rotation) % 2)
    return [turn[seat] for turn in played.outcome.replay["moves"]]


@pytest.mark.parametrize("name", ["process", "bubblewrap"])
def test_a_kept_process_has_a_new_object_for_every_match(name: str) -> None:
    asked = batch(bot(COUNTING), bot(PICK), pairs=20, hosting="kept")
    played = play(asked, backend(name))
    assert [(each.pair, each.rotation) for each in played] == [(pair, turn) for pair in range(20) for turn in (0, 1)]
    assert {each.hosting for each in played} == {"kept"}
    told = [replies(each, 0) for each in played]
    assert all([answer["pick"] for answer in match] == [1, 2, 3, 4, 5] for match in told), "objects are new"
    assert len({answer["pid"] for match in told for answer in match}) == 1, "the process is one"
    assert max(answer["games"] for match in told for answer in match) == 40, "and so is its class"
    assert max(answer["asked"] for match in told for answer in match) == 200


def test_fresh_bots_share_nothing() -> None:
    played = play(batch(bot(COUNTING), bot(PICK), pairs=3, hosting="fresh"))
    told = [answer for each in played for answer in replies(each, 0)]
    assert {answer["games"] for answer in told} == {1}
    assert max(answer["asked"] for answer in told) == 5
    assert len({answer["pid"] for answer in told}) == 6


def test_kept_and_fresh_bots_play_the_same_matches() -> None:
    fresh = batch(bot(PICK), bot(PICK), pairs=40)
    hashes = [each.outcome.state_hash for each in play(fresh) if each.outcome]
    assert len(hashes) == 80
    assert [each.outcome.state_hash for each in play(replace(fresh, hosting="kept")) if each.outcome] == hashes


def last_numbers(asked: Batch) -> dict[tuple[int, int], int]:
    """What the game drew in turn 1 of every match; it is the same in both rotations of a pair."""
    return {
        (pair.index, turn): [frame["last"] for frame in _frames(pair.seed)][2]
        for pair in asked.pairs
        for turn in (0, 1)
    }


def _frames(seed: int) -> list[dict[str, Any]]:
    engine = guess().engine(2, seed)
    frames = [dict(engine.frame())]
    while not engine.done:
        engine.apply({0: {"pick": 1}, 1: {"pick": 2}})
        frames.append(dict(engine.frame()))
    return frames


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("raise ValueError('in this one')", "crash"),
        ("os.write(3, b'garbage\\n'); time.sleep(9)", "not_json"),
        ("os.write(3, b'[[1]]\\n'); time.sleep(9)", "not_json"),
        ("os.write(3, b'[[999, {}]]\\n'); time.sleep(9)", "not_json"),
        ("return 7", "not_json"),
        ("return {'pick': 'x' * 300_000}", "oversize"),
        ("return {'pick': 1, 'padding': 'x' * 9000}", "oversize"),
        ("return {'pick': 1000}", "illegal_move"),
        ("while True: pass", "move_timeout"),
    ],
)
def test_a_fault_is_found_in_its_own_match_and_changes_no_other(body: str, kind: str) -> None:
    asked = batch(bot(PICK), bot(PICK), pairs=33, limits=replace(LIMITS, move_seconds=0.03))
    numbers = last_numbers(asked)
    chosen = numbers[11, 0]
    assert list(numbers.values()).count(chosen) == 2, "one pair only"
    odd = bot(ODD.replace("LAST", str(chosen)).replace("BODY", body))
    fresh = play(replace(asked, codes=(odd, bot(PICK))))
    together = play(replace(asked, codes=(odd, bot(PICK)), hosting="kept"))
    at_fault = {(each.pair, each.rotation): each.outcome.faults for each in together if each.outcome.faults}  # type: ignore[union-attr]
    assert list(at_fault) == [(11, 1)]
    assert [(fault.seat, fault.kind, fault.turn) for fault in at_fault[11, 1]] == [(1, kind, 2)]
    assert [each.outcome.state_hash for each in together if each.outcome] == [  # type: ignore[union-attr]
        each.outcome.state_hash for each in fresh if each.outcome
    ]
    hosting = Counter(each.hosting for each in together)
    if kind == "illegal_move":
        assert hosting == {"kept": 66}, "an illegal move breaks no protocol"
    else:
        assert hosting == {"fresh": kept.GROUP, "kept": 66 - kept.GROUP}, "only its own group was played singly"


def test_a_slow_start_is_allowed_once_and_a_slow_group_is_judged_match_by_match() -> None:
    slow = "import time\nwhile time.process_time() < 0.4: pass\n" + PICK
    played = play(batch(bot(slow), bot(PICK), pairs=8, hosting="kept"))
    assert {each.hosting for each in played} == {"kept"}
    burning = (
        "import time\nclass Bot:\n    def move(self, state):\n        end = time.process_time() + 0.08\n"
        "        while time.process_time() < end: pass\n        return {'pick': 1}\n"
    )
    limits = replace(LIMITS, move_seconds=0.04)
    played = play(batch(bot(burning), bot(PICK), pairs=2, hosting="kept", limits=limits))
    assert all(each.outcome and each.outcome.faults[0].kind.endswith("timeout") for each in played)


def test_a_bot_that_hides_what_it_was_asked_twice_cannot_take_another_matchs_answer() -> None:
    mixing = bot(PICK + "import os\n")
    swapped = (
        "import json, os\n_write = os.write\n"
        "def swap(fd, data):\n    if fd == 3 and data[:1] == b'[':\n"
        "        data = json.dumps(json.loads(data)[::-1]).encode() + b'\\n'\n"
        "    _write(fd, data)\n    return len(data)\nos.write = swap\n"
    )
    played = play(batch(bot(swapped + PICK), mixing, pairs=2, hosting="kept"))
    assert {each.hosting for each in played} == {"fresh"}, "answers in another order break the protocol"
    assert not any(each.outcome.faults for each in played if each.outcome)


def test_bots_that_are_programs_are_never_kept() -> None:
    program = code(
        {"bot.toml": 'command = ["/bin/sh", "-c", "while read -r l; do echo {\\\\\\"pick\\\\\\": 5}; done"]\n'}
    )
    played = play(batch(program, bot(PICK), hosting="kept"))
    assert {each.hosting for each in played} == {"fresh"}
    assert not any(each.outcome.faults for each in played if each.outcome)


def test_plain_functions_can_be_kept_too() -> None:
    function = python_bot("def move(state): return {'pick': state['turn']}\n")
    assert {each.hosting for each in play(batch(function, function, hosting="kept"))} == {"kept"}


def test_of_three_snakes_one_falls_out_and_the_group_goes_on() -> None:
    game = registry.game("battlesnake")
    up = python_bot("def move(state): return {'move': 'up'}\n")
    around = python_bot(
        "def move(state):\n    x, y = state['you']['head']['x'], state['you']['head']['y']\n"
        "    return {'move': 'left' if not y and x else 'up' if not x and y < 10 else"
        " 'right' if y == 10 and x < 10 else 'down'}\n"
    )
    asked = batch(up, around, around, pairs=4, game="battlesnake")
    hashes = [each.outcome.state_hash for each in referee.play(game, asked, ProcessBackend()) if each.outcome]
    together = list(referee.play(game, replace(asked, hosting="kept"), ProcessBackend()))
    assert [each.outcome.state_hash for each in together if each.outcome] == hashes
    assert {each.hosting for each in together} == {"kept"}


def test_a_lost_sandbox_sends_its_group_back_to_be_played_singly() -> None:
    asked = batch(bot(PICK), bot(PICK), pairs=40)
    hashes = [each.outcome.state_hash for each in play(asked) if each.outcome]
    frail = Frail(1)
    played = play(replace(asked, hosting="kept"), frail)
    assert [each.outcome.state_hash for each in played if each.outcome] == hashes
    assert Counter(each.hosting for each in played) == {"fresh": kept.GROUP, "kept": 80 - kept.GROUP}
    assert len(frail.open_now) > 2
