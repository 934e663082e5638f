"""An agent that never edits: a house bot, a baseline or a folder plays as it is, round after round."""

from typing import ClassVar

from arena.agent import Agent, Brief, Budget, EditOutcome, Recorder, Workspace


class FrozenAgent(Agent):
    """Needs `bot` in the player's config; has no edit phase and no sandbox of its own."""

    id: ClassVar[str] = "frozen"
    edits: ClassVar[bool] = False
    needs_bot: ClassVar[bool] = True

    def edit(self, brief: Brief, workspace: Workspace, budget: Budget, recorder: Recorder) -> EditOutcome:
        """Nothing to do."""
        del brief, workspace, budget, recorder
        return EditOutcome("submitted", "never edits")
