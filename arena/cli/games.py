"""Verbs about what can be played and by whom: games, agents, schema, init."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.errors import ConfigError, PrerequisiteError

games_app = typer.Typer(no_args_is_help=True, help="Games: list them, set them up, read their rules.")
agents_app = typer.Typer(no_args_is_help=True, help="Agents: list them and their options.")

if TYPE_CHECKING:
    from arena.game import Game as AnyGame

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Game = Annotated[str, typer.Argument(help="Name of a game.")]

FIRST_CONFIG = """\
# A first tournament: run it with  arena run {name}
game: {game}
rounds: 2          # after round 0, which everyone plays on the starting code
matches: 10        # pairs a matchup: every seed is played in all seat orders
seed: 1
sandbox: auto      # docker, else bubblewrap; process only where every player is trusted
players:
  - name: one
    agent: frozen  # never edits
    bot: {first}
    trusted: true
  - name: two
    agent: frozen
    bot: {second}
    trusted: true
"""


def register(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.add_typer(games_app, name="games")
    app.add_typer(agents_app, name="agents")
    app.command()(schema)
    app.command()(init)


@games_app.command("list")
def list_games(as_json: Json = False) -> None:
    """Every game, with its seats, house bots, baselines, and what it lacks on this machine."""
    from arena import registry

    games = [registry.game(name) for name in registry.names("games")]
    if as_json:
        print(json.dumps([_facts(game) for game in games], indent=2))
        return
    from arena.cli.tables import show_table

    body = []
    for game in games:
        seats, bots, people = ", ".join(map(str, game.seats)), ", ".join(game.house_bots()), ", ".join(game.baselines())
        body.append([game.id, game.version, seats, bots, people, "; ".join(game.prerequisites()) or "ready"])
    show_table(["game", "version", "players", "house bots", "human baselines", "state"], body)


def _facts(game: "AnyGame") -> dict[str, Any]:
    return {
        "name": game.id,
        "version": game.version,
        "seats": list(game.seats),
        "house_bots": list(game.house_bots()),
        "baselines": {name: each.model_dump(mode="json", exclude={"files"}) for name, each in game.baselines().items()},
        "missing": list(game.prerequisites()),
    }


@games_app.command("setup")
def setup_game(
    name: Game,
    source: Annotated[Path | None, typer.Option("--from", help="Source folder, tarball or program to use.")] = None,
) -> None:
    """Get and build what a game needs, into a cache of yours."""
    from arena import registry

    cls = registry.game_class(name)
    print(cls.setup(source))


@games_app.command("ready")
def ready(name: Game) -> None:
    """Exit code 0 if the game can be played on this machine, 3 with the fix if not."""
    from arena import registry

    missing = list(registry.game(name).prerequisites())
    if missing:
        raise PrerequisiteError("; ".join(missing))
    print(f"{name} is ready")


@games_app.command("rules")
def rules(name: Game) -> None:
    """The rules and the submission contract, as agents read them."""
    from arena import registry

    print(registry.game(name).brief())


@agents_app.command("list")
def list_agents(as_json: Json = False) -> None:
    """Every agent and its options."""
    from arena import registry

    agents = {name: registry.agent_class(name) for name in registry.names("agents")}
    if as_json:
        print(json.dumps({name: agent.Options.model_json_schema() for name, agent in agents.items()}, indent=2))
        return
    from arena.cli.tables import show_table

    body = [
        [name, (agent.__doc__ or "").split("\n")[0], ", ".join(agent.Options.model_fields) or "none"]
        for name, agent in agents.items()
    ]
    show_table(["agent", "what it is", "options"], body)


def schema() -> None:
    """JSON schema of the tournament config."""
    from arena.config import TournamentConfig

    print(json.dumps(TournamentConfig.model_json_schema(), indent=2))


def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("arena.yaml"),
    game: Annotated[str, typer.Option(help="Name of a game.")] = "battlesnake",
) -> None:
    """Write a first config that runs as it is."""
    from arena import registry

    if path.exists():
        raise ConfigError(f"{path} is there already; give another name")
    bots = list(registry.game(game).house_bots())
    path.write_text(FIRST_CONFIG.format(name=path, game=game, first=f"house:{bots[0]}", second=f"house:{bots[-1]}"))
    print(f"wrote {path}; next: arena run {path}")
