from pathlib import Path

import pytest

from arena import registry
from arena.conformance import check_agent
from arena.errors import ConfigError, PrerequisiteError
from arena.sandbox.select import backend, choose

PROCESS = backend("process")
DOUBLES = "tests.conformance.doubles"
SCRIPT = """
rounds:
  1:
    steps:
      - run: ls -la
      - write: notes.txt
        content: remember
      - run: rm main.py
"""
NEEDED = {"scripted": {"script": "script.yaml"}}


def failed(name: str) -> set[str]:
    return {check.name for check in check_agent(f"{DOUBLES}:{name}", PROCESS, {}) if check.passed is False}


@pytest.mark.parametrize("name", registry.names("agents"))
def test_every_registered_agent_passes(name: str, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    try:
        checks = list(check_agent(name, choose("auto", ()).backend, NEEDED.get(name), base=tmp_path))
    except PrerequisiteError as error:
        pytest.skip(f"{name}: {error}")
    assert [check for check in checks if check.passed is False] == []
    assert any(check.passed for check in checks)
    if name in NEEDED:
        assert [check for check in checks if check.passed is None] == []


def test_an_honest_agent_passes() -> None:
    checks = list(check_agent(f"{DOUBLES}:Diligent", PROCESS, {}))
    assert [check for check in checks if not check.passed] == []


@pytest.mark.parametrize(
    ("name", "caught"),
    [
        ("Rogue", {"acts through its workspace alone"}),
        ("Freeloader", {"accounts for its steps", "a spent budget ends it cleanly"}),
        ("Swallower", {"a lost sandbox is tried again", "a sandbox lost every time is our fault"}),
        ("PoorLoser", {"a spent budget ends it cleanly"}),
        ("LaxOptions", {"unknown options refused"}),
    ],
)
def test_a_broken_agent_is_caught_by_name(name: str, caught: set[str]) -> None:
    assert failed(name) == caught


def test_an_agent_that_raises_is_caught() -> None:
    assert "an edit ends" in failed("Clumsy")


def test_what_an_agent_can_not_do_without_is_said() -> None:
    name = f"{DOUBLES}:Needy"
    checks = {check.name: check for check in check_agent(name, PROCESS)}
    assert checks["unknown options refused"].passed
    assert checks["an edit ends"].passed is None
    assert "model" in checks["an edit ends"].detail
    with pytest.raises(ConfigError, match=r"options\.model"):
        list(check_agent(name, PROCESS, {}))
    assert all(check.passed for check in check_agent(name, PROCESS, {"model": "any"}))


def test_an_agent_that_never_edits_needs_no_sandbox() -> None:
    omitted = {check.name for check in check_agent("frozen", PROCESS) if check.passed is None}
    assert "an edit ends" in omitted
    assert "unknown options refused" not in omitted
