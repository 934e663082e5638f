"""What kept bots log is not lost."""

import pytest

from arena import referee
from arena.sandbox.process import ProcessBackend
from tests.arena.parts import batch, guess, python_bot

LOGGING = "print('loaded NAME')\ndef move(state):\n    return {'pick': 42}\n"


@pytest.mark.parametrize("pairs", [1, 20])
def test_the_log_of_a_batch_stands_with_its_last_match_and_under_its_owner(pairs: int) -> None:
    bots = (python_bot(LOGGING.replace("NAME", "ann")), python_bot(LOGGING.replace("NAME", "bob")))
    played = list(referee.play(guess(), batch(*bots, pairs=pairs, hosting="kept"), ProcessBackend()))
    assert len(played) == 2 * pairs
    *earlier, last = played
    assert all(each.outcome is not None and each.outcome.stderr == ("", "") for each in earlier)
    assert last.rotation == 1, "seats are swapped, and the logs with them"
    assert last.outcome is not None
    assert last.outcome.stderr == ("loaded bob\n", "loaded ann\n")
