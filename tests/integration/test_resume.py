"""Runs that are killed at every kind of moment, and go on to the very result they would have had."""

import random
import re
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from arena.documents import PartDocument
from arena.record import Record
from arena.store import pack, to_json
from tests.integration import killed
from tests.integration.runs import (
    HUNGRY,
    LEGAL,
    PATIENCE,
    Place,
    facts,
    files_of,
    frozen,
    git,
    scripted,
    strict_json,
    wait_for_line,
)

# Thinks for ever in its third turn: every match of it has to be judged again, which is a phase of its own.
SLOW = LEGAL.replace("def move(state):\n", "def move(state):\n    while state['turn'] == 2:\n        pass\n")


def tournament(place: Place) -> Path:
    """Four players, two rounds, a handful of steps: every kind of work there is, and little of it."""
    place.bot("hungry", HUNGRY)
    place.write("slow.py", SLOW)
    place.write("hungry.py", HUNGRY)
    ann = {
        1: [
            {"run": "cp main.py old.py"},
            {"write": "main.py", "from": "hungry.py"},
            {"run": "sleep 0.5; rm NOTES.md; head -c 900 /dev/urandom | wc -c > size"},
        ],
        2: [{"run": "mkdir -p lib && mv old.py lib/old.py && rm size"}, {"run": "echo 2 > lib/note"}],
    }
    bob = {1: [{"run": "echo 1 > note"}, {"run": "echo 2 > note"}], 2: [{"write": "main.py", "from": "slow.py"}]}
    cid = {
        1: [{"run": "printf 'def move(' > main.py"}, {"run": "python3 -c 'import main'"}],
        2: [{"when": "lost", "write": "main.py", "from": "hungry.py"}, {"run": "ls ../logs/*/ > seen; true"}],
    }
    players = [
        scripted(name, place.script(name, rounds), "legal")
        for name, rounds in (("ann", ann), ("bob", bob), ("cid", cid))
    ]
    place.bot("legal", LEGAL, **{"NOTES.md": "what I know\n"})
    return place.config([*players, frozen("dan", "hungry")], rounds=2, matches=2, replays=1)


@dataclass
class Killing:
    """One run that is killed again and again; what it had finished by then must stay, byte for byte."""

    place: Place
    config: Path
    run: Path
    kills: int = 0
    matches: dict[str, Any] = field(default_factory=dict)
    files: dict[Path, bytes] = field(default_factory=dict)

    def at(self, pattern: str, nth: int = 1, delay: float = 0.0) -> bool:
        """Go on until the moment that `tests.integration.killed` describes; False if the run ended before it."""
        verb = ["resume", self.run] if (self.run / "run.json").exists() else ["run", self.config, "--output", self.run]
        program = [sys.executable, killed.__file__, pattern, str(nth), str(delay), str(self.run)]
        process = self.place.start(*verb, program=program)
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode in (0, -signal.SIGKILL), f"{pattern}: {process.returncode}\n{stdout}\n{stderr}"
        self.kills += process.returncode != 0
        self._look()
        return process.returncode != 0

    def _look(self) -> None:
        """What is finished now; nothing that was finished earlier has changed."""
        record = Record.read(self.run)
        if (self.run / "events.jsonl").exists():
            record.events()  # raises where the chain is broken
        for folder in (self.run / "rounds").iterdir():
            for match in record.matches(int(folder.name)):
                assert self.matches.setdefault(match.match_id, match) == match, "a finished match was played again"
        lines = [
            *self.run.glob("players/*/*.jsonl"),
            *self.run.glob("players/*/*.edit.json"),
            *self.run.glob("rounds/*/round.json"),
        ]
        for path in lines:
            data = path.read_bytes()
            assert data.startswith(self.files.get(path, b"")), f"{path} lost what it had"
            self.files[path] = data[: data.rfind(b"\n") + 1] if path.suffix == ".jsonl" else data

    def finish(self) -> dict[str, Any]:
        """Go on to the end; what the run came to."""
        self.place.arena("resume", self.run)
        self._look()
        return facts(self.run)


def assert_clean(run: Path) -> None:
    """Nothing half-done is left in the record; the attempts are numbered as they were made."""
    left = [path for pattern in ("*.new", "*.lock", "parts", "tmp_*") for path in run.rglob(pattern)]
    assert not left, left
    record = Record.read(run)
    for name in record.run.players:
        git(record, name, "fsck", "--strict")
        for n in record.rounds():
            begun = [entry.attempt for entry in record.ledger(name) if entry.round == n]
            assert begun == [*range(1, len(begun) + 1)]
            assert [step.step for step in record.steps(name, n)] == [*range(1, len(record.steps(name, n)) + 1)]
            assert {step.attempt for step in record.all_steps(name, n)} <= set(begun)


@pytest.fixture(scope="module")
def undisturbed(shared_place: Place) -> dict[str, Any]:
    """What the tournament comes to when nobody disturbs it."""
    run = shared_place.play(tournament(shared_place))
    assert_clean(run)
    return facts(run)


# In the order in which they come. The moment is before the change that the pattern describes, or `delay` after.
MOMENTS = [
    ("rename .*config.json", 1, 0.0),
    ("git .*init", 1, 0.0),
    ("rename .*repo.git", 1, 0.0),
    ("ann/repo.git .*fast-import", 1, 0.0),
    ("ann/repo.git .*update-ref refs/tags/round-000", 1, 0.0),
    ("bob/repo.git .*fast-import", 1, 0.001),
    (r"rename .*rounds/000/parts/\.", 1, 0.0),
    (r"rename .*rounds/000/replays/\.", 2, 0.0),
    (r"rename .*rounds/000/parts/\.", 2, 0.0),
    (r"rename .*rounds/000/parts/\.", 1, 0.03),
    (r"write .*rounds/000/\.matches", 1, 0.0),
    (r"rename .*rounds/000/\.matches", 1, 0.0),
    (r"rename .*rounds/000/\.round", 1, 0.0),
    ("rmtree .*rounds/000/parts", 1, 0.0),
    ("write .*ledger.jsonl", 2, 0.0),
    ("ann/repo.git .*fast-import", 2, 0.0),
    ("ann/repo.git .*update-ref refs/attempts/001", 1, 0.0),
    ("ann/repo.git .*update-ref refs/heads/main", 1, 0.0),
    ("write .*ann/001.steps.jsonl", 2, 0.0),
    ("ann/repo.git .*fast-import", 2, 0.002),
    ("write .*events.jsonl", 1, 0.0),
    (r"rename .*001\.edit", 1, 0.0),
    (r"rename .*001\.edit", 2, 0.0),
    ("update-ref refs/tags/round-001", 1, 0.0),
    ("update-ref refs/tags/round-001", 2, 0.0),
    (r"rename .*rounds/001/parts/\.", 2, 0.0),
    (r"rename .*rounds/001/parts/\.", 4, 0.0),
    (r"rename .*\.run\.json", 1, 0.0),
    ("write .*002.steps.jsonl", 2, 0.0),
    (r"rename .*rounds/002/parts/\.", 4, 0.0),  # what three batches without a timeout leave is played again alone
    (r"rename .*rounds/002/parts/\.", 1, 0.05),
    (r"rename .*rounds/002/\.round", 1, 0.0),
    (r"rename .*\.run\.json", 1, 0.0),  # round 2 is closed, the run is not
]


def test_a_run_killed_in_every_phase_ends_like_one_that_was_not(place: Place, undisturbed: dict[str, Any]) -> None:
    killing = Killing(place, tournament(place), place.path / "run")
    for moment in MOMENTS:
        if not (killing.run / "run.json").exists() and killing.run.exists():
            shutil.rmtree(killing.run)  # it died before there was a run
        killed_there = (
            killing.at(*moment) if moment[0] != "rename .*config.json" else _dies_before_there_is_a_run(killing)
        )
        assert killed_there, f"{moment} never came"
    assert killing.kills == len(MOMENTS) - 1
    assert killing.finish() == undisturbed
    assert_clean(killing.run)


def _dies_before_there_is_a_run(killing: Killing) -> bool:
    program = [sys.executable, killed.__file__, r"rename .*config\.json", "1", "0", str(killing.run)]
    process = killing.place.start("run", killing.config, "--output", killing.run, program=program)
    process.communicate(timeout=PATIENCE)
    said = killing.place.arena("resume", killing.run, code=1).stderr
    assert "run.json can't be read" in said
    return process.returncode == -signal.SIGKILL


def test_a_run_killed_at_random_ends_like_one_that_was_not(place: Place, undisturbed: dict[str, Any]) -> None:
    chance = random.Random(20)
    killing = Killing(place, tournament(place), place.path / "run")
    killing.at("mkdir .*players/", chance.randint(1, 4), 0.0)
    while killing.at("", chance.randint(10, 150), chance.choice([0.0, chance.uniform(0.0, 0.3)])):
        assert killing.kills < 100, "it gets nowhere"
    assert killing.kills >= 5
    assert killing.finish() == undisturbed
    assert_clean(killing.run)


def test_what_a_killed_git_leaves_does_not_lock_the_codebase(place: Place, undisturbed: dict[str, Any]) -> None:
    killing = Killing(place, tournament(place), place.path / "run")
    assert killing.at("update-ref refs/tags/round-000", 2)
    repo = killing.run / "players" / "bob" / "repo.git"
    (repo / "refs" / "tags" / "round-000.lock").touch()
    assert killing.at("update-ref refs/tags/round-001", 1)
    (repo.parent.parent / "ann" / "repo.git" / "refs" / "tags" / "round-001.lock").touch()
    assert killing.finish() == undisturbed
    assert_clean(killing.run)


def test_a_run_killed_before_its_first_event_needs_its_config_once(place: Place, undisturbed: dict[str, Any]) -> None:
    killing = Killing(place, tournament(place), place.path / "run")
    assert killing.at("write .*events.jsonl")
    assert "--config FILE" in place.arena("resume", killing.run, code=2).stderr
    process = place.start(
        "resume",
        killing.run,
        "--config",
        killing.config,
        program=[sys.executable, killed.__file__, "rmtree .*000/parts", "1", "0", str(killing.run)],
    )
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert killing.finish() == undisturbed


@pytest.fixture(scope="module")
def killed_between_batches(shared_place: Place) -> Killing:
    """A run that was killed between two batches of round 1."""
    killing = Killing(shared_place, tournament(shared_place), shared_place.path / "half")
    assert killing.at(r"rename .*rounds/001/parts/\.", 2)
    return killing


@pytest.fixture
def half_done(killed_between_batches: Killing, tmp_path: Path) -> Killing:
    """A copy of it for each test."""
    template = killed_between_batches
    return Killing(template.place, template.config, Path(shutil.copytree(template.run, tmp_path / "run")))


def test_resume_refuses_another_config_and_takes_the_same_in_another_form(
    half_done: Killing, undisturbed: dict[str, Any]
) -> None:
    place, run = half_done.place, half_done.run
    before = files_of(run)
    refused = place.arena("resume", run, "--config", half_done.config, "matches=3", code=2)
    assert "matches: differs from what" in refused.stderr
    refused = place.arena("resume", run, "--config", half_done.config, "game_config.max_turns=61", code=2)
    assert "game_config.max_turns: differs" in refused.stderr
    assert "limits.move_seconds: differs" in place.arena("resume", run, "limits.move_seconds=3", code=2).stderr
    assert files_of(run) == before
    lines = half_done.config.read_text().splitlines(keepends=True)
    blocks = re.split(r"(?m)^(?=\w)", "".join(lines))
    moved = place.write("elsewhere/renamed.yml", "# the same\n" + "".join(reversed(blocks)))
    for needed in ("ann.yaml", "bob.yaml", "cid.yaml", "hungry.py", "slow.py"):
        shutil.copy(place.path / needed, moved.parent / needed)
    place.arena("resume", run, "--config", moved)
    assert half_done._look() is None
    assert facts(run) == undisturbed


def test_resume_of_a_finished_run_changes_nothing(place: Place) -> None:
    place.bot("legal")
    run = place.play(place.config([frozen("a", "legal"), frozen("b", "legal")], rounds=0))
    before = {name: (data, (run / name).stat().st_mtime_ns) for name, data in files_of(run).items()}
    assert "nothing to do" in place.arena("resume", run).stdout
    assert {name: (data, (run / name).stat().st_mtime_ns) for name, data in files_of(run).items()} == before


def _tear(path: Path, count: int, newline: bool) -> None:
    """Take `count` bytes off the end, but of the last line only."""
    data = path.read_bytes()
    last = len(data.splitlines()[-1])
    path.write_bytes(data[: -min(count, last)] + (b"\n" if newline else b""))


@pytest.mark.parametrize(("count", "newline"), [(1, False), (10, True), (150, False)])
def test_torn_last_lines_are_cut_and_named(
    half_done: Killing, undisturbed: dict[str, Any], count: int, newline: bool
) -> None:
    run = half_done.run
    torn = [run / "events.jsonl", run / "players" / "ann" / "ledger.jsonl"]
    numbers = {path: path.read_bytes().count(b"\n") for path in torn}
    kept = {path: path.read_bytes().splitlines()[:-1] for path in torn}
    for path in torn:
        _tear(path, count, newline)
    process = half_done.place.start(
        "resume", run, program=[sys.executable, killed.__file__, r"rename .*rounds/001/parts/\.", "1", "0", str(run)]
    )
    _, stderr = process.communicate(timeout=PATIENCE)
    for path in torn:
        assert f"{path}: line {numbers[path]} was torn" in stderr
        assert path.read_bytes().splitlines()[: len(kept[path])] == kept[path]
    half_done.place.arena("resume", run)
    assert facts(run) == undisturbed
    for path in run.rglob("*.jsonl"):
        assert all(strict_json(line) for line in path.read_bytes().splitlines())
    Record.read(run).events()


def test_a_bad_line_in_the_middle_is_an_error(half_done: Killing) -> None:
    log = half_done.run / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], lines[2][:40] + b"\n", *lines[3:]]))
    before = files_of(half_done.run)
    assert f"{log}: line 3" in half_done.place.arena("resume", half_done.run, code=1).stderr
    assert files_of(half_done.run) == before


def test_a_torn_batch_is_named_and_never_taken_for_results(half_done: Killing) -> None:
    part = next((half_done.run / "rounds" / "001" / "parts").glob("[0-9]*"))
    part.write_bytes(part.read_bytes()[:-20])
    assert f"{part} is damaged" in half_done.place.arena("resume", half_done.run, code=1).stderr


def test_a_batch_of_another_round_is_refused_by_name(half_done: Killing, undisturbed: dict[str, Any]) -> None:
    parts = half_done.run / "rounds" / "001" / "parts"
    earlier = Record.read(half_done.run).matches(0)
    foreign = parts / "99-000000.json.gz"
    foreign.write_bytes(pack(to_json(PartDocument(matches=tuple(earlier[:2])))))
    refused = half_done.place.arena("resume", half_done.run, code=1).stderr
    assert f"{foreign}: match 000-" in refused
    assert "is of round 0, not 1" in refused
    foreign.unlink()
    assert half_done.finish() == undisturbed


def test_two_runs_of_the_same_second_have_folders_of_their_own(place: Place) -> None:
    place.bot("legal")
    config = place.config([frozen("a", "legal"), frozen("b", "legal")], rounds=0)
    processes = [place.start("run", config, "--results", "some/results") for _ in range(2)]
    for process in processes:
        stdout, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, stdout + stderr
    runs = sorted((place.path / "some" / "results").iterdir())
    assert len(runs) == 2
    assert all(re.fullmatch(r"battlesnake-\d{8}-\d{6}-[0-9a-f]{4}", run.name) for run in runs)
    assert facts(runs[0]) == facts(runs[1])
    before = files_of(runs[0])
    assert "is not empty" in place.arena("run", config, "--output", runs[0], code=2).stderr
    assert files_of(runs[0]) == before


def test_only_one_of_two_resumes_goes_on(half_done: Killing) -> None:
    first = half_done.place.start("resume", half_done.run)
    wait_for_line(first, "playing")
    first.send_signal(signal.SIGSTOP)
    refused = half_done.place.arena("resume", half_done.run, code=1)
    assert "is in use: another arena writes to it" in refused.stderr
    first.send_signal(signal.SIGCONT)
    _, stderr = first.communicate(timeout=PATIENCE)
    assert first.returncode == 0, stderr
    assert Record.read(half_done.run).run.status == "finished"
