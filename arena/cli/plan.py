"""What a config would do, without doing it."""

from arena import registry, schedule
from arena.cli.tables import show_table
from arena.config import Loaded


def show_plan(loaded: Loaded) -> None:
    """Print players, rounds, matches and the most the run can cost."""
    config = loaded.config
    game = registry.game(config.game, config.game_config)
    matchups = schedule.matchups(config.names, config.schedule, game.seats)
    a_round = sum(config.matches * len(players) for players in matchups)
    ceilings = []
    rows = []
    for player in config.players:
        cls = registry.agent_class(player.agent)
        ceiling = cls(cls.Options.model_validate(player.options), loaded.base).cost_ceiling()
        ceilings.append(None if ceiling is None else ceiling * config.rounds)
        cost = "unknown" if ceiling is None else f"${ceiling * config.rounds:.2f}"
        rows.append([player.name, player.agent, player.bot or "starter", "yes" if player.trusted else "no", cost])
    show_table(["player", "agent", "starts from", "trusted", "at most"], rows, f"{game.id} {game.version}")
    known = [ceiling for ceiling in ceilings if ceiling is not None]
    most = f"${sum(known):.2f}" if len(known) == len(ceilings) else "unknown"
    print(f"rounds: 0 and 1 to {config.rounds}; matchups a round: {len(matchups)} ({config.schedule})")
    print(f"matches: {a_round} a round ({config.matches} pairs a matchup), {a_round * (config.rounds + 1)} in all")
    print(f"sandbox: {config.sandbox}; bots: {config.bots}; seed: {config.seed}; worst-case cost: {most}")
