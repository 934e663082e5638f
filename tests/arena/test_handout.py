"""What a player gets to read of earlier rounds, and what it must never get to read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arena import referee, tree
from arena.config import TournamentConfig
from arena.handout import MAX_REPLAYS, Handout
from arena.record import RecordWriter
from arena.repo import Repo
from arena.sandbox.base import Mount
from arena.sandbox.process import ProcessBackend
from arena.types import Code, Fault, FileEntry, Outcome, Pair
from tests.arena.parts import batch, guess, python_bot
from tests.arena.samples import SEED, create, outcome, pairs, record_of, round_document, step
from tests.conformance.doubles import Guess

CANARY = "canary-of-bob"
CODES = {"ada": python_bot(), "bob": python_bot(f"# {CANARY}\ndef move(state): return {{'pick': 1}}\n")}


def config(transparent: bool = False) -> TournamentConfig:
    players = [{"name": name, "agent": "frozen", "bot": "x"} for name in CODES]
    return TournamentConfig.model_validate(
        {"game": "g", "players": players, "rounds": 2, "matches": 2, "seed": SEED, "transparent": transparent}
    )


def put(record: RecordWriter, name: str, code: Code) -> None:
    record.player_folder(name).mkdir(parents=True, exist_ok=True)
    repo = Repo.create(record.repo_path(name))
    repo.commit(code.files, CANARY if name == "bob" else "start", 0)
    repo.tag(0)


def own(asked: tuple[Pair, ...], fault_of: int | None) -> list[Any]:
    """Matches of ada and bob, in which both logged; `fault_of` player, 0 or 1, crashed in all."""
    of = replace(batch(*CODES.values(), players=("ada", "bob")), pairs=asked)
    records = []
    for pair in asked:
        for rotation in (0, 1):
            seat = None if fault_of is None else (fault_of - rotation) % 2
            faults = [] if seat is None else [Fault(seat, "crash", f"{('ada', CANARY)[fault_of or 0]} broke", 3)]
            logs = ("log of ada", f"log of {CANARY}")
            result: Outcome = outcome(
                (1, 0), faults, stderr=logs if rotation == 0 else logs[::-1], replay=raw_replay(pair.seed)
            )
            records.append(record_of(of, pair, rotation, result))
    return records


@cache
def _moves() -> Mapping[str, Any]:
    (first, _) = referee.play(guess(), batch(python_bot(), python_bot()), ProcessBackend())
    assert first.outcome is not None
    assert first.outcome.replay is not None
    return first.outcome.replay


def raw_replay(seed: int) -> dict[str, Any]:
    """What the referee keeps of a real match, as though of `seed`."""
    return {**_moves(), "seed": seed}


def a_round(folder: Path, codes: Mapping[str, Code] = CODES) -> RecordWriter:
    """A run with round 0 in it: two matches on the board, two that bob forfeited."""
    made = create(folder)
    for name, code in codes.items():
        put(made, name, code)
    asked = pairs(2)
    matches = own(asked[:1], None) + own(asked[1:], 1)
    made.write_part(matches, {match.match_id: {"raw": raw_replay(match.seed)} for match in matches})
    made.close_round(round_document(made.matches(0)))
    return made


@pytest.fixture
def record(tmp_path: Path) -> Iterator[RecordWriter]:
    with a_round(tmp_path) as made:
        yield made


def files(mounts: tuple[Mount, ...]) -> dict[str, bytes]:
    """Everything that can be read, by its path inside."""
    found = {}
    for mount in mounts:
        for path in sorted(mount.source.rglob("*")):
            assert path.stat().st_mode & 0o004, f"{path} can't be read by a sandbox's user"
            if path.is_file():
                found[f"{mount.target}/{path.relative_to(mount.source)}"] = path.read_bytes()
    return found


def test_a_player_reads_results_its_matches_and_their_frames(record: RecordWriter) -> None:
    with Handout(record, config(), guess()) as handout:
        seen = files(handout.mounts("ada", 1))
    folder = "/logs/round-000"
    result = json.loads(seen[f"{folder}/result.json"])
    assert (result["round"], result["submission"]["valid"]) == (0, True)
    assert result["matchups"][0]["players"] == ["ada", "bob"]
    matches = [json.loads(line) for line in seen[f"{folder}/matches.jsonl"].splitlines()]
    assert len(matches) == 4
    assert [match["stderr"][match["seats"].index("ada")] for match in matches] == ["log of ada"] * 4
    replays = {path: json.loads(data) for path, data in seen.items() if "/replays/" in path}
    assert len(replays) == 4
    for replay in replays.values():
        assert [frame["turn"] for frame in replay["frames"]] == list(range(6))
    assert f"{folder}/steps.jsonl" not in seen


def test_nothing_of_the_rival_and_no_seed_is_handed_out(record: RecordWriter) -> None:
    with Handout(record, config(), guess()) as handout:
        everything = files(handout.mounts("ada", 1))
    seeds = [str(pair.seed).encode() for pair in pairs(2)]
    for path, data in everything.items():
        assert CANARY.encode() not in data, path
        assert not any(seed in data for seed in seeds), path
        assert b'"seed"' not in data, path
    faults = [
        fault
        for line in everything["/logs/round-000/matches.jsonl"].splitlines()
        for fault in json.loads(line)["faults"]
    ]
    assert [(fault["player"], fault["kind"], fault["detail"]) for fault in faults] == [("bob", "crash", "")] * 2


def test_a_player_reads_its_own_faults_in_full(record: RecordWriter) -> None:
    with Handout(record, config(), guess()) as handout:
        data = files(handout.mounts("bob", 1))["/logs/round-000/matches.jsonl"]
    details = [fault["detail"] for line in data.splitlines() for fault in json.loads(line)["faults"]]
    assert details == [f"{CANARY} broke"] * 2


def test_rivals_code_is_there_in_transparent_runs_only(record: RecordWriter) -> None:
    with Handout(record, config(transparent=True), guess()) as handout:
        seen = files(handout.mounts("ada", 1))
    theirs = [data for path, data in seen.items() if path.startswith("/rivals/")]
    assert any(CANARY.encode() in data for data in theirs)
    assert len(theirs) == 2, "its own code is not among the rivals'"


def test_of_many_replays_the_forfeits_come_first(tmp_path: Path) -> None:
    with create(tmp_path) as made:
        for name, code in CODES.items():
            put(made, name, code)
        asked = pairs(15)
        matches = own(asked[:12], None) + own(asked[12:], 0)
        made.write_part(matches, {match.match_id: {"raw": raw_replay(match.seed)} for match in matches})
        made.close_round(round_document(made.matches(0)))
        with Handout(made, config(), guess()) as handout:
            shown = [path for path in files(handout.mounts("ada", 1)) if "/replays/" in path]
        assert len(shown) == MAX_REPLAYS
        forfeits = {f"/logs/round-000/replays/{match.match_id}.json" for match in matches if match.faults}
        assert len(forfeits) == 6
        assert forfeits <= set(shown)


def test_later_rounds_add_folders_and_steps_and_leave_the_earlier_as_they_are(record: RecordWriter) -> None:
    with Handout(record, config(), guess()) as handout:
        first = files(handout.mounts("ada", 1))
        record.append_step(step("ada", 1, thought="mine"))
        record.append_step(step("bob", 1, thought=CANARY))
        asked = pairs(1, 1)
        of = replace(batch(*CODES.values(), players=("ada", "bob"), round=1), pairs=asked)
        matches = [record_of(of, asked[0], turn, outcome((1, 0))) for turn in (0, 1)]
        record.begin_attempt("ada", 1)
        record.write_part(matches)
        record.close_round(round_document(record.matches(1), 1))
        second = files(handout.mounts("ada", 2))
    assert first.items() <= second.items()
    steps = second["/logs/round-001/steps.jsonl"]
    assert b"mine" in steps
    assert CANARY.encode() not in b"".join(second.values())


class Equipped(Guess):
    """A game with a program for agents."""

    tool = Path()

    def tools(self) -> dict[str, Path]:
        return {"helper": self.tool}


def test_tools_of_the_game_can_be_run_and_the_folder_is_gone_in_the_end(record: RecordWriter, tmp_path: Path) -> None:
    Equipped.tool = tmp_path / "helper.sh"
    Equipped.tool.write_text("#!/bin/sh\n")
    with Handout(record, config(), Equipped(Equipped.Config())) as handout:
        for n in (1, 1):
            tools = handout.mounts("ada", n)[1]
            assert tools.target == "/arena/tools"
            assert (tools.source / "helper").stat().st_mode & 0o777 == 0o755
    assert not tools.source.exists()


def test_links_of_a_rival_stay_links(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    link = tree.code_of([FileEntry(b"link", "symlink", str(secret).encode())])
    made = a_round(tmp_path / "runs", {**CODES, "bob": link})
    with made, Handout(made, config(transparent=True), guess()) as handout:
        (found,) = handout.mounts("ada", 1)[2].source.rglob("link")
        assert found.readlink() == secret
