import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from arena import SCHEMA_VERSION
from arena.documents import (
    DETAIL_CHARACTERS,
    STDERR_CHARACTERS,
    EditDocument,
    LedgerDocument,
    LockDocument,
    MatchRecord,
    MatchupResult,
    PartDocument,
    RoundDocument,
    RunDocument,
    Spend,
    StepDocument,
    match_record,
    total,
)
from arena.errors import GameError
from arena.events import Event
from arena.store import to_json
from arena.types import Fault, Played, points_of, ranks_of
from tests.arena.samples import batch, outcome, pairs, record_of, run_document, step, whole_batch

DOCUMENTS = [
    EditDocument,
    Event,
    LedgerDocument,
    LockDocument,
    MatchRecord,
    MatchupResult,
    PartDocument,
    RoundDocument,
    RunDocument,
    StepDocument,
]


@pytest.mark.parametrize("model", DOCUMENTS)
def test_every_document_carries_the_schema_version_and_refuses_unknown_keys(model) -> None:
    assert model.model_fields["schema_version"].default == SCHEMA_VERSION
    assert model.model_config["extra"] == "forbid"
    assert model.model_config["frozen"]


def test_a_record_says_what_was_played() -> None:
    of = batch(pairs(9, 3, 1)[7:], round_=3, matchup=1)
    fault = Fault(1, "crash", "Traceback", 4, 0.25, 0.5)
    result = outcome([1, 5], [fault], stderr=("", "boom"), replay={"moves": []}, details={"cause": ("wall", 1)})
    record = record_of(of, of.pairs[0], 1, result, voids=2, rechecked=True)
    assert record.match_id == "003-01-0007-1"
    assert record.seats == ("bob", "ada")
    assert (record.ranks, record.points, record.winner) == ((1, 2), (1, 0), "bob")
    assert (record.termination, record.faults[0].player, record.faults[0].cpu_seconds) == ("crash", "ada", 0.25)
    assert (record.voids, record.rechecked, record.replay, record.batch) == (2, True, True, (7, 8))
    assert record.details == {"cause": ["wall", 1]}
    assert MatchRecord.model_validate_json(to_json(record)) == record


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.integers(0, 3), st.sets(st.integers(0, 3)))
def test_ranks_points_and_winner_follow_the_one_rule_and_credit_follows_the_name(scores, rotation, fallen) -> None:
    faults = [Fault(seat, "illegal_move", turn=seat) for seat in sorted(fallen)]
    of = batch(pairs(1), "abcd")
    record = record_of(of, of.pairs[0], rotation, outcome(scores, faults))
    ranks = ranks_of(scores, faults)
    assert (record.ranks, record.points) == (ranks, points_of(ranks))
    assert record.seats == tuple("abcd"[(seat + rotation) % 4] for seat in range(4))
    best = [record.seats[seat] for seat in range(4) if ranks[seat] == 1]
    assert record.winner == (best[0] if len(best) == 1 else None)


@pytest.mark.parametrize(
    ("seats", "faults", "termination"),
    [
        (2, [], "completed"),
        (2, [(0, "crash", 3)], "crash"),
        (4, [(0, "crash", 3)], "completed"),  # three played on
        (4, [(0, "crash", 3), (1, "not_json", 9), (2, "silence", 5)], "not_json"),
        (1, [], "completed"),
        (1, [(0, "oversize", 0)], "oversize"),
        (2, [(0, "silence", 2), (1, "silence", 2)], "silence"),
    ],
)
def test_termination(seats: int, faults: list[tuple], termination: str) -> None:
    of = batch(pairs(1), "abcd"[:seats])
    given_ = [Fault(seat, kind, turn=turn) for seat, kind, turn in faults]
    assert record_of(of, of.pairs[0], 0, outcome([0] * seats, given_)).termination == termination


def test_what_bots_wrote_is_bounded_head_and_tail() -> None:
    of = batch(pairs(1))
    text = "head" + "x" * 100_000 + "tail"
    record = record_of(of, of.pairs[0], 0, outcome([0, 0], [Fault(0, "crash", text)], stderr=(text, "short")))
    for kept, limit in ((record.stderr[0], STDERR_CHARACTERS), (record.faults[0].detail, DETAIL_CHARACTERS)):
        assert kept.startswith("headx")
        assert kept.endswith("xtail")
        assert len(kept) < limit + 60
    assert record.stderr[1] == "short"


def test_text_that_utf8_cannot_hold_is_replaced_everywhere() -> None:
    of = batch(pairs(1))
    bad = "a\ud800b"
    result = outcome([0, 0], [Fault(0, "crash", bad)], stderr=(bad, ""), details={bad: [bad]})
    record = record_of(of, of.pairs[0], 0, result)
    assert MatchRecord.model_validate_json(to_json(record)) == record
    assert record.details == {"a?b": ["a?b"]}
    assert json.loads(to_json(step("ada", 1, output=bad)))["output"] == "a?b"


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"scores": (float("nan"), 0.0)}, "scores"),
        ({"details": {"x": float("inf")}}, "details"),
        ({"details": {"x": object()}}, "details"),
    ],
)
def test_numbers_no_result_may_have_stop_the_run(change, key: str) -> None:
    of = batch(pairs(1))
    base = {"scores": (1.0, 0.0), "turns": 1, "state_hash": "0"} | change
    from arena.types import Outcome

    with pytest.raises(GameError, match=rf"match 000-00-0000-0 of chess: {key}"):
        record_of(of, of.pairs[0], 0, Outcome(**base))


def test_a_void_has_no_record() -> None:
    of = batch(pairs(1))
    with pytest.raises(GameError, match="is void \\(lost\\)"):
        match_record(of, Played(0, 0, of.pairs[0].seed, None, "fresh", 0.1, "lost"))


def test_documents_do_not_change() -> None:
    record = whole_batch(batch(pairs(1)))[0]
    with pytest.raises(ValidationError):
        record.winner = "bob"
    with pytest.raises(ValidationError):
        MatchRecord.model_validate({**record.model_dump(), "extra": 1})


def test_unknown_cost_is_null_and_stays_unknown_in_sums() -> None:
    assert json.loads(to_json(run_document()))["totals"]["cost"] is None
    known, unknown = Spend(tokens=3, cost=0.5), Spend(tokens=4, cost=None)
    assert total([known, known]) == Spend(tokens=6, cost=1.0)
    assert total([known, unknown]) == Spend(tokens=7, cost=None)
    assert total([]) == Spend(tokens=0, cost=0.0)
