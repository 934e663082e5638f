import pytest

from arena.conformance import registered, run
from arena.conformance.check import Check, Omitted, Unmet, perform
from arena.errors import ConfigError, GameError, PrerequisiteError


def raising(error: BaseException):
    def probe() -> str:
        raise error

    return probe


def test_a_check_passes_fails_or_does_not_apply() -> None:
    probes = [
        ("fine", lambda: "seen"),
        ("unmet", raising(Unmet("2 is not 3"))),
        ("ours", raising(GameError("no"))),
        ("foreign", raising(KeyError("x"))),
        ("elsewhere", raising(Omitted("not here"))),
    ]
    assert list(perform(probes, blame=GameError)) == [
        Check("fine", True, "seen"),
        Check("unmet", False, "2 is not 3"),
        Check("ours", False, "GameError: no"),
        Check("foreign", False, "GameError: it raised: KeyError: 'x'"),
        Check("elsewhere", None, "not here"),
    ]


@pytest.mark.parametrize("error", [PrerequisiteError("no engine"), KeyboardInterrupt()])
def test_what_is_no_fault_of_the_part_passes_through(error: BaseException) -> None:
    with pytest.raises(type(error)):
        list(perform([("missing", raising(error))], blame=GameError))


def test_every_registered_part_can_be_run_by_name() -> None:
    assert [kind for kind in ("game", "agent", "sandbox") if not registered(kind)] == []
    assert {check.name for check in run("agent", "frozen")} >= {"unknown options refused"}
    assert {check.name for check in run("sandbox", "process")} >= {"network cut"}
    assert next(iter(run("game", "tests.conformance.doubles:Guess"))).name == "files"
    for ask in (registered, lambda kind: run(kind, "any")):
        with pytest.raises(ConfigError, match="weather"):
            ask("weather")
