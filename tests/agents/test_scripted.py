from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agents.scripted import Script, ScriptedAgent, ScriptedOptions
from arena.edit import EditResult
from arena.errors import ConfigError
from arena.record import RecordWriter
from arena.repo import Repo
from arena.types import Code
from tests.arena.edits import LIMITS, START, a_run, brief, journal, work
from tests.arena.parts import code, need

PATCH = """--- a/main.py
+++ b/main.py
@@ -1 +1,2 @@
 x = 1
+y = 2
"""


def agent(folder: Path, script: str) -> ScriptedAgent:
    (folder / "s.yaml").write_text(script)
    made = ScriptedAgent(ScriptedOptions(script=Path("s.yaml")), folder)
    made.check()
    return made


def edited(
    folder: Path, script: str, round_: int = 1, last: str = "lost", start: Code = START
) -> tuple[EditResult, list[Any], dict[str, bytes]]:
    made = agent(folder, script)
    with a_run(folder / "runs", start) as record:
        repo = record.repo("ada")
        for earlier in range(1, round_):
            repo.tag(earlier)
        writing = journal(record, round_)
        result = work(made, writing, brief(round_, last))
        writing.finish(result)
        files = {entry.path.decode(): entry.data for entry in repo.code("main").files}
        return result, record.steps("ada", round_), files


def test_every_kind_of_step_does_its_one_thing(tmp_path: Path) -> None:
    need("patch", "patch")
    (tmp_path / "beside.py").write_bytes(b"from a file\xff")
    indented = PATCH.replace("\n", "\n          ")
    script = f"""
    about: shows every kind of step
    rounds:
      1:
        message: all done
        steps:
          - run: echo hi > hi.txt; exit 9
            thought: a failing command goes on
          - write: deep/new.py
            content: "z = 3\\n"
          - write: copy.py
            from: beside.py
          - patch: |
              {indented.replace(chr(10) + " " * 10, chr(10) + " " * 14)}
          - run: cat main.py
    """
    result, steps, files = edited(tmp_path, script)
    assert (result.outcome.ended, result.message, result.steps) == ("submitted", "all done", 5)
    assert files == {
        "main.py": b"x = 1\ny = 2\n",
        "old.txt": b"old\n",
        "hi.txt": b"hi\n",
        "deep/new.py": b"z = 3\n",
        "copy.py": b"from a file\xff",
    }
    assert [step.kind for step in steps] == ["command", "write", "write", "patch", "command"]
    assert [step.exit_code for step in steps] == [9, None, None, 0, 0]
    assert steps[0].thought == "a failing command goes on"
    assert steps[4].output == "x = 1\ny = 2\n"


def test_a_patch_that_does_not_fit_is_a_failed_step_and_no_more(tmp_path: Path) -> None:
    need("patch", "patch")
    script = "rounds: {1: {steps: [{patch: 'no patch at all'}, {run: 'echo on > on'}]}}"
    _, steps, files = edited(tmp_path, script)
    assert steps[0].exit_code != 0
    assert files["on"] == b"on\n"


@pytest.mark.parametrize("last", ["won", "lost", "drawn"])
def test_steps_may_depend_on_how_the_last_round_ended(tmp_path: Path, last: str) -> None:
    moods = ", ".join(f"{{run: touch {when}, when: {when}}}" for when in ("won", "lost", "drawn"))
    script = f"rounds: {{default: {{steps: [{moods}, {{run: touch always}}]}}}}"
    result, _, files = edited(tmp_path, script, last=last)
    assert set(files) - {"main.py", "old.txt"} == {last, "always"}
    assert result.steps == 2, "what is left out is not charged"


@pytest.mark.parametrize(("round_", "made"), [(1, "one"), (2, "other"), (3, "none")])
def test_rounds_have_their_own_steps_or_the_default(tmp_path: Path, round_: int, made: str) -> None:
    script = (
        "rounds: {1: {steps: [{run: touch one}]}, 3: {message: nothing today}, default: {steps: [{run: touch other}]}}"
    )
    result, _, files = edited(tmp_path, script, round_)
    assert set(files) - {"main.py", "old.txt"} == {made} - {"none"}
    assert result.message == ("nothing today" if round_ == 3 else "")


def test_a_script_without_a_default_rests_in_other_rounds(tmp_path: Path) -> None:
    result, steps, files = edited(tmp_path, "rounds: {5: {steps: [{run: touch five}]}}")
    assert (result.outcome.ended, steps, set(files)) == ("submitted", [], {"main.py", "old.txt"})


def test_the_budget_ends_a_script(tmp_path: Path) -> None:
    made = agent(tmp_path, "rounds: {1: {steps: [{run: touch a}, {run: touch b}]}}")
    with a_run(tmp_path / "runs") as record:
        result = work(made, journal(record), limits=LIMITS.model_copy(update={"steps": 1}))
    assert (result.outcome.ended, result.steps) == ("limit", 1)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("rounds: [", "no valid YAML"),
        ("", "Input should be a valid dictionary"),
        ("rounds: {1: {steps: [{}]}}", r"rounds\.1.*: Value error, a step has exactly one of run, write, patch"),
        ("rounds: {1: {steps: [{run: a, write: b, content: c}]}}", "exactly one of run, write, patch"),
        ("rounds: {1: {steps: [{write: b}]}}", "write goes with content or from"),
        ("rounds: {1: {steps: [{run: b, content: c}]}}", "write goes with content or from"),
        ("rounds: {1: {steps: [{run: b, wen: won}]}}", "wen: Extra inputs are not permitted"),
        ("rounds: {1: {steps: [{run: b, when: sunday}]}}", "when: Input should be 'won', 'lost' or 'drawn'"),
        ("rounds: {often: {}}", "rounds"),
        ("rounds: {1: {steps: [{write: a, from: gone.py}]}}", r"file .*/gone\.py: No such file or directory"),
    ],
)
def test_a_wrong_script_is_told_before_anything_starts(tmp_path: Path, script: str, says: str) -> None:
    with pytest.raises(ConfigError, match=f"^script .*{says}"):
        agent(tmp_path, script)


@pytest.mark.parametrize("text", ["a: !!int x", "a: 2001-99-99", "[" * 3000, "\x00", "a: !!timestamp x"])
def test_odd_yaml_is_the_users_mistake_too(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"^script .*s\.yaml: no valid YAML"):
        agent(tmp_path, text)


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^script {tmp_path}/none\.yaml: No such file or directory$"):
        ScriptedAgent(ScriptedOptions(script=Path("none.yaml")), tmp_path).check()


@pytest.mark.parametrize("options", [{}, {"script": "s", "playback": {"run": "r", "player": "p"}}, {"speed": 1}])
def test_options_name_one_source(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ScriptedOptions.model_validate(options)


def test_round_numbers_of_a_script_are_numbers() -> None:
    script = Script.model_validate({"rounds": {1: {"message": "one"}, "default": {"message": "rest"}}})
    assert [script.of(n).message for n in (1, 2)] == ["one", "rest"]
    assert Script.model_validate({"rounds": {}}).of(1).steps == ()


# --- playback ---------------------------------------------------------------------------------------

DEEDS = """
rounds:
  1:
    steps:
      - run: echo 1 > one; chmod +x one; rm old.txt; ln -s one link
        thought: tidy up
      - run: ls
      - run: mkdir -p "dir with space/-rf"; echo x > "dir with space/-rf/$(printf 'odd\\nname')"
      - run: rm one; mkdir one; echo now a folder > one/file
  2:
    steps:
      - run: rm -rf one; echo a file again > one
"""


def trees(record: RecordWriter, round_: int) -> list[str]:
    return [step.tree_after for step in record.steps("ada", round_)]


def test_another_runs_edits_can_be_played_back_tree_by_tree(tmp_path: Path) -> None:
    original = agent(tmp_path, DEEDS)
    with a_run(tmp_path / "first") as first:
        for round_ in (1, 2):
            writing = journal(first, round_)
            writing.finish(work(original, writing, brief(round_)))
            first.repo("ada").tag(round_)
        folder = first.path
    again = ScriptedAgent(
        ScriptedOptions.model_validate({"playback": {"run": folder.relative_to(tmp_path), "player": "ada"}}), tmp_path
    )
    again.check()
    with a_run(tmp_path / "second") as second:
        for round_ in (1, 2):
            writing = journal(second, round_)
            result = work(again, writing, brief(round_))
            document = writing.finish(result)
            second.repo("ada").tag(round_)
            assert trees(second, round_) == trees(first, round_)
            assert document.tree == first.repo("ada").tree(round_)
            assert result.outcome.detail == "played back ada"
        (told, *_) = second.steps("ada", 1)
        assert (told.thought, told.kind) == ("tidy up", "playback")
        assert told.command.startswith("echo 1 > one")


@pytest.mark.parametrize(("run", "player"), [("nowhere", "ada"), (".", "eve"), (".", "../..")])
def test_a_run_that_cannot_be_played_back_is_told_before_anything_starts(tmp_path: Path, run: str, player: str) -> None:
    with a_run(tmp_path) as record:
        options = ScriptedOptions.model_validate({"playback": {"run": record.path / run, "player": player}})
    with pytest.raises(ConfigError, match=f"^playback of '{player}': "):
        ScriptedAgent(options, tmp_path).check()


def test_a_playback_starts_from_other_code_and_does_the_same_to_it(tmp_path: Path) -> None:
    original = agent(tmp_path, DEEDS)
    with a_run(tmp_path / "first") as first:
        writing = journal(first)
        writing.finish(work(original, writing))
        folder = first.path
    again = ScriptedAgent(ScriptedOptions.model_validate({"playback": {"run": folder, "player": "ada"}}), tmp_path)
    with a_run(tmp_path / "second", code({"mine.py": "m = 1\n"})) as second:
        writing = journal(second)
        writing.finish(work(again, writing))
        files = {entry.path for entry in Repo(second.repo_path("ada")).code("main").files}
    assert {b"mine.py", b"link", b"one/file"} <= files
    assert b"old.txt" not in files
