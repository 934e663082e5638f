"""How a run went, as tables: rounds, scores, winners, ratings."""

from arena.cli.tables import plain, show_table
from arena.documents import RoundDocument
from arena.record import Record


def show_run(record: Record) -> None:
    """Print the rounds, the ratings and where everything is."""
    run = record.run
    rounds = [record.round(n) for n in record.rounds()]
    header = ["round", *run.players, "winner", "forfeits"]
    show_table(header, [_round_row(document, run.players) for document in rounds], "Share of match points by round")
    if rounds:
        rows = [
            [str(place), name, f"{rating.mu:.2f}", f"{rating.sigma:.2f}", str(_won(rounds, name))]
            for place, (name, rating) in enumerate(sorted(run.ratings.items(), key=lambda entry: -entry[1].mu), 1)
        ]
        show_table(["", "player", "TrueSkill mu", "sigma", "rounds won"], rows, "After the last round")
    cost = "unknown" if run.totals.cost is None else f"${run.totals.cost:.2f}"
    winner = f"winner: {plain(run.winner)}" if run.winner else "no winner"
    if run.status != "finished":
        winner = f"{run.status}: {plain(run.reason)}" if run.reason else run.status
    print(f"{winner};  {run.totals.matches} matches in {run.totals.wall_seconds:.1f} s, {cost}")
    print(f"record: {record.path}")


def _round_row(document: RoundDocument, players: tuple[str, ...]) -> list[str]:
    shares = [_share(document, player) for player in players]
    winner = document.winner or "none"
    forfeits = sum(sum(kinds.values()) for matchup in document.matchups for kinds in matchup.forfeits.values())
    return [str(document.round), *shares, winner + (" (decisive)" if document.decisive else ""), str(forfeits or "")]


def _share(document: RoundDocument, player: str) -> str:
    """Mean share over the player's matchups, with its interval where there is one matchup only."""
    standings = [m.standings[player] for m in document.matchups if player in m.players and m.played]
    mark = "" if document.submissions[player].valid else " invalid"
    shares = [standing.share for standing in standings if standing.share is not None]
    if not shares:
        return f"no match{mark}"
    mean = f"{sum(shares) / len(shares):.1%}"
    if len(standings) == 1:
        mean += f" [{standings[0].low:.0%}, {standings[0].high:.0%}]"
    return mean + mark


def _won(rounds: list[RoundDocument], player: str) -> int:
    return sum(document.winner == player for document in rounds if document.round > 0)
