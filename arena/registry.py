"""Finds games, agents and detectors by short name, by import path `pkg.mod:Class`, or by entry point."""

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from arena.errors import ConfigError

if TYPE_CHECKING:
    from arena.agent import Agent
    from arena.game import Game

GAMES = {
    "battlesnake": "games.battlesnake.game:Battlesnake",
    "corewar": "games.corewar.game:CoreWar",
}
AGENTS = {
    "scripted": "agents.scripted:ScriptedAgent",
    "frozen": "agents.frozen:FrozenAgent",
}


def names(kind: str) -> list[str]:
    """Every name of `kind` ("games" or "agents") that can be given in a config."""
    shipped = {"games": GAMES, "agents": AGENTS}[kind]
    return sorted({*shipped, *(point.name for point in entry_points(group=f"arena.{kind}"))})


def _load(kind: str, shipped: Mapping[str, str], name: str) -> Any:
    path = shipped.get(name) or name
    if ":" not in path:
        for point in entry_points(group=f"arena.{kind}", name=name):
            return point.load()
        raise ConfigError(
            f"no {kind[:-1]} is called {name!r}; there are {', '.join(names(kind))}, or give pkg.mod:Class"
        )
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{kind[:-1]} {name!r} cannot be loaded from {path}: {error}") from error


def game_class(name: str) -> "type[Game]":
    """The class behind `name`. Raises ConfigError."""
    loaded: type[Game] = _load("games", GAMES, name)
    return loaded


def game(name: str, config: Mapping[str, Any] | None = None) -> "Game":
    """A game with its settings validated. Raises ConfigError that names the key."""
    cls = game_class(name)
    try:
        return cls(cls.Config.model_validate(dict(config or {})))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in ("game_config", *first["loc"]))
        raise ConfigError(f"{key}: {first['msg']} (game {name})") from error


def agent_class(name: str) -> "type[Agent]":
    """The class behind `name`. Raises ConfigError."""
    loaded: type[Agent] = _load("agents", AGENTS, name)
    return loaded
