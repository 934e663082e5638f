import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena import doctor, registry
from arena.conformance.sandbox import _traces
from arena.doctor import Finding, can_isolate, examine
from arena.errors import PrerequisiteError, SandboxError
from arena.sandbox import cgroup, docker, place, select
from tests.conformance import doubles

PLAYERS = (
    "players:\n  - {name: a, agent: frozen, bot: starter, trusted: TRUST}\n  - {name: b, agent: frozen, bot: starter}\n"
)
CONFIG = f"game: battlesnake\nrounds: 1\nmatches: 1\nseed: 1\n{PLAYERS}"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    place.interpreter.cache_clear()
    cgroup.layout.cache_clear()
    yield
    place.interpreter.cache_clear()
    cgroup.layout.cache_clear()


@pytest.fixture
def empty_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, says: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)


def test_every_part_is_looked_at_and_what_is_wrong_has_a_fix() -> None:
    findings = examine()
    names = [finding.name for finding in findings]
    assert len(set(names)) == len(names)
    wanted = {"Python", "bot Python", "git", "packages", "docker", "bubblewrap", "cgroups", "disk", "temporary files"}
    assert wanted | {f"game {name}" for name in registry.names("games")} <= set(names)
    assert all(finding.detail for finding in findings)
    assert all(bool(finding.fix) == (finding.status != "ok") for finding in findings)


@pytest.mark.parametrize("name", doctor.ISOLATED)
def test_a_sandbox_that_is_there_is_tried(name: str) -> None:
    try:
        select.backend(name).check()
    except PrerequisiteError as error:
        pytest.skip(f"{name}: {error}")
    found = {finding.name: finding.status for finding in examine()}
    assert {part: found[f"{name}: {part}"] for part in ("network cut", "memory limit", "process limit")} == {
        "network cut": "ok",
        "memory limit": "ok",
        "process limit": "ok",
    }


def test_a_sandbox_that_breaks_its_promises_is_broken() -> None:
    found = {finding.name: finding for finding in doctor._tried(doubles.Pretender())}
    assert {finding.status for finding in found.values()} == {"broken"}
    assert "reached" in found["pretender: network cut"].detail
    assert "arena check sandbox pretender" in found["pretender: network cut"].fix


def test_missing_programs_are_named_with_the_way_to_get_them(empty_path: Path) -> None:
    assert doctor._git() == Finding("git", "missing", "git is not installed", "apt-get install git")
    assert doctor._bubblewrap().status == "missing"
    program(empty_path, "git", "echo no such thing")
    assert doctor._git().status == "broken"
    program(empty_path, "git", "echo git version 2.99.1")
    assert doctor._git() == Finding("git", "ok", f"2.99.1 at {empty_path / 'git'}")


def test_a_sandbox_that_does_not_open_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shut(doubles.ProcessBackend):
        def check(self) -> None:
            raise PrerequisiteError("installed but can't make a sandbox (no); it needs user namespaces: sysctl this")

    monkeypatch.setattr(doctor, "backend", lambda name: Shut())
    found = doctor._opens("bubblewrap", "0.8.0")
    assert found.status == "broken"
    assert found.fix == "it needs user namespaces: sysctl this"


def test_docker_elsewhere_or_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert doctor._docker().status == "missing"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    found = doctor._docker()
    assert found.status == "broken"
    assert f"{tmp_path}/docker.sock" in found.detail


def test_docker_without_its_image(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        docker.connect()
    except PrerequisiteError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(doctor.images, "tag", lambda: "code-arena:no-such-recipe")
    found = doctor._docker()
    assert (found.status, found.fix) == ("missing", "arena images build")
    assert "no-such-recipe" in found.detail


def test_docker_that_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Breaking:
        def version(self) -> None:
            raise SandboxError("the daemon went away")

    monkeypatch.setattr(docker, "socket_path", lambda: Path("/run/docker.sock"))
    monkeypatch.setattr(docker, "connect", Breaking)
    assert doctor._docker().status == "broken"


def test_no_python_for_bots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_is_new_enough", lambda python: False)
    found = doctor._python_of_bots()
    assert found.status == "missing"
    assert "apt-get install python3" in found.fix


def test_a_package_of_somebody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "agents", raising=False)
    found = doctor._packages()
    assert found.status == "broken"
    assert str(tmp_path) in found.detail
    monkeypatch.setattr(doctor, "PACKAGES", ("arena", "no_such_package_of_ours"))
    assert doctor._packages().status == "missing"


def test_games_that_lack_something_or_do_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.GAMES, "dice", "tests.conformance.doubles:Unplayable")
    assert doctor._game("dice") == Finding("game dice", "missing", "the dice are missing", "buy dice")
    monkeypatch.setitem(registry.GAMES, "gone", "games.no_such_game:Gone")
    assert doctor._game("gone").status == "broken"


def test_no_control_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text("")
    monkeypatch.setattr(cgroup, "_MOUNTINFO", tmp_path / "mountinfo")
    found = doctor._cgroups()
    assert found.status == "missing"
    assert "systemd-run" in found.fix


def test_too_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "RESULTS_BYTES", 1 << 62)
    disk, temporary = doctor._room()
    assert disk.status == "missing"
    assert disk.fix
    assert temporary.status == ("ok" if shutil.disk_usage("/tmp").free >= doctor.TEMPORARY_BYTES else "missing")


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def test_a_config_narrows_it_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_sandbox", lambda name, look: [])
    findings = {finding.name: finding for finding in examine(written(tmp_path, CONFIG.replace("TRUST", "true")))}
    assert findings["config"].status == "ok"
    assert {name for name in findings if name.startswith("game ")} == {"game battlesnake"}
    assert findings["chosen sandbox"].name == "chosen sandbox"


def test_a_config_that_is_wrong(tmp_path: Path) -> None:
    found, config = doctor._config(written(tmp_path, CONFIG.replace("TRUST", "perhaps")))
    assert (found.status, config) == ("broken", None)
    assert "players.0.trusted" in found.detail


def test_a_config_whose_agent_lacks_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Keyless(doubles.Diligent):
        def check(self) -> None:
            raise PrerequisiteError("no key: set ONE")

    monkeypatch.setattr(doubles, "Keyless", Keyless, raising=False)
    text = CONFIG.replace("TRUST", "true").replace("agent: frozen", "agent: tests.conformance.doubles:Keyless")
    found, _ = doctor._config(written(tmp_path, text))
    assert found == Finding("config", "missing", "no key", "set ONE")


def test_a_sandbox_that_the_players_forbid(tmp_path: Path) -> None:
    _, config = doctor._config(written(tmp_path, CONFIG.replace("TRUST", "true") + "sandbox: process\n"))
    assert config is not None
    found = doctor._choice(config)
    assert found.status == "missing"
    assert "b may not run without one" in found.fix


def fine(*names: str) -> list[Finding]:
    return [Finding(name, "ok", "") for name in ("Python", "git", "game one", *names)]


def test_one_isolated_sandbox_that_keeps_its_promises_will_do() -> None:
    kept = fine("docker", "docker: network cut")
    assert can_isolate(kept)
    assert can_isolate([*kept, Finding("bubblewrap", "missing", "", "get it")])
    assert can_isolate([*kept, Finding("game two", "missing", "", "get it")])
    assert can_isolate([*kept, Finding("cgroups", "missing", "", "get it")])
    assert not can_isolate(fine())
    assert not can_isolate([*fine("docker"), Finding("docker: network cut", "broken", "", "do not use it")])
    for needed in ("Python", "git", "packages", "config", "chosen sandbox"):
        assert not can_isolate([*kept, Finding(needed, "broken", "", "mend it")])
    assert not can_isolate([f for f in kept if not f.name.startswith("game ")])


def test_nothing_of_it_is_left_on_this_machine() -> None:
    before = _traces(select.backend("process"))
    examine()
    assert _traces(select.backend("process")) == before
