import pytest

from arena import errors
from arena.errors import OUTCOMES, AgentError, ArenaError, ConfigError, GameError, LimitExceeded, boundary, exit_code


def test_every_error_of_the_vocabulary_has_its_outcome() -> None:
    vocabulary = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ArenaError)}
    assert set(OUTCOMES) == vocabulary - {ArenaError}
    assert all(outcome.meaning and outcome.handling for outcome in OUTCOMES.values())


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError, 2), (errors.PrerequisiteError, 3), (LimitExceeded, 4), (errors.SandboxError, 1), (GameError, 1)],
)
def test_exit_codes(error: type[ArenaError], code: int) -> None:
    assert exit_code(error("x")) == code


def test_a_kind_without_an_outcome_of_its_own_has_that_of_its_base() -> None:
    class Special(ConfigError):
        pass

    class Foreign(ArenaError):
        pass

    assert exit_code(Special("x")) == 2
    assert exit_code(Foreign("x")) == 1


def test_the_boundary_names_what_failed_and_keeps_the_cause() -> None:
    with pytest.raises(AgentError) as caught, boundary(AgentError, "agent of ada"):
        raise ZeroDivisionError("by nought")
    assert str(caught.value) == "agent of ada: ZeroDivisionError: by nought"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_boundary_lets_our_own_errors_pass_unchanged() -> None:
    ours = LimitExceeded("spent")
    with pytest.raises(LimitExceeded) as caught, boundary(AgentError, "agent"):
        raise ours
    assert caught.value is ours


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_the_boundary_never_catches_what_ends_the_program(signal: type[BaseException]) -> None:
    with pytest.raises(signal), boundary(AgentError, "agent"):
        raise signal
