"""Submissions: what is refused, and that the reason names the place."""

import pytest

from arena.errors import SubmissionError
from arena.sandbox.base import Backend
from arena.types import Code, FileEntry, Limits, ranks_of
from games.corewar import pmars, warrior
from games.corewar.engine import Mars
from games.corewar.game import CoreWar
from tests.games.corewar.samples import IMP, batch, code

CANARY = "XYZZY-CANARY-73"


def refusal(game: CoreWar, backend: Backend, submission: Code) -> str:
    verdict = game.validate(submission, backend, Limits(), trusted=False)
    assert not verdict.valid
    assert "\n" not in verdict.reason
    assert len(verdict.reason) < 900
    return verdict.reason


@pytest.mark.parametrize("source", [IMP, IMP.replace(b"\n", b"\r\n"), "; été 日本\nmov.i 0, 1 ; ok é\n".encode()])
def test_a_legal_warrior_is_valid(game: CoreWar, built: pmars.Engine, backend: Backend, source: bytes) -> None:
    verdict = game.validate(code(source), backend, Limits(), trusted=False)
    assert verdict.valid, verdict.reason


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"", "empty"),
        (b";redcode\n;name only comments\n", "empty"),
        (
            b";assert 1\nmvo there\n",
            "empty: it assembles to no instruction; pMARS says: Warning: Discarding these labels",
        ),
        (
            b";assert 1\nmov.i 0, 1\nmov.i 0, nowhere\n",
            "line 3: 'mov.i 0, nowhere' Undefined label or symbol: 'nowhere'",
        ),
        (b";assert 1\nmov.i 0\n", "line 2"),
        (b";assert CORESIZE == 55440\nmov.i 0, 1\n", "Assertion in this line fails"),
        (b";assert 1\nfor 101\nmov.i 0, 1\nrof\n", "Too many instructions"),
        (b";assert 1\nfor 2000\nfor 2000\nmov.i 0, 1\nrof\nrof\n", "exceed the limit"),
        (b";assert 1\norg 7000\nmov.i 0, 1\n", "starts outside itself"),
        (b";assert 1\nmov.i 0, " + b"9" * 80 + b"\n", "crash"),
        (b"count ert CORESIZE==8000\n", "pMARS gives no reason"),
        (b"mov.i 0, 1\n" + b";" + b"x" * 251 + b"\n", "line 2 has 252 bytes"),
        (b"mov.i 0, 1\nmov\x00.i 0, 1\n", "line 2 holds a control character"),
        (bytes(range(256)), "control character"),
        (b"\x7fELF" + bytes(200), "control character"),
        (b"mov.i 0, 1 \x1b[31m\n", "control character"),
        (b"a\n" * 40_000, "80000 bytes, 65536 are allowed"),
        ("mov.i 0, é\n".encode(), "line 1"),
    ],
)
def test_an_illegal_warrior_is_refused_with_the_reason(
    game: CoreWar, built: pmars.Engine, backend: Backend, source: bytes, said: str
) -> None:
    reason = refusal(game, backend, code(source))
    assert said in reason
    assert "warrior.red" in reason


def test_a_missing_file_is_named(game: CoreWar, backend: Backend) -> None:
    assert "warrior.red is missing" in refusal(game, backend, Code("0" * 40, ()))
    elsewhere = Code("0" * 40, (FileEntry(b"src/warrior.red", "file", IMP),))
    assert "warrior.red is missing" in refusal(game, backend, elsewhere)


def test_a_link_is_not_followed(game: CoreWar, backend: Backend) -> None:
    link = Code("0" * 40, (FileEntry(b"warrior.red", "symlink", b"/etc/passwd"),))
    assert "symbolic link" in refusal(game, backend, link)


def test_a_source_that_assembles_for_ever_is_cut_off(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    nested = b";assert 1\n" + b"for 60000\n" * 6 + b"a equ 1\n" + b"rof\n" * 6
    verdict = game.validate(code(nested), backend, Limits(start_seconds=1.0, memory_mb=256), trusted=False)
    assert not verdict.valid


def test_names_full_of_commands_are_only_names(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    source = b";name 3 0\n0 0\ndone\n;author %n%n%s%s\n;strategy -@ /etc/passwd\n;redcode\n;name done\n" + IMP
    assert game.validate(code(source), backend, Limits(), trusted=False).valid


def test_no_text_of_a_warrior_comes_out_of_the_assembler(mars: Mars) -> None:
    source = f";name {CANARY}\n;author {CANARY}\nlabel{CANARY[:5]} mov.i 0, 1 ; {CANARY}\n".encode()
    assert mars.assemble(source, 2).numbers == "warrior 1 0 0 0\n6 1 0 1 1\n"


def test_nothing_of_the_opponent_is_in_a_match(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    secret = f";name {CANARY}\n;author {CANARY}\n;assert 1\nmov.i 0, 1 ; {CANARY}\n".encode()
    broken = f";name {CANARY}\n;assert 1\nmov.i {CANARY[:5]}, 1 ; {CANARY}\n".encode()
    for theirs in (secret, broken):
        told = repr(list(game.play(batch([code(IMP), code(theirs)], 2, replays=1), backend)))
        assert CANARY not in told
        assert CANARY[:5] not in told


def test_a_broken_warrior_forfeits_from_every_seat(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    for match in game.play(batch([code(IMP), code(b"garbage here\n"), code(IMP)], 1), backend):
        assert match.outcome is not None
        at_fault = next(seat for seat in range(3) if (seat + match.rotation) % 3 == 1)
        assert [(fault.seat, fault.kind) for fault in match.outcome.faults] == [(at_fault, "rejected")]
        ranks = ranks_of(match.outcome.scores, match.outcome.faults)
        assert ranks[at_fault] == 3
        assert sorted(ranks) == [1, 1, 3]


def test_two_broken_warriors_both_forfeit(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    first, second = game.play(batch([code(b""), code(b"")], 1), backend)
    assert first.outcome is not None
    assert second.outcome is not None
    assert {fault.seat for fault in first.outcome.faults} == {0, 1}
    assert first.outcome.scores == (0.0, 0.0)


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\xff",
        b"done\n",
        b"warrior 1 0 0\n6 1 0 1 1\ndone\n",
        b"warrior 2 0 0 0\n6 1 0 1 1\ndone\n",
        b"warrior 1 0 0 0\n6 1 0 1 1\nnone\n",
        b"warrior 1 0 0 0\n6 1 8000 1 1\ndone\n",
        b"warrior 1 0 0 0\n6 1 -1 1 1\ndone\n",
        b"warrior 1 0 0 0\n6 9 0 1 1\ndone\n",
        b"warrior 1 0 0 0\n7 1 0 1 1\ndone\n",
        b"warrior 1 0 0 0\n152 1 0 1 1\ndone\n",
        b"warrior 1 0 2 0\n6 1 0 1 1\ndone\n",
        b"warrior 1 1 0 0\n6 1 0 1 1\ndone\n",
        b"warrior 1 0 0 0\n6 1 0 1 1 1\ndone\n",
    ],
)
def test_an_assembler_gone_astray_yields_no_warrior(output: bytes) -> None:
    with pytest.raises(SubmissionError):
        warrior.parse(output, core_size=8000, max_length=100)


def test_length_is_checked_again(mars: Mars) -> None:
    two = b"warrior 2 0 0 0\n6 1 0 1 1\n6 1 0 1 1\ndone\n"
    assert warrior.parse(two, core_size=8000, max_length=2).length == 2
    with pytest.raises(SubmissionError, match="2 instructions, 1 are allowed"):
        warrior.parse(two, core_size=8000, max_length=1)


def test_complaints_are_bounded_and_printable() -> None:
    said = warrior.complaint(b"Error in line 1: '\x1b[31m\xff'\n        bad\n" * 200)
    assert said.isprintable()
    assert len(said) <= warrior.REASON + 3
