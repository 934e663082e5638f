"""Getting and building pMARS, without any network."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from arena.errors import ConfigError, PrerequisiteError
from games.corewar import apt, pmars
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig


@pytest.fixture
def own_cache(built: pmars.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler: apt-get install gcc libc6-dev")
    monkeypatch.delenv(pmars.OVERRIDE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_sources_given_by_hand_are_built(built: pmars.Engine, own_cache: Path, tmp_path: Path) -> None:
    assert pmars.locate() is None
    archive = tmp_path / "pmars.tar.gz"
    subprocess.run(["tar", "czf", archive, "-C", built.folder, "source", "warriors"], check=True)
    told = CoreWar.setup(archive)
    program = pmars.locate()
    assert program is not None
    assert told == f"built {program}"
    assert program == own_cache / "code-arena" / "pmars" / "0.9.2" / "pmars"
    facts = json.loads((program.parent / "engine.json").read_text())
    assert facts["source"] == "pmars.tar.gz"
    assert set(facts["sha256"]) == set(pmars.PROGRAMS)
    assert (program.parent / "warriors" / "rave.red").is_file()
    again = pmars.setup(built.folder / "source")
    assert again == program
    assert sorted(path.name for path in program.parent.parent.iterdir()) == ["0.9.2"]


def test_what_another_version_of_the_driver_built_is_not_used(built: pmars.Engine, own_cache: Path) -> None:
    copy = own_cache / "code-arena" / "pmars" / "1"
    shutil.copytree(built.folder, copy)
    assert pmars.locate() == copy / "pmars"
    facts = json.loads((copy / "engine.json").read_text())
    (copy / "engine.json").write_text(json.dumps({**facts, "driver": "0" * 64}))
    assert pmars.locate() is None
    assert "arena games setup corewar" in next(iter(CoreWar(CoreWarConfig()).prerequisites()))
    with pytest.raises(PrerequisiteError, match="arena games setup corewar"):
        pmars.require()


def test_the_newest_version_is_used(built: pmars.Engine, own_cache: Path) -> None:
    facts = json.loads((built.folder / "engine.json").read_text())
    for version in ("0.9.2-1", "0.9.10-1"):
        copy = own_cache / "code-arena" / "pmars" / version
        shutil.copytree(built.folder, copy)
        (copy / "engine.json").write_text(json.dumps({**facts, "version": version}))
    found = pmars.engine()
    assert found is not None
    assert found.version == "0.9.10-1"


def test_an_engine_can_be_named(built: pmars.Engine, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pmars.OVERRIDE, str(built.pmars))
    assert pmars.locate() == built.pmars
    monkeypatch.setenv(pmars.OVERRIDE, str(own_cache / "pmars"))
    assert pmars.locate() is None
    assert pmars.OVERRIDE in next(iter(pmars.prerequisites()))


def test_sources_that_are_none_are_refused(own_cache: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file or folder"):
        pmars.setup(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="holds no pMARS sources"):
        pmars.setup(tmp_path / "empty")
    (tmp_path / "no.tar.gz").write_bytes(b"no archive")
    with pytest.raises(PrerequisiteError, match="tar failed"):
        pmars.setup(tmp_path / "no.tar.gz")


def test_sources_that_do_not_compile_are_told(built: pmars.Engine, own_cache: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(built.folder / "source", broken)
    (broken / "sim.c").write_text("not C at all;\n")
    with pytest.raises(PrerequisiteError, match="can't be built"):
        pmars.setup(broken)
    assert pmars.locate() is None


def test_a_header_without_a_version_is_told(built: pmars.Engine, own_cache: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(built.folder / "source", broken)
    (broken / "global.h").write_text("")
    with pytest.raises(ConfigError, match="PMARSVER"):
        pmars.setup(broken)


def test_tools_that_are_missing_are_named(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError, match="no apt-get"):
        pmars.setup()
    (tmp_path / "x.dsc").write_text("")
    with pytest.raises(PrerequisiteError, match="dpkg-dev"):
        pmars.setup(tmp_path / "x.dsc")


def test_sources_without_a_compiler(built: pmars.Engine, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(own_cache))
    with pytest.raises(PrerequisiteError, match="no C compiler"):
        pmars.setup(built.folder / "source")


def test_every_configured_source_gets_its_twin(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://no.invalid x\ndeb [arch=amd64] http://a.invalid/d s main # c\n"
    )
    (parts / "b.list").write_text("deb-src http://b.invalid/d s main\n")
    (parts / "c.sources").write_text(
        "# note\nTypes: deb\nURIs: http://c.invalid/d\nSuites: s\n\nTypes: deb\nEnabled: no\nURIs: http://d.invalid\n"
    )
    (parts / "e.list.disabled").write_text("deb http://e.invalid x\n")
    assert apt.source_entries(tmp_path) == {
        "arena.list": "deb-src [arch=amd64] http://a.invalid/d s main\ndeb-src http://b.invalid/d s main\n",
        "arena.sources": "Types: deb-src\nURIs: http://c.invalid/d\nSuites: s\n",
    }
    assert apt.source_entries(tmp_path / "nowhere") == {}


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="no apt-get here: a Debian system has it")
def test_apt_without_sources_or_package_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "ETC", tmp_path)
    with pytest.raises(PrerequisiteError, match="configures no package source"):
        apt.download_source("pmars", tmp_path / "a")
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "Sources").write_text("")
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] file:{archive} ./\n")
    with pytest.raises(PrerequisiteError, match="Unable to find a source package for pmars"):
        apt.download_source("pmars", tmp_path / "b")


def test_a_program_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "_SECONDS", 0.2)
    with pytest.raises(PrerequisiteError, match="did not finish"):
        apt.run(["sleep", "30"])


def test_programs_run_alone_anywhere(built: pmars.Engine) -> None:
    for name in pmars.PROGRAMS:
        program = built.folder / name
        assert os.access(program, os.X_OK)
        assert b"INTERP" not in subprocess.run(["readelf", "-lW", program], capture_output=True, check=True).stdout
