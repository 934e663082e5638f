import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.errors import PrerequisiteError
from arena.sandbox import place


@pytest.fixture
def fresh() -> Iterator[None]:
    """The choice of an interpreter is made once a process: here it is made anew, and again afterwards."""
    place.interpreter.cache_clear()
    place.interpreter_prefix.cache_clear()
    yield
    place.interpreter.cache_clear()
    place.interpreter_prefix.cache_clear()


def test_folders_are_marked_and_can_be_entered_but_not_listed() -> None:
    import shutil

    folder = place.work_directory()
    assert folder.stat().st_mode & 0o777 == 0o711
    assert json.loads((folder / "owner.json").read_text())["pid"] == os.getpid()
    shutil.rmtree(folder)


def test_the_inner_program_is_copied_readable_for_all(tmp_path: Path) -> None:
    previous = os.umask(0o077)
    try:
        target = place.copy_inside(tmp_path)
    finally:
        os.umask(previous)
    names = {path.name for path in target.iterdir()}
    assert {"host.py", "bots.py", "bytecode.py", "files.py", "seccomp.py"} <= names
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in target.iterdir())
    assert target.stat().st_mode & 0o555 == 0o555


def test_the_systems_python_is_taken_where_it_is_new_enough(fresh: None) -> None:
    found = place.interpreter()
    assert found == Path("/usr/bin/python3").resolve() or found == Path(os.path.realpath(sys.executable))
    assert place._is_new_enough(str(found))


def test_a_missing_or_old_or_broken_python_is_passed_over(tmp_path: Path) -> None:
    assert not place._is_new_enough(str(tmp_path / "none"))
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert not place._is_new_enough(str(old))


def test_without_any_python_the_way_out_is_told(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_is_new_enough", lambda _: False)
    with pytest.raises(PrerequisiteError, match="apt-get install python3"):
        place.interpreter()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's sandboxes have users of their own: run the tests as root")
def test_a_python_in_a_closed_folder_is_not_reachable(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert not place._reachable(closed / "python")
    assert place._reachable(Path("/usr/bin/python3"))


@pytest.mark.parametrize(("prefix", "seen"), [("/usr", None), ("/usr/local", None), ("/opt/python", "/opt/python")])
def test_what_a_python_needs_outside_the_system_is_told(
    fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, seen: str | None
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {prefix}\n")
    python.chmod(0o755)
    monkeypatch.setattr(place, "interpreter", lambda: python)
    assert place.interpreter_prefix() == (Path(seen) if seen else None)
