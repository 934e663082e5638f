import pytest

from arena.errors import ConfigError, PrerequisiteError
from arena.sandbox import select
from arena.sandbox.process import ProcessBackend
from arena.sandbox.select import backend, choose

HERE = "tests.arena.sandbox.test_select"


class Working(ProcessBackend):
    name = "working"


class Missing(ProcessBackend):
    """A sandbox that this machine lacks."""

    name = "missing"

    def check(self) -> None:
        raise PrerequisiteError("it is not installed: apt-get install it")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """A machine with or without docker and bubblewrap."""

    def has(docker: bool, bubblewrap: bool) -> None:
        for name, there in (("docker", docker), ("bubblewrap", bubblewrap)):
            monkeypatch.setitem(select.BACKENDS, name, f"{HERE}:{'Working' if there else 'Missing'}")

    return has


def test_every_name_leads_to_a_backend_of_that_name() -> None:
    for name in select.BACKENDS:
        assert backend(name).name == name


@pytest.mark.parametrize("name", ["chroot", "", "auto"])
def test_an_unknown_name_is_the_users_mistake(name: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no '{name}'; choose one of auto, docker, bubblewrap, process"):
        backend(name)


@pytest.mark.parametrize(
    ("docker", "bubblewrap", "chosen", "passed"),
    [
        (True, True, "working", []),
        (True, False, "working", []),
        (False, True, "working", ["docker: it is not installed"]),
        (False, False, "process", ["docker: it is not installed", "bubblewrap: it is not installed"]),
    ],
)
def test_auto_takes_docker_else_bubblewrap_else_process_for_the_trusted(
    machine, docker: bool, bubblewrap: bool, chosen: str, passed: list[str]
) -> None:
    machine(docker, bubblewrap)
    choice = choose("auto", [])
    assert choice.backend.name == chosen
    assert [line.partition(": apt")[0] for line in choice.passed_over] == passed


def test_auto_refuses_untrusted_players_where_nothing_isolates_and_tells_a_way_out(machine) -> None:
    machine(False, False)
    with pytest.raises(PrerequisiteError) as caught:
        choose("auto", ["ada", "bob"])
    told = str(caught.value)
    assert "no sandbox works here, and ada, bob may not run without one" in told
    assert "apt-get install bubblewrap" in told
    assert "trusted: true" in told
    assert "docker: it is not installed" in told
    assert "bubblewrap: it is not installed" in told


def test_untrusted_players_are_fine_where_something_isolates(machine) -> None:
    machine(False, True)
    assert choose("auto", ["ada"]).backend.name == "working"


def test_process_is_never_for_the_untrusted_even_by_name() -> None:
    with pytest.raises(ConfigError, match="sandbox: process isolates nothing, and ada may not run without one"):
        choose("process", ["ada"])
    assert choose("process", []).backend.name == "process"


def test_a_named_sandbox_must_work(machine) -> None:
    machine(False, True)
    with pytest.raises(PrerequisiteError, match="it is not installed"):
        choose("docker", [])
    assert choose("bubblewrap", ["ada"]).passed_over == ()
