from pathlib import Path

import pytest
from pydantic import ValidationError

from agents.frozen import FrozenAgent
from arena.agent import EditOutcome
from arena.config import EditLimits
from arena.edit import StepBudget
from tests.arena.edits import brief


def test_it_needs_a_bot_and_never_edits() -> None:
    agent = FrozenAgent(FrozenAgent.Options(), Path())
    agent.check()
    assert not agent.edits
    assert agent.needs_bot
    assert agent.cost_ceiling() == 0.0
    nothing = None
    assert agent.edit(brief(), nothing, StepBudget(EditLimits()), nothing) == EditOutcome("submitted", "never edits")  # type: ignore[arg-type]


def test_it_has_no_options() -> None:
    with pytest.raises(ValidationError):
        FrozenAgent.Options.model_validate({"bot": "house:greedy"})
