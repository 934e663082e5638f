"""The conformance suites: what every game, agent and sandbox must hold, shipped so that new ones can be checked too."""

from collections.abc import Iterator

from arena import registry
from arena.conformance.agent import check_agent
from arena.conformance.check import Check
from arena.conformance.game import check_game
from arena.conformance.sandbox import check_backend, check_sandbox
from arena.errors import ConfigError
from arena.sandbox.select import BACKENDS, choose

__all__ = ["Check", "check_agent", "check_backend", "check_game", "check_sandbox", "registered", "run"]


def registered(kind: str) -> list[str]:
    """Every name that can be checked of a `kind`: game, agent or sandbox. Raises ConfigError."""
    if kind == "sandbox":
        return list(BACKENDS)
    if kind in ("game", "agent"):
        return registry.names(f"{kind}s")
    raise ConfigError(f"there is no suite for {kind!r}; there are game, agent and sandbox")


def run(kind: str, name: str) -> Iterator[Check]:
    """Carry out the suite of `kind` on `name`, games and agents in the best sandbox of this machine.

    Raises ConfigError, PrerequisiteError.
    """
    if kind == "sandbox":
        return check_sandbox(name)
    registered(kind)
    backend = choose("auto", ()).backend
    return check_game(name, backend) if kind == "game" else check_agent(name, backend)
