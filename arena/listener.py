"""Who watches a tournament while it runs. The default watches nothing."""


class Listener:
    """Hears of progress; never decides anything. Methods may be called from several threads."""

    def phase(self, round_: int, name: str) -> None:
        """A phase begins: "validate", "edit", "compete" or "recheck"."""

    def step(self, player: str, steps: int) -> None:
        """`player` has taken `steps` steps in this edit phase."""

    def planned(self, matches: int, done: int) -> None:
        """The round has `matches` matches, of which `done` are in the record already."""

    def played(self, matches: int) -> None:
        """`matches` more are played."""

    def spent(self, dollars: float | None) -> None:
        """Money spent in the tournament so far; None: unknown."""

    def warn(self, text: str) -> None:
        """Something the user should know; the run goes on."""
