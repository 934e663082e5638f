"""Matches of turn games: who is credited with what, whose fault is whose, and what a record of it is worth."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena import referee, registry, scoring, tree
from arena.documents import match_record
from arena.errors import GameError, SandboxError, SubmissionError
from arena.sandbox.base import Backend
from arena.sandbox.process import ProcessBackend
from arena.types import NO_CODE, Batch, Code, FileEntry, Outcome, Played, ranks_of, seat_order, winner_of
from tests.arena.parts import LIMITS, PICK, Frail, backend, batch, code, guess, need, python_bot
from tests.conformance.doubles import Guess, GuessEngine

# Plays at random, and now and then answers with what is no move, or not at all.
RECKLESS = """
import random, os
def move(state):
    dice = random.random()
    if dice < 0.01: return {"move": "sideways"}
    if dice < 0.02: raise RuntimeError("out of nowhere")
    return {"move": random.choice(["up", "down", "left", "right"])}
"""
STEADY = """
STEPS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
def move(state):
    board, head = state["board"], state["you"]["body"][0]
    taken = {(p["x"], p["y"]) for snake in board["snakes"] for p in snake["body"]}
    for name, (dx, dy) in STEPS.items():
        x, y = head["x"] + dx, head["y"] + dy
        if 0 <= x < board["width"] and 0 <= y < board["height"] and (x, y) not in taken:
            return {"move": name}
    return {"move": "up"}
"""


@pytest.fixture(params=["process", "bubblewrap"])
def anywhere(request: pytest.FixtureRequest) -> Backend:
    return backend(request.param)


def snakes(*codes: Code, pairs: int = 1, **more: object) -> Batch:
    return batch(*codes, pairs=pairs, game="battlesnake", **more)


def outcomes(game: Any, asked: Batch, where: Backend | None = None) -> list[Played]:
    return list(referee.play(game, asked, where or ProcessBackend()))


def only(played: list[Played]) -> list[Outcome]:
    """The outcomes of matches none of which was void."""
    return [each.outcome for each in played if each.outcome is not None or pytest.fail(each.void)]


def test_every_match_re_simulated_from_its_replay_ends_as_recorded() -> None:
    game = registry.game("battlesnake")
    asked = snakes(python_bot(RECKLESS), python_bot(STEADY), pairs=100)
    played = outcomes(game, asked)
    assert [(each.pair, each.rotation) for each in played] == [(pair, turn) for pair in range(100) for turn in (0, 1)]
    seen: Counter[str] = Counter()
    for each in played:
        assert each.outcome is not None
        raw = each.outcome.replay
        assert raw is not None
        scores, state = referee.replayed(game, raw, each.outcome.faults)
        frames = list(referee.frames(game, raw))
        assert (scores, state) == (each.outcome.scores, each.outcome.state_hash)
        assert len(frames) == each.outcome.turns + 1
        assert frames[-1]["scores"] == list(scores) if "scores" in frames[-1] else True
        record = match_record(asked, each)
        winner = winner_of(ranks_of(scores, each.outcome.faults))
        order = seat_order(2, each.rotation)
        assert record.winner == (None if winner is None else asked.players[order[winner]])
        assert record.seats == tuple(asked.players[player] for player in order)
        for fault in each.outcome.faults:
            assert record.seats[fault.seat] == "a", "the steady bot never falls out"
        seen.update([record.termination, f"won by {record.winner}"])
    assert seen["completed"] > 20
    assert seen["crash"] > 5
    assert seen["illegal_move"] > 5
    assert seen["won by b"] > 100


def test_an_illegal_move_is_told_as_it_was_and_never_played_as_another() -> None:
    game = registry.game("battlesnake")
    bad = python_bot('def move(state): return {"move": "UP" if state["turn"] == 1 else "up", "shout": "I go up"}\n')
    (first, second) = only(outcomes(game, snakes(bad, python_bot(STEADY))))
    for seat, outcome in ((0, first), (1, second)):
        (fault,) = outcome.faults
        assert (fault.seat, fault.kind, fault.turn) == (seat, "illegal_move", 1)
        assert '{"move": "UP", "shout": "I go up"}' in fault.detail
        assert outcome.replay is not None
        assert str(seat) not in outcome.replay["moves"][1]
        assert outcome.replay["fallen"] == [[1, seat]]
        assert ranks_of(outcome.scores, outcome.faults)[seat] == 2


def test_the_same_bot_under_two_names_ends_exactly_even() -> None:
    steady = python_bot(STEADY)
    asked = snakes(steady, steady, pairs=15)
    played = outcomes(registry.game("battlesnake"), asked)
    for first, second in zip(played[::2], played[1::2], strict=True):
        assert first.outcome is not None
        assert second.outcome is not None
        assert first.outcome.state_hash == second.outcome.state_hash
    records = [match_record(asked, each) for each in played]
    assert Counter(record.seats for record in records) == {("a", "b"): 15, ("b", "a"): 15}
    result = scoring.matchup_result(asked.players, records, 15)
    assert result.standings["a"].share == result.standings["b"].share == 0.5


def test_three_players_take_every_seat_once_a_seed_and_are_credited_by_name() -> None:
    numbers = [python_bot(f'def move(state): return {{"pick": {n}}}\n') for n in (10, 50, 90)]
    asked = batch(*numbers, pairs=2)
    played = outcomes(guess(), asked)
    for pair in (0, 1):
        by_player: list[dict[str, float]] = []
        for each in played[3 * pair : 3 * pair + 3]:
            assert each.outcome is not None
            seats = match_record(asked, each).seats
            by_player.append(dict(zip(seats, each.outcome.scores, strict=True)))
        assert by_player[0] == by_player[1] == by_player[2]
    assert asked.players == ("a", "b", "c")


def test_results_do_not_depend_on_the_sandbox_or_the_company(anywhere: Backend) -> None:
    codes = python_bot(PICK), python_bot("import random\ndef move(state): return {'pick': random.randrange(100)}\n")
    asked = batch(*codes, pairs=3)
    alone = [outcomes(guess(), replace(asked, pairs=(pair,)))[rotation] for pair in asked.pairs for rotation in (0, 1)]
    together = outcomes(guess(), asked, anywhere)
    assert [o.state_hash for o in only(together)] == [o.state_hash for o in only(alone)]


def test_after_a_fault_the_others_play_on_and_the_next_match_is_whole(anywhere: Backend) -> None:
    crash = python_bot("def move(state):\n    if state['turn'] == 2: raise OSError('gone')\n    return {'pick': 42}\n")
    played = only(outcomes(guess(), batch(crash, python_bot(), python_bot()), anywhere))
    for rotation, outcome in enumerate(played):
        (fault,) = outcome.faults
        assert fault.seat == seat_order(3, rotation).index(0)
        assert (fault.kind, fault.turn, outcome.turns) == ("crash", 2, 5)
        assert fault.detail == "ended with exit code 1: OSError: gone (main.py, line 2)"
        assert "Traceback" in outcome.stderr[fault.seat]


def test_a_bot_that_is_gone_before_it_is_asked_has_lost_in_that_turn() -> None:
    leaving = python_bot("import os\ndef move(state):\n    os.write(3, b'{\"pick\": 1}\\n')\n    os._exit(4)\n")
    waiting = python_bot("import time\ndef move(state):\n    time.sleep(0.1)\n    return {'pick': 1}\n")
    (first, _) = only(outcomes(guess(), batch(leaving, waiting)))
    (fault,) = first.faults
    assert (fault.seat, fault.kind, fault.turn, fault.detail) == (0, "crash", 1, "ended with exit code 4")


def test_two_faults_of_one_turn_are_both_recorded() -> None:
    crash, garbage = python_bot("def move(state): 1 / 0\n"), python_bot("def move(state): return 5\n")
    (first, _) = only(outcomes(guess(), batch(crash, garbage)))
    assert [(fault.seat, fault.kind) for fault in sorted(first.faults, key=lambda f: f.seat)] == [
        (0, "crash"),
        (1, "not_json"),
    ]
    assert ranks_of(first.scores, first.faults) == (1, 1)


def test_replays_are_kept_of_the_first_pairs_and_of_every_forfeit() -> None:
    moody = python_bot("import os\ndef move(state): return {'pick': 1 if state['seat'] else 'x'}\n")
    asked = batch(python_bot(), python_bot(), pairs=3, replays=1)
    assert [outcome.replay is not None for outcome in only(outcomes(guess(), asked))] == [True, True] + [False] * 4
    asked = batch(moody, python_bot(), pairs=2, replays=0)
    assert [outcome.replay is not None for outcome in only(outcomes(guess(), asked))] == [True, False] * 2


# --- programs of other languages ------------------------------------------------------------------

# Goes round along the walls: reads its own head, the last one in the request.
C_BOT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        int x = 0, y = 0;
        const char *you = strstr(line, "\"you\":");
        const char *head = you ? strstr(you, "\"head\":{") : NULL;
        if (!head || sscanf(head, "\"head\":{\"x\":%d,\"y\":%d}", &x, &y) != 2) return 2;
        const char *move = y == 0 && x > 0 ? "left" : x == 0 && y < 10 ? "up" : y == 10 && x < 10 ? "right" : "down";
        printf("{\"move\": \"%s\"}\n", move);
        fflush(stdout);
    }
    return 0;
}
"""
SHELL_BOT = r"""#!/bin/sh
# The same, of the shell's own means: a bot may start no other process.
while read -r line; do
    you=${line##*\"you\":}
    head=${you##*\"head\":\{\"x\":}
    x=${head%%,*}
    y=${head#*\"y\":}
    y=${y%%\}*}
    if [ "$y" = 0 ] && [ "$x" -gt 0 ]; then move=left
    elif [ "$x" = 0 ] && [ "$y" -lt 10 ]; then move=up
    elif [ "$y" = 10 ] && [ "$x" -lt 10 ]; then move=right
    else move=down; fi
    echo "{\"move\": \"$move\"}"
done
"""


@pytest.fixture(scope="module")
def c_bot(tmp_path_factory: pytest.TempPathFactory) -> Code:
    """A compiled program and no source."""
    import subprocess

    need("gcc", "gcc libc6-dev")
    folder = tmp_path_factory.mktemp("c")
    (folder / "bot.c").write_text(C_BOT)
    subprocess.run(["gcc", "-O1", "-o", "bot", "bot.c"], cwd=folder, check=True)
    return code({"bot.toml": 'command = ["./bot"]\n', "bot": (folder / "bot").read_bytes()}, "bot")


SHELL = code({"bot.toml": 'command = ["./bot.sh", "an argument"]\n', "bot.sh": SHELL_BOT}, "bot.sh")


def test_a_compiled_bot_and_a_shell_bot_play_to_the_end(c_bot: Code, anywhere: Backend) -> None:
    game = registry.game("battlesnake")
    played = only(outcomes(game, snakes(c_bot, SHELL), anywhere))
    for outcome in played:
        assert outcome.faults == ()
        assert outcome.turns > 15
        assert referee.replayed(game, outcome.replay or {}, ()) == (outcome.scores, outcome.state_hash)
    same = only(outcomes(game, snakes(SHELL, c_bot), anywhere))
    assert {o.state_hash for o in same} == {o.state_hash for o in played}, "the two programs play alike"


def test_a_program_is_judged_like_any_bot(c_bot: Code, anywhere: Backend) -> None:
    dies = code({"bot.toml": 'command = ["/bin/sh", "-c", "read -r l; echo bye >&2; exit 3"]\n'})
    absent = code({"bot.toml": 'command = ["./none"]\n'})
    text = code({"bot.toml": 'command = ["./text"]\n', "text": "echo hello\n"})
    details = []
    for other in (dies, absent, text):
        (outcome, _) = only(outcomes(registry.game("battlesnake"), snakes(other, SHELL), anywhere))
        (fault,) = outcome.faults
        assert (fault.seat, fault.kind, fault.turn) == (0, "crash", 0)
        details.append(fault.detail)
    assert details[0] == "ended with exit code 3: bye"
    assert "FileNotFoundError: [Errno 2] No such file or directory: './none'" in details[1]
    assert "PermissionError: [Errno 13]" in details[2]


# --- validation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("submission", "says"),
    [
        (code({"main.py": PICK}), "bot.toml is missing"),
        (python_bot("def move(state:\n"), r"crash on the first move: ended with exit code 1: SyntaxError"),
        (
            python_bot("raise ValueError('early')\n"),
            "crash on the first move: ended with exit code 1: ValueError: early",
        ),
        (python_bot("# def move(state): pass\n"), "has no attribute 'move'"),
        (
            python_bot("def move(state): return {'pick': 'x'}\n"),
            "illegal_move on the first move: pick must be a number",
        ),
        (python_bot("def move(state): return 7\n"), "not_json on the first move: no JSON object"),
        (python_bot("while True: pass\n"), "start_timeout on the first move"),
        (code({"bot.toml": 'entry = "gone:move"\n'}), "ModuleNotFoundError: No module named 'gone'"),
    ],
)
def test_an_invalid_submission_is_told_its_reason(submission: Code, says: str, anywhere: Backend) -> None:
    with pytest.raises(SubmissionError, match=says):
        referee.validate(guess(), submission, anywhere, LIMITS, trusted=True)


@pytest.mark.parametrize(
    "submission",
    [
        python_bot(),
        python_bot("print('{}')\n" + PICK),
        python_bot("class move:\n    def move(self, state): return {'pick': 1}\n"),
        python_bot("class move:\n    def __call__(self, state): return {'pick': 1}\n"),
        code(
            {
                "bot.toml": 'entry = "pkg.bot:go"\n',
                "pkg/bot.py": "from .parts import go\n",
                "pkg/parts.py": "def go(state): return {'pick': 1}\n",
            }
        ),
    ],
)
def test_a_valid_submission_is_let_through(submission: Code, anywhere: Backend) -> None:
    referee.validate(guess(), submission, anywhere, LIMITS, trusted=True)


# --- our own side ---------------------------------------------------------------------------------


class _Failing(GuessEngine):
    """Breaks down where it is told to."""

    at = ""

    def _fail(self, where: str) -> None:
        if where == type(self).at and self.turn >= 1:
            raise ZeroDivisionError(where)

    def to_move(self) -> Any:
        self._fail("to_move")
        return super().to_move()

    def observe(self, seat: int) -> str:
        self._fail("observe")
        return super().observe(seat)

    def illegal(self, seat: int, reply: Mapping[str, Any]) -> str | None:
        self._fail("illegal")
        return super().illegal(seat, reply)

    def apply(self, replies: Mapping[int, Mapping[str, Any]]) -> None:
        self._fail("apply")
        super().apply(replies)

    @property
    def done(self) -> bool:
        self._fail("done")
        return super().done

    def scores(self) -> Any:
        self._fail("scores")
        return super().scores()


class _Stillborn(Guess):
    def engine(self, seats: int, seed: int) -> GuessEngine:
        raise KeyError("seats")


class _Endless(GuessEngine):
    @property
    def done(self) -> bool:
        return False

    def to_move(self) -> Any:
        return []


@pytest.mark.parametrize("where", ["to_move", "observe", "illegal", "apply", "done", "scores"])
def test_an_engine_that_breaks_its_contract_stops_the_run_by_name(where: str) -> None:
    engine = type("Engine", (_Failing,), {"at": where})
    game = type("Broken", (Guess,), {"made": engine})(Guess.Config())
    with pytest.raises(GameError, match=f"guess.*ZeroDivisionError: {where}"):
        outcomes(game, batch(python_bot(), python_bot()))


def test_an_engine_that_cannot_start_stops_the_run_by_name() -> None:
    with pytest.raises(GameError, match="guess could not start a match: KeyError"):
        outcomes(_Stillborn(Guess.Config()), batch(python_bot(), python_bot()))


def test_a_match_without_end_stops_the_run_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "MAX_TURNS", 50)
    game = type("Endless", (Guess,), {"made": _Endless})(Guess.Config())
    with pytest.raises(GameError, match="guess: a match went on for more than 50 turns"):
        outcomes(game, batch(python_bot(), python_bot()))


def test_a_match_that_our_side_spoilt_is_void_and_played_again() -> None:
    asked = batch(python_bot(), python_bot(), pairs=2)
    expected = [o.state_hash for o in only(outcomes(guess(), asked))]
    frail = Frail(1)
    played = outcomes(guess(), asked, frail)
    assert [(each.pair, each.rotation, each.outcome is None) for each in played] == [
        (0, 0, True),
        (0, 0, False),
        (0, 1, False),
        (1, 0, False),
        (1, 1, False),
    ]
    assert "the sandbox is gone: ended with exit code -9" in played[0].void
    assert [each.outcome.state_hash for each in played if each.outcome] == expected
    assert all(sandbox._closed for sandbox in frail.open_now)


def test_a_match_spoilt_three_times_pauses_the_run() -> None:
    told: list[Played] = []

    def play() -> None:
        for each in referee.play(guess(), batch(python_bot(), python_bot()), Frail(99)):
            told.append(each)

    with pytest.raises(SandboxError, match="pair 0 rotation 0 was void 3 times: the sandbox is gone"):
        play()
    assert [each.outcome for each in told] == [None] * 3


def test_a_bot_that_ran_its_sandbox_out_of_memory_has_lost() -> None:
    played = outcomes(guess(), batch(python_bot(), python_bot()), Frail(1, starved=True))
    assert len(played) == 2
    first, second = only(played)
    (fault,) = first.faults
    assert (fault.seat, fault.kind, fault.detail) == (0, "crash", "out of memory: 512 MB are allowed")
    assert first.replay is not None
    assert referee.replayed(guess(), first.replay, first.faults) == (first.scores, first.state_hash)
    assert second.faults == ()


def test_a_bot_that_the_memory_limit_killed_has_crashed_for_want_of_it() -> None:
    class Small(ProcessBackend):
        def open(self, spec: Any) -> Any:
            sandbox = super().open(spec)
            sandbox.out_of_memory = lambda: True  # type: ignore[method-assign]
            return sandbox

    killed = python_bot("import os\ndef move(state): os.kill(os.getpid(), 9)\n")
    (first, _) = only(outcomes(guess(), batch(killed, python_bot()), Small()))
    assert first.faults[0].detail == "out of memory: 512 MB are allowed"


@pytest.mark.parametrize(
    ("starved", "error", "says"),
    [
        (True, SubmissionError, "crash on the first move: out of memory: 512 MB are allowed"),
        (False, SandboxError, "the sandbox is gone"),
    ],
)
def test_validation_tells_a_starved_bot_from_a_sandbox_of_ours_that_was_lost(
    starved: bool, error: type[Exception], says: str
) -> None:
    class Lost(ProcessBackend):
        """Gone by the time that the bot is ended."""

        def open(self, spec: Any) -> Any:
            sandbox = super().open(spec)
            end = sandbox.ask_end

            def lose() -> None:
                sandbox._process.kill()
                sandbox._process.wait()
                end()

            sandbox.ask_end = lose  # type: ignore[method-assign]
            sandbox.out_of_memory = lambda: starved  # type: ignore[method-assign]
            return sandbox

    with pytest.raises(error, match=says):
        referee.validate(guess(), python_bot("def move(state): return 7\n"), Lost(), LIMITS, trusted=True)


def test_a_player_without_valid_code_forfeits_from_the_start_and_the_others_play_on() -> None:
    asked = batch(python_bot(), NO_CODE, python_bot(), absent={"b": "no bot.toml"})
    for played in outcomes(guess(), asked):
        assert played.outcome is not None
        (fault,) = played.outcome.faults
        assert fault.seat == seat_order(3, played.rotation).index(1)
        assert (fault.kind, fault.detail, fault.turn) == ("invalid_submission", "no bot.toml", 0)
        assert played.outcome.turns == 5
        assert played.outcome.cpu_seconds[fault.seat] is None
        raw = played.outcome.replay or {}
        assert referee.replayed(guess(), raw, played.outcome.faults) == (
            played.outcome.scores,
            played.outcome.state_hash,
        )


def test_only_the_tagged_tree_is_played() -> None:
    honest = python_bot()
    forged = Code(tree.tree_hash((FileEntry(b"x", "file", b""),)), honest.files)
    with pytest.raises(SandboxError, match="not the submitted tree"):
        outcomes(guess(), batch(forged, honest))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o711)
    outcomes(guess(), batch(python_bot(), python_bot()))
    with pytest.raises(SubmissionError):
        outcomes(guess(), batch(python_bot(), code({"x": ""})))
    half = referee.play(guess(), batch(python_bot(), python_bot(), pairs=5), ProcessBackend())
    next(half)
    half.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
