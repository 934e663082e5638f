"""Finds games, agents and detectors by short name, by import path `pkg.mod:Class`, or by entry point."""

import importlib
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from pydantic import ValidationError

from arena.agent import Agent
from arena.errors import ConfigError, boundary
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


def _load(kind: str, shipped: Mapping[str, str], name: str, base: type) -> Any:
    """The subclass of `base` behind `name`. Whatever its module raises is the user's to know: ConfigError."""
    path = shipped.get(name) or name
    with boundary(ConfigError, f"{kind[:-1]} {name!r} cannot be loaded from {path!r}"):
        loaded = _imported(path) if ":" in path else _entry_point(kind, name)
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise ConfigError(f"{kind[:-1]} {name!r}: {path!r} is no subclass of {base.__module__}.{base.__name__}")
    return loaded


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _entry_point(kind: str, name: str) -> Any:
    for point in entry_points(group=f"arena.{kind}", name=name):
        return point.load()
    raise ConfigError(f"no {kind[:-1]} is called {name!r}; there are {', '.join(names(kind))}, or give pkg.mod:Class")


def game_class(name: str) -> type[Game]:
    """The class behind `name`. Raises ConfigError."""
    loaded: type[Game] = _load("games", GAMES, name, Game)
    return loaded


def game(name: str, config: Mapping[str, Any] | None = None) -> Game:
    """A game with its settings validated. Raises ConfigError that names the key."""
    cls = game_class(name)
    try:
        return cls(cls.Config.model_validate(dict(config or {})))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in ("game_config", *first["loc"]))
        raise ConfigError(f"{key}: {first['msg']} (game {name})") from error


def agent_class(name: str) -> type[Agent]:
    """The class behind `name`. Raises ConfigError."""
    loaded: type[Agent] = _load("agents", AGENTS, name, Agent)
    return loaded
