"""What plays is exactly what was tagged, whatever it is made of, and no rival sees it."""

import os
import signal
from pathlib import Path

import pytest

from arena.record import Record
from tests.integration.runs import (
    LEGAL,
    Place,
    facts,
    files_of,
    frozen,
    git,
    scripted,
    strict_json,
    wait_for,
)

SHOWS_FILES = """\
import os
import sys

try:
    from helper import NAME
except ImportError:
    NAME = "none"
root = os.path.dirname(os.path.abspath(__file__))
files = [os.path.relpath(os.path.join(folder, file), root) for folder, _, files in os.walk(root) for file in files]
print(NAME, sorted(files), file=sys.stderr)
"""


def test_exactly_the_tagged_tree_plays(place: Place) -> None:
    place.bot("start", SHOWS_FILES + LEGAL, **{"helper.py": "NAME = 'old'\n", "data": "1\n", "Case": "2\n"})
    steps = {
        1: [{"run": 'rm helper.py && sed -i \'s/"none"/"gone"/\' main.py'}],
        2: [{"run": "mv Case case && rm data && mkdir data && echo 3 > data/file"}],
        3: [{"run": "rm -r data && echo 4 > data && mkdir -p x/x && cp main.py x/x/"}],
    }
    players = [scripted("a", place.script("a", steps), "start"), frozen("b", place.bot("legal"))]
    config = place.config(players, rounds=3)
    expected = {
        0: "old ['Case', 'bot.toml', 'data', 'helper.py', 'main.py']",
        1: "gone ['Case', 'bot.toml', 'data', 'main.py']",
        2: "gone ['bot.toml', 'case', 'data/file', 'main.py']",
        3: "gone ['bot.toml', 'case', 'data', 'main.py', 'x/x/main.py']",
    }
    _assert_played(place.play(config), expected)
    # And the same with a kill between rounds 1 and 2.
    process = place.start("run", config, "--output", place.path / "killed")
    wait_for("round 1", (place.path / "killed/rounds/001/round.json").exists, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    place.arena("resume", place.path / "killed")
    _assert_played(place.path / "killed", expected)
    assert facts(place.path / "killed") == facts(place.path / "run")


def _assert_played(run: Path, expected: dict[int, str]) -> None:
    record = Record.read(run)
    for n, listing in expected.items():
        submission = record.round(n).submissions["a"]
        assert submission.tree == git(record, "a", "rev-parse", f"round-{n:03d}^{{tree}}").strip()
        assert submission.commit == git(record, "a", "rev-parse", f"round-{n:03d}^{{commit}}").strip()
        for match in record.matches(n):
            assert match.stderr[match.seats.index("a")].strip() == listing


ALL_BYTES = """\
import os
import sys

sys.stdout.buffer.write(bytes(range(256)))
sys.stdout.flush()
os.write(2, bytes(range(256)))
"""


def test_bytes_that_are_no_text_pass_through_a_whole_round(place: Place) -> None:
    place.bot("start", ALL_BYTES + LEGAL, **{"old": "x\n"})
    print_all = "python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))'"
    steps = {
        1: [
            {"run": f"{print_all}; {print_all} > blob"},
            {"run": "printf x > $'new\\nline'; printf y > $'bad\\xff'; : > empty; rm old"},
        ]
    }
    players = [scripted("a", place.script("a", steps), "start"), frozen("b", place.bot("legal"))]
    run = place.play(place.config(players))
    record = Record.read(run)
    assert record.repo("a").code("round-001").get("blob") == bytes(range(256))
    names = {entry.path: entry.data for entry in record.repo("a").code("round-001").files}
    assert names == {**names, b"new\nline": b"x", b"bad\xff": b"y", b"empty": b""}
    assert b"old" not in names
    output = record.steps("a", 1)[0].output
    assert "ABC" in output
    assert "\N{REPLACEMENT CHARACTER}" in output
    edit = record.edit("a", 1)
    assert (edit.diff.files, edit.diff.binary, edit.diff.deleted) == (5, 1, 1)
    logged = [match.stderr[match.seats.index("a")] for match in record.matches(1)]
    assert all(text.count("ABC") == 2 for text in logged), logged
    for path in run.rglob("*.jsonl"):
        assert all(strict_json(line) for line in path.read_bytes().splitlines())
    place.arena("show", run)
    place.arena("verify", run)


SECRET = ("zebra", "fish", "42")  # never in one piece but in the rival's code


def _search() -> list[dict[str, str]]:
    """Steps that look for the secret in every file and process that can be seen, and for anything of git."""
    others = " ".join(f"! -name {name}" for name in ("usr", "proc", "sys", "dev"))
    pattern = '"' + '""'.join(SECRET) + '"'
    return [
        {"run": f"find / -mindepth 1 -maxdepth 1 -type d {others} -exec grep -rlsa {pattern} {{}} + > found; true"},
        {"run": f"grep -lsa {pattern} /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/maps >> found; true"},
        {"run": "find / -path /usr -prune -o -path /proc -prune -o -path /sys -prune -o "
                "'(' -name '*.git' -o -name FETCH_HEAD -o -name ORIG_HEAD -o -name '*.pack' ')' -print >> found; true"},
    ]  # fmt: skip


@pytest.mark.parametrize("transparent", [False, True])
def test_rivals_code_is_seen_in_transparent_runs_only(place: Place, isolating: str, transparent: bool) -> None:
    secret = "".join(SECRET)
    rival = place.bot("rival", f"NOTE = '{secret}'\nprint(NOTE)\n" + LEGAL)
    writes = [
        {"write": "more.py", "content": f"# {secret}\n", "thought": secret},
        {"run": f"echo {secret}; rm more.py"},
    ]
    players = [
        scripted("spy", place.script("spy", {1: _search(), 2: _search()}), place.bot("legal")),
        scripted("rival", place.script("rival", {1: writes, 2: writes}), rival),
    ]
    run = place.play(place.config(players, sandbox=isolating, rounds=2, transparent=transparent))
    record = Record.read(run)
    assert all(secret in match.stderr[match.seats.index("rival")] for match in record.matches(0))
    for n in (1, 2):
        found = (record.repo("spy").code(f"round-{n:03d}").get("found") or b"").decode().splitlines()
        assert found == (["/rivals/rival/main.py"] if transparent else [])
        assert [step.exit_code for step in record.steps("spy", n)] == [0, 0, 0]


def test_files_of_a_run_are_only_in_its_folder(place: Place) -> None:
    config = place.config([frozen(name, place.bot(name)) for name in "ab"], rounds=0)
    before = files_of(place.path)
    place.play(config, name="deep/er/run")
    after = {name: data for name, data in files_of(place.path).items() if not name.startswith("deep/er/run/")}
    assert after == before
