"""The one YAML file of a tournament: read, overridden, checked to the last key before anything starts."""

import difflib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from arena import registry
from arena.errors import ConfigError, boundary
from arena.game import Game
from arena.types import Limits

MAX_NAME = 200


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlayerConfig(_Model):
    """One competitor."""

    name: str = Field(min_length=1, max_length=MAX_NAME)
    agent: str = Field(description="registered name of an agent, or pkg.mod:Class")
    options: dict[str, Any] = Field(default={}, description="the agent's own settings: see `arena agents`")
    bot: str | None = Field(
        default=None, description="code to start from instead of the starter: house:NAME, baseline:NAME or a folder"
    )
    trusted: bool = Field(default=False, description="code and agent are your own: may run without isolation")

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name.isprintable() or name.strip() != name:
            raise ValueError("use printable characters, without spaces at either end")
        if ".." in name.split("/") or "." in name.split("/") or name.startswith("/"):
            raise ValueError("a name must not be a path: leave out '.', '..' and a leading '/'")
        return name


class MatchLimits(_Model):
    """What a bot may use in a match; what is left out is the game's own default. Seconds are CPU time."""

    move_seconds: float | None = Field(default=None, gt=0, le=600)
    match_seconds: float | None = Field(default=None, gt=0, le=36_000)
    start_seconds: float | None = Field(default=None, gt=0, le=600)
    wall_factor: float | None = Field(default=None, ge=1, le=1000)
    memory_mb: int | None = Field(default=None, ge=64, le=262_144)
    threads: int | None = Field(default=None, ge=1, le=1024)
    reply_bytes: int | None = Field(default=None, ge=64, le=1_048_576)
    stderr_bytes: int | None = Field(default=None, ge=0, le=1_048_576)

    def over(self, defaults: Limits) -> Limits:
        """`defaults` with what is set here put over them."""
        return replace(defaults, **{key: value for key, value in self.model_dump().items() if value is not None})


class EditLimits(_Model):
    """What one edit phase of one player may use."""

    steps: int = Field(default=100, ge=1, le=100_000)
    step_seconds: float = Field(default=60, gt=0, le=36_000)
    minutes: float = Field(default=30, gt=0, le=10_000, description="wall time of the phase")
    memory_mb: int = Field(default=2048, ge=64, le=262_144)
    processes: int = Field(default=128, ge=4, le=4096)
    disk_mb: int = Field(default=256, ge=1, le=65_536)
    codebase_bytes: int = Field(default=10_000_000, ge=1_000)
    codebase_files: int = Field(default=2_000, ge=1)
    output_bytes: int = Field(default=32_768, ge=256, description="kept of what one command prints")


class TournamentConfig(_Model):
    """A whole tournament."""

    game: str
    game_config: dict[str, Any] = {}
    players: Annotated[list[PlayerConfig], Field(min_length=2, max_length=8)]
    rounds: int = Field(ge=0, le=10_000, description="rounds after round 0")
    matches: int = Field(ge=0, le=100_000, description="pairs a matchup: every seed is played in all seat rotations")
    seed: int = Field(ge=0, lt=2**63)
    schedule: Literal["pairs", "all"] = "pairs"
    bots: Literal["fresh", "kept"] = "fresh"
    transparent: bool = Field(default=False, description="players may read each other's code")
    sandbox: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    executor: str = "local"
    workers: int | None = Field(default=None, ge=1, le=1024, description="referees at a time; left out: one a core")
    replays: int = Field(default=5, ge=0, description="pairs of a matchup whose replays are kept; forfeits always are")
    limits: MatchLimits = MatchLimits()
    edit: EditLimits = EditLimits()

    @model_validator(mode="after")
    def _distinct_names(self) -> Self:
        seen: dict[str, str] = {}
        for player in self.players:
            folded = player.name.casefold()
            if folded in seen:
                raise ValueError(f"players: {seen[folded]!r} and {player.name!r} are the same name; rename one of them")
            seen[folded] = player.name
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Player names in order."""
        return tuple(player.name for player in self.players)

    def match_limits(self, game: Game) -> Limits:
        """Limits of a match of `game` under this config."""
        return self.limits.over(game.limits)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A checked config, the bytes it came from, and the folder its relative paths start at."""

    config: TournamentConfig
    source: bytes
    base: Path


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a key given twice is an error, as the specification says."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is given twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def load(path: Path, overrides: Sequence[str] = ()) -> Loaded:
    """Read and check the file at `path`, with `key=value` put over it. Raises ConfigError."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; give the path of a YAML file (arena init writes one)") from error
    return Loaded(parse(source, str(path), overrides, path.parent), source, path.parent.resolve())


def parse(source: bytes, name: str, overrides: Sequence[str] = (), base: Path = Path()) -> TournamentConfig:
    """Check `source`; `name` is what messages call it. Raises ConfigError that names file, key and fix."""
    data = _mapping(source, name)
    for override in overrides:
        _override(data, override)
    try:
        config = TournamentConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{name}: {'; '.join(_explain(dict(e)) for e in error.errors()[:5])}") from error
    try:
        _check_parts(config, base)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    return config


def _mapping(source: bytes, name: str) -> dict[str, Any]:
    with boundary(ConfigError, f"{name}: no valid YAML"):  # the parser lets many an error of Python's through
        data = yaml.load(source, Loader=_UniqueKeys)  # noqa: S506  a SafeLoader
    if not isinstance(data, dict):
        raise ConfigError(f"{name}: expected keys such as game, players, rounds; the file holds {type(data).__name__}")
    return data


def _override(data: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"override {override!r}: write key=value, for example rounds=3 or players.0.name=ada")
    *parents, last = key.split(".")
    target: Any = data
    with boundary(ConfigError, f"override {override[:100]!r}: no valid YAML"):
        value = yaml.safe_load(text)
    try:
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else target.setdefault(part, {})
        if isinstance(target, list):
            target[int(last)] = value
        else:
            target[last] = value
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise ConfigError(f"override {override!r}: no such key ({error})") from error


def _explain(error: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in error["loc"]) or "config"
    if error["type"] == "extra_forbidden":
        known = _keys_at(error["loc"][:-1])
        near = difflib.get_close_matches(str(error["loc"][-1]), known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
        return f"{key}: unknown key; {fix}"
    if error["type"] == "missing":
        return f"{key}: missing; add it"
    message = str(error["msg"]).removeprefix("Value error, ")
    given = f" (given: {str(error['input'])[:80]})" if not isinstance(error["input"], dict | list) else ""
    return f"{key}: {message}{given}"


def _keys_at(location: Sequence[Any]) -> list[str]:
    models: dict[str, type[BaseModel]] = {"limits": MatchLimits, "edit": EditLimits, "players": PlayerConfig}
    model = models.get(str(location[0]), TournamentConfig) if location else TournamentConfig
    return sorted(model.model_fields)


def _check_parts(config: TournamentConfig, base: Path) -> None:
    """What only the parts themselves can judge: the game's settings, the agents' options, the number of seats."""
    game = registry.game(config.game, config.game_config)
    if config.schedule == "pairs" and 2 not in game.seats:
        raise ConfigError(f"schedule: {config.game} can't be played by two; use schedule: all")
    if config.schedule == "all" and len(config.players) not in game.seats:
        raise ConfigError(
            f"players: {len(config.players)} can't sit in one match of {config.game}, which takes "
            f"{', '.join(map(str, game.seats))}; use schedule: pairs"
        )
    for index, player in enumerate(config.players):
        agent = registry.agent_class(player.agent)
        try:
            options = agent.Options.model_validate(player.options)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, ("players", index, "options", *first["loc"])))
            raise ConfigError(f"{key}: {first['msg']} (agent {player.agent})") from error
        if agent.needs_bot and player.bot is None:
            raise ConfigError(
                f"players.{index}.bot: missing; agent {player.agent} never edits, so say which code it plays"
            )
        agent(options, base).check()
