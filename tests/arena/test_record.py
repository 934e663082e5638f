import gzip
import json
import random
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from arena import store
from arena.documents import RunDocument, Spend
from arena.errors import ConfigError, RecordError
from arena.record import Record, RecordWriter
from arena.types import Fault
from tests.arena.samples import (
    SEED,
    batch,
    create,
    edit_document,
    lock_document,
    outcome,
    pairs,
    record_of,
    round_document,
    run_document,
    step,
    whole_batch,
)
from tests.arena.test_store import NAMES, limited_file_size


@pytest.fixture
def record(tmp_path: Path) -> Iterator[RecordWriter]:
    with create(tmp_path / "results") as record:
        yield record


Reopen = Callable[[RecordWriter], RecordWriter]


@pytest.fixture
def reopen() -> Iterator[Reopen]:
    """Closes a record and opens it again, as a resume does."""
    with ExitStack() as stack:

        def again(record: RecordWriter) -> RecordWriter:
            record.close()
            return stack.enter_context(Record.open(record.path))

        yield again


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def fill_round(record: RecordWriter, round_: int = 0, batches: int = 3) -> None:
    chunks = [pairs(2 * batches, round_)[2 * n : 2 * n + 2] for n in range(batches)]
    for chunk in chunks:
        record.write_part(whole_batch(batch(chunk, round_=round_)))


def close(record: RecordWriter, round_: int = 0) -> None:
    record.close_round(round_document(record.matches(round_), round_))


def test_a_new_run_holds_what_it_was_started_with(record: RecordWriter) -> None:
    assert re.fullmatch(r"chess-\d{8}-\d{6}-[0-9a-f]{4}", record.path.name)
    assert record.config_source == b"seed: 7\n"
    assert record.config["seed"] == SEED
    assert record.lock == lock_document()
    assert record.run == run_document()
    assert record.rounds() == []
    assert record.warnings == []


def test_runs_of_the_same_second_get_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter(["0001", "0001", "0001", "0002"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(draws))
    second = int(time.time())
    first, other = create(tmp_path), create(tmp_path)
    if int(time.time()) == second:  # else the first draw was free
        assert other.path.name.endswith("0002")
    assert first.path != other.path
    first.close()
    other.close()


def test_names_of_games_make_no_path(tmp_path: Path) -> None:
    with create(tmp_path, game="my.games:../X") as record:
        assert record.path.parent == tmp_path


def test_a_chosen_output_is_used_if_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/deeper"):
        with create(tmp_path, tmp_path / name) as record:
            assert record.path == tmp_path / name
            assert record.run.game == "chess"


def test_a_chosen_output_that_holds_something_is_refused_and_unchanged(record: RecordWriter, tmp_path: Path) -> None:
    record.close()
    before = contents(record.path)
    with pytest.raises(ConfigError, match="is not empty; name a new folder, or use: arena resume"):
        create(tmp_path, record.path)
    assert contents(record.path) == before


def test_a_second_writer_is_refused_and_a_reader_is_not(record: RecordWriter) -> None:
    with pytest.raises(RecordError, match="in use"):
        Record.open(record.path)
    assert Record.read(record.path).run == record.run


def test_another_process_is_refused_too_until_the_writer_is_gone(record: RecordWriter) -> None:
    code = "import sys; from pathlib import Path; from arena.record import Record; Record.open(Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(record.path)]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "RecordError" in refused.stderr
    assert "in use" in refused.stderr
    record.close()
    assert subprocess.run(command, check=False).returncode == 0


def test_opening_a_run_that_is_whole_changes_no_byte(record: RecordWriter) -> None:
    fill_round(record)
    close(record)
    record.begin_attempt("ada", 1)
    record.append_step(step("ada", 1))
    record.write_run(run_document("finished"))
    record.close()
    before = contents(record.path)
    Record.open(record.path).close()
    assert contents(record.path) == before


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for read in (Record.read, Record.open, Record.summary):
        with pytest.raises(RecordError, match=r"run\.json can't be read"):
            read(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [(b'{"schema_version": 2}', "schema_version is 2"), (b'{"schema', "damaged"), (b"\xff\xfe", "damaged")],
)
def test_a_summary_of_a_damaged_or_newer_run_says_so(record: RecordWriter, content: bytes, message: str) -> None:
    (record.path / "run.json").write_bytes(content)
    with pytest.raises(RecordError, match=message):
        Record.summary(record.path)


def test_a_summary_reads_run_json_alone_while_the_run_goes_on(record: RecordWriter) -> None:
    record.write_run(run_document(rounds_done=2))
    for path in record.path.iterdir():
        if path.is_file() and path.name != "run.json":
            path.write_bytes(b"torn")
    assert Record.summary(record.path).rounds_done == 2


def test_a_config_without_a_seed_is_damaged(record: RecordWriter) -> None:
    (record.path / "config.json").write_bytes(b"[]")
    with pytest.raises(RecordError, match=r"config\.json is damaged: seed: missing"):
        record.matches(0)


def test_a_resume_with_another_config_names_the_key(record: RecordWriter) -> None:
    same = {"players": [{"name": "ada"}, {"name": "bob"}], "rounds": 3, "seed": SEED}
    record.require_config(same)
    with pytest.raises(ConfigError, match=r"^rounds: differs from what"):
        record.require_config({**same, "rounds": 4})
    with pytest.raises(ConfigError, match=r"^players\.1\.name: differs"):
        record.require_config({**same, "players": [{"name": "ada"}, {"name": "eve"}]})


def test_a_round_is_joined_from_its_parts(record: RecordWriter) -> None:
    fill_round(record, 0)
    folder = record.round_folder(0)
    open_ = record.matches(0)
    assert record.finished_pairs(0) == {(0, pair) for pair in range(6)}
    close(record)
    assert sorted(path.name for path in folder.iterdir()) == ["matches.jsonl.gz", "replays", "round.json"]
    assert record.matches(0) == open_
    assert [match.match_id for match in open_] == [f"000-00-{pair:04d}-{turn}" for pair in range(6) for turn in (0, 1)]
    assert record.rounds() == [0]
    assert record.round(0).winner == "ada"
    assert record.events() == []


def test_the_joined_file_does_not_depend_on_the_order_of_the_batches(tmp_path: Path) -> None:
    files = []
    for order in ((0, 1, 2), (2, 0, 1)):
        with create(tmp_path) as record:
            for number in order:
                record.write_part(whole_batch(batch(pairs(6)[2 * number : 2 * number + 2])))
            close(record)
            files.append((record.round_folder(0) / "matches.jsonl.gz").read_bytes())
    assert files[0] == files[1]
    assert len(gzip.decompress(files[0]).splitlines()) == 12


def test_a_closed_round_never_changes(record: RecordWriter) -> None:
    fill_round(record)
    document = round_document(record.matches(0))
    record.close_round(document)
    before = contents(record.round_folder(0))
    with pytest.raises(RecordError, match=r"round 0 of .* is closed"):
        record.write_part(whole_batch(batch(pairs(9)[8:])))
    with pytest.raises(RecordError, match="is closed"):
        record.close_round(document)
    assert contents(record.round_folder(0)) == before


def test_a_round_closes_only_with_the_matches_its_result_counts(record: RecordWriter) -> None:
    fill_round(record)
    document = round_document(record.matches(0)[:-2], planned=6)
    with pytest.raises(RecordError, match="matchup 0 has 12 matches, its result says 10"):
        record.close_round(document)
    assert not record.has_round(0)


def test_a_round_without_matches_can_be_closed(record: RecordWriter) -> None:
    record.close_round(round_document([]))
    assert record.matches(0) == []
    assert record.round(0).standings == {}


def test_unfinished_batches_are_refused(record: RecordWriter) -> None:
    matches = whole_batch(batch(pairs(2)))
    with pytest.raises(RecordError, match="a pair lacks rotations"):
        record.write_part(matches[:3])
    with pytest.raises(RecordError, match="several matchups"):
        record.write_part([*matches, *whole_batch(batch(pairs(2, 0, 1), matchup=1))])
    assert record.matches(0) == []


def test_a_batch_is_recorded_once(record: RecordWriter) -> None:
    matches = whole_batch(batch(pairs(2)))
    record.write_part(matches)
    with pytest.raises(RecordError, match="is there already"):
        record.write_part(matches)
    overlapping = whole_batch(batch(pairs(3)[1:]))
    record.write_part(overlapping)
    with pytest.raises(RecordError, match="match 000-00-0001-0 is there twice"):
        record.matches(0)


def test_matches_of_another_round_are_refused_by_name(record: RecordWriter) -> None:
    """As when the engine wrote nothing and last round's files still lay there."""
    fill_round(record, 0)
    close(record, 0)
    record.write_part(whole_batch(batch(pairs(2, 1), round_=1)))
    parts = record.round_folder(1) / "parts"
    stray = store.pack(
        store.to_json({"schema_version": 1, "matches": [json.loads(store.to_json(record.matches(0)[0]))]})
    )
    (parts / "00-000009.json.gz").write_bytes(stray)
    with pytest.raises(RecordError, match=r"00-000009\.json\.gz: match 000-00-0000-0 is of round 0, not 1"):
        record.matches(1)
    (parts / "00-000009.json.gz").unlink()
    assert len(record.matches(1)) == 4


def test_a_round_that_played_nothing_has_no_matches(record: RecordWriter) -> None:
    fill_round(record, 0)
    close(record, 0)
    assert record.matches(1) == []
    assert record.finished_pairs(1) == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [({"seed": 5}, "has a seed of another run"), ({"pair": 3}, "is called otherwise"), ({"round": 2}, "is of round 2")],
)
def test_matches_that_are_not_what_they_are_called_are_refused(record: RecordWriter, change, message: str) -> None:
    matches = whole_batch(batch(pairs(1)))
    strays = [match.model_copy(update=change) for match in matches]
    with pytest.raises(RecordError, match=message):
        record.write_part([matches[0], strays[1]])
    fill_round(record)
    close(record)
    path = record.round_folder(0) / "matches.jsonl.gz"
    path.write_bytes(store.pack(store.to_lines([strays[0], *record.matches(0)[1:]])))
    with pytest.raises(RecordError, match=rf"matches\.jsonl\.gz: line 1: match 000-00-0000-0 {message}"):
        record.matches(0)


def test_a_truncated_part_is_an_error_that_names_it(record: RecordWriter) -> None:
    fill_round(record)
    path = record.round_folder(0) / "parts" / "00-000002.json.gz"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(RecordError, match=r"00-000002\.json\.gz is damaged"):
        record.finished_pairs(0)


def test_a_round_in_the_wrong_folder_is_refused(record: RecordWriter) -> None:
    fill_round(record)
    close(record)
    record.round_folder(0).rename(record.round_folder(4))
    with pytest.raises(RecordError, match="is of round 0; it was put into the wrong folder"):
        record.round(4)


def test_replays_are_kept_and_those_of_matches_that_were_played_again_are_not(record: RecordWriter) -> None:
    of = batch(pairs(1))
    result = outcome([0, 1], [Fault(0, "crash")], replay={"moves": [1, 2]})
    matches = [record_of(of, of.pairs[0], 0, result), record_of(of, of.pairs[0], 1, outcome([1, 0]))]
    record.write_part(matches, {"000-00-0000-0": {"moves": [1, 2]}, "000-00-0000-1": {"moves": []}})
    close(record)
    assert record.replays(0) == ["000-00-0000-0"]
    assert record.replay("000-00-0000-0") == {"moves": [1, 2]}
    with pytest.raises(RecordError, match=r"000-00-0000-1\.json\.gz can't be read"):
        record.replay("000-00-0000-1")


@pytest.mark.parametrize(
    "name", ["../../run", "000-00-0000-0/../x", "", "000-00-0000-0\n", "\u0660\u0660\u0660-00-0000-0"]
)
def test_what_names_no_match_is_refused(record: RecordWriter, name: str) -> None:
    with pytest.raises(RecordError, match="names no match"):
        record.replay(name)


def test_what_a_kill_left_before_the_commit_of_a_round_is_cleaned(record: RecordWriter, reopen: Reopen) -> None:
    fill_round(record)
    matches, folder = record.matches(0), record.round_folder(0)
    store.write_atomic(folder / "matches.jsonl.gz", store.pack(store.to_lines(matches)))
    leftovers = [folder / ".round.json.new", folder / "parts" / ".x.json.gz.new", record.path / ".run.json.new"]
    for path in leftovers:
        path.write_bytes(b"half")
    record = reopen(record)
    assert not any(path.exists() for path in [*leftovers, folder / "matches.jsonl.gz"])
    assert record.matches(0) == matches
    close(record)
    assert record.matches(0) == matches


def test_what_a_kill_left_after_the_commit_of_a_round_is_cleaned(record: RecordWriter, reopen: Reopen) -> None:
    fill_round(record)
    parts = contents(record.round_folder(0) / "parts")
    close(record)
    (record.round_folder(0) / "parts").mkdir()
    for name, data in parts.items():
        (record.round_folder(0) / "parts" / name).write_bytes(data)
    record = reopen(record)
    assert not (record.round_folder(0) / "parts").exists()
    assert len(record.matches(0)) == 12


def test_finished_edits_are_facts(record: RecordWriter) -> None:
    assert not record.has_edit("ada", 1)
    assert record.begin_attempt("ada", 1) == 1
    record.write_edit(edit_document("ada"))
    assert record.has_edit("ada", 1)
    assert record.edit("ada", 1) == edit_document("ada")
    with pytest.raises(RecordError, match="the edit of 'ada' in round 1 is finished"):
        record.begin_attempt("ada", 1)
    assert record.begin_attempt("ada", 2) == 1


def test_partial_attempts_and_their_spend_stay(record: RecordWriter) -> None:
    for attempt in (1, 2):
        assert record.begin_attempt("ada", 1) == attempt
        for number in range(attempt):
            record.append_step(step("ada", number, attempt=attempt))
            record.charge("ada", 1, attempt, "call", Spend(tokens=10, cost=0.25))
    assert record.begin_attempt("ada", 1) == 3  # took no step
    assert [(s.attempt, s.step) for s in record.all_steps("ada", 1)] == [(1, 0), (2, 0), (2, 1)]
    assert record.steps("ada", 1) == []
    record.write_edit(edit_document("ada", attempt=2))
    assert [s.step for s in record.steps("ada", 1)] == [0, 1]
    assert record.spend("ada", 1) == Spend(tokens=30, cost=0.75)
    record.charge("ada", 2, 1, "call of unknown price", Spend(tokens=1, cost=None))
    assert record.spend("ada") == Spend(tokens=31, cost=None)
    assert record.spend("ada", 1).cost == 0.75
    assert record.spend("bob") == Spend(tokens=0, cost=0.0)
    assert record.all_steps("bob", 1) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name])
def test_any_name_can_play(record: RecordWriter, name: str) -> None:
    outside = contents(record.path.parent.parent)
    record.begin_attempt(name, 1)
    record.append_step(step(name, 1, command="touch pwned"))
    record.write_edit(edit_document(name))
    assert record.steps(name, 1)[0].player == name
    assert record.edit(name, 1).player == name
    assert record.player_folder(name).parent == record.path / "players"
    new = set(contents(record.path.parent.parent)) - set(outside)
    prefix = f"results/{record.path.name}/players/{store.folder_name(name)}/"
    assert new == {prefix + file for file in ("ledger.jsonl", "001.steps.jsonl", "001.edit.json")}


@pytest.mark.parametrize("lone_newline", [False, True])
@pytest.mark.parametrize("lost", [10, 200])
def test_torn_lines_are_repaired_on_opening_with_a_warning_and_an_event(
    record: RecordWriter, reopen: Reopen, lost: int, lone_newline: bool
) -> None:
    record.begin_attempt("ada", 1)
    for number in range(3):
        record.append_step(step("ada", number))
    path = record.player_folder("ada") / "001.steps.jsonl"
    for _ in range(2):
        path.write_bytes(path.read_bytes()[:-lost] + b"\n" * lone_newline)
        record = reopen(record)
        assert len(record.warnings) == 1
        assert "001.steps.jsonl: line 3 was torn" in record.warnings[0]
        assert record.events()[-1].data == {"warning": record.warnings[0]}
        record.append_step(step("ada", 2))
        assert [s.step for s in record.all_steps("ada", 1)] == [0, 1, 2]


def test_a_broken_chain_lets_the_lock_go(record: RecordWriter, reopen: Reopen) -> None:
    record.event("one")
    record.event("two")
    record.close()
    path = record.path / "events.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"one"', b'"six"'))
    with pytest.raises(RecordError, match="line 2 does not follow"):
        Record.open(record.path)
    path.write_bytes(whole)
    assert [event.type for event in reopen(record).events()] == ["one", "two"]


def test_a_full_disk_leaves_the_last_state(record: RecordWriter) -> None:
    with limited_file_size(100), pytest.raises(RecordError, match="can't be written"):
        record.write_run(run_document("finished"))
    assert record.run.status == "running"
    with limited_file_size(100), pytest.raises(RecordError, match="can't be written"):
        record.write_part(whole_batch(batch(pairs(2))))
    assert record.matches(0) == []
    record.write_part(whole_batch(batch(pairs(2))))


WRITER = """
import sys
from pathlib import Path
from arena.documents import Spend
from arena.record import Record
from tests.arena.samples import *

with Record.open(Path(sys.argv[1])) as record:
    print("ready", flush=True)
    n = len(record.rounds())
    while True:
        record.event("round_started", round=n)
        for player in ("ada", "b/b"):
            if not record.has_edit(player, n):
                attempt = record.begin_attempt(player, n)
                for number in range(3):
                    record.append_step(step(player, number, n, attempt))
                    record.charge(player, n, attempt, "call", Spend(tokens=1, cost=0.5))
                record.write_edit(edit_document(player, n, attempt))
        done = record.finished_pairs(n)
        for chunk in schedule.batches([p for p in pairs(6, n) if (0, p.index) not in done], 2):
            matches = whole_batch(batch(chunk, round_=n), replay={"moves": [1] * 50})
            record.write_part(matches, {match.match_id: {"moves": [1] * 50} for match in matches})
            record.event("batch_finished", first=chunk[0].index)
        record.close_round(round_document(record.matches(n), n))
        record.write_run(run_document(rounds_done=n))
        n += 1
"""


def test_killed_at_any_moment_the_record_is_whole(record: RecordWriter) -> None:
    record.close()
    chance, edits, closed = random.Random(5), {}, {}
    for _ in range(20):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(record.path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0, 0.15))
            writer.send_signal(signal.SIGKILL)
        look(Record.read(record.path))  # as it lies there
        with Record.open(record.path) as opened:
            assert not [path for path in record.path.rglob("*.new")]
            look(opened)
            for number in opened.rounds():
                assert not (opened.round_folder(number) / "parts").exists()
                state = (contents(opened.round_folder(number)), opened.edit("ada", number))
                assert closed.setdefault(number, state) == state
            edits |= {n: opened.edit("b/b", n) for n in opened.rounds()}
    assert len(closed) > 2, "the writer was killed before it did anything"


def look(record: Record) -> None:
    """Read everything there is; nothing half-written, lost or doubled."""
    assert isinstance(record.run, RunDocument)
    assert record.run.rounds_done in (len(record.rounds()) - 1, len(record.rounds()) - 2)
    assert [event.seq for event in record.events()] == list(range(len(record.events())))
    assert record.rounds() == list(range(len(record.rounds())))
    for number in [*record.rounds(), len(record.rounds())]:
        matches = record.matches(number)
        assert record.finished_pairs(number) == {(0, match.pair) for match in matches}
        assert all(record.replay(match.match_id)["moves"] for match in matches)
        for player in ("ada", "b/b"):
            charged, steps = record.spend(player, number).tokens, len(record.all_steps(player, number))
            assert steps - record.attempts(player, number) <= charged <= steps  # a kill may fall between the two
            if record.has_edit(player, number):
                assert [s.step for s in record.steps(player, number)] == [0, 1, 2]
        if record.has_round(number):
            assert len(matches) == record.round(number).matchups[0].played == 12
