"""The conformance suites: what every game, agent and sandbox must hold, shipped so that new ones can be checked too."""

from arena.conformance.check import Check
from arena.conformance.game import check_game
from arena.conformance.sandbox import check_backend, check_sandbox

__all__ = ["Check", "check_agent", "check_backend", "check_game", "check_sandbox"]
