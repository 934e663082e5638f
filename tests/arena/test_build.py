"""Submissions with a build step: what it leaves is what plays."""

import pytest

from arena import build, compete, referee, registry, tree
from arena.errors import SubmissionError
from arena.sandbox.base import Backend
from arena.sandbox.process import ProcessBackend
from arena.types import Code
from tests.arena.parts import GUESS, LIMITS, backend, batch, code, guess, need, python_bot
from tests.arena.test_referee import C_BOT, SHELL, snakes

MAKEFILE = "bot: bot.c\n\tgcc -O1 -o bot bot.c\n"


@pytest.fixture(params=["process", "bubblewrap"])
def anywhere(request: pytest.FixtureRequest) -> Backend:
    return backend(request.param)


def source(command: str, **files: str) -> Code:
    return code({"bot.toml": f"command = ['./bot']\nbuild = '''{command}'''\n", **files})


def test_what_needs_no_building_is_taken_as_it_is() -> None:
    submission = python_bot()
    assert build.built(submission, ProcessBackend(), trusted=False) is submission


def test_a_program_is_built_where_it_plays_and_its_product_plays(anywhere: Backend) -> None:
    need("gcc", "gcc libc6-dev")
    need("make", "make")
    submission = source("make", **{"Makefile": MAKEFILE, "bot.c": C_BOT})
    product = build.built(submission, anywhere, trusted=True)
    assert {entry.path: entry.kind for entry in product.files} == {
        b"Makefile": "file",
        b"bot": "executable",
        b"bot.c": "file",
        b"bot.toml": "file",
    }
    assert product.tree == tree.tree_hash(product.files) != submission.tree
    played = list(referee.play(registry.game("battlesnake"), snakes(product, SHELL), anywhere))
    assert all(each.outcome and not each.outcome.faults and each.outcome.turns > 15 for each in played)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("exit 7", "^bot.toml: build failed with exit code 7: $"),
        ("echo one; echo 'bot.c:3: no such thing' >&2; exit 2", "failed with exit code 2: bot.c:3: no such thing$"),
        ("no-such-program", "failed with exit code 127: .*no-such-program: command not found$"),
        ("kill -9 $$", "^bot.toml: build failed with exit code 137: $"),
        ("echo " + "x" * 500 + "; exit 1", "exit code 1: x{300}$"),
        (
            "head -c 60000000 /dev/zero > big",
            "^bot.toml: build: the codebase can't be saved: .*50000000 are allowed.*'big'",
        ),
        ("for i in $(seq 6000); do : > f$i; done", "^bot.toml: build: .*more than 5000 files"),
    ],
)
def test_a_failed_build_is_an_invalid_submission_with_its_reason(command: str, says: str) -> None:
    with pytest.raises(SubmissionError, match=says):
        build.built(source(command), ProcessBackend(), trusted=True)


def test_a_build_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(build, "_ALLOWANCE", replace(build._ALLOWANCE, step_seconds=0.3))
    with pytest.raises(SubmissionError, match=r"build failed with exit code 124: \[stopped after 0.3 s; what the"):
        build.built(source("echo started; sleep 60"), ProcessBackend(), trusted=True)


def test_validation_builds_first_and_keeps_the_product() -> None:
    submission = code(
        {
            "bot.toml": "entry = 'made:move'\nbuild = 'cp source.txt made.py'\n",
            "source.txt": "def move(s): return {'pick': 1}",
        }
    )
    prepared = compete.prepare(GUESS, {}, submission, LIMITS, "process", True)
    assert prepared.verdict.valid
    assert prepared.code is not None
    assert prepared.code.get("made.py") == b"def move(s): return {'pick': 1}"
    played = list(referee.play(guess(), batch(prepared.code, prepared.code), ProcessBackend()))
    assert not any(each.outcome.faults for each in played if each.outcome)


def test_validation_tells_of_a_failed_build() -> None:
    prepared = compete.prepare(GUESS, {}, source("echo 'line 3: no' >&2; exit 1"), LIMITS, "process", True)
    assert prepared.code is None
    assert prepared.verdict.reason == "bot.toml: build failed with exit code 1: line 3: no"
