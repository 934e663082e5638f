"""How a run went, as tables: players with their ratings and shares, rounds with their winners."""

from arena.cli.tables import plain, show_table
from arena.documents import RoundDocument
from arena.record import Record

MAX_ROUNDS = 10  # columns of shares; of a longer run the last ones


def show_run(record: Record) -> None:
    """Print the ratings, the rounds and where everything is."""
    run = record.run
    rounds = [record.round(n) for n in record.rounds()]
    if rounds:
        _show_rounds(rounds)
        _show_players(record, rounds)
    cost = "unknown" if run.totals.cost is None else f"${run.totals.cost:.2f}"
    winner = f"winner: {plain(run.winner)}" if run.winner else "no winner"
    if run.status != "finished":
        winner = f"{run.status}: {plain(run.reason)}" if run.reason else run.status
    print(f"{winner};  {run.totals.matches} matches in {run.totals.wall_seconds:.1f} s, {cost}")
    print(f"record: {record.path}")


def _show_rounds(rounds: list[RoundDocument]) -> None:
    rows = []
    for document in rounds:
        invalid = [name for name, submission in document.submissions.items() if not submission.valid]
        forfeits = sum(sum(kinds.values()) for matchup in document.matchups for kinds in matchup.forfeits.values())
        matches = sum(matchup.played for matchup in document.matchups)
        decisive = "yes" if document.decisive else "no"
        winner = document.winner or "none"
        rows.append([str(document.round), winner, decisive, str(matches), str(forfeits or ""), ", ".join(invalid)])
    show_table(["round", "winner", "decisive", "matches", "forfeits", "invalid"], rows)


def _show_players(record: Record, rounds: list[RoundDocument]) -> None:
    shown = rounds[-MAX_ROUNDS:]
    rows = []
    for name, rating in sorted(record.run.ratings.items(), key=lambda entry: -entry[1].mu):
        won = sum(document.winner == name for document in rounds if document.round > 0)
        shares = [_share(document, name) for document in shown]
        rows.append([name, f"{rating.mu:.2f}", f"{rating.sigma:.2f}", str(won), *shares])
    header = ["player", "mu", "sigma", "won", *(f"r{document.round}" for document in shown)]
    show_table(header, rows, "TrueSkill after the last round, rounds won, share of match points by round in %")


def _share(document: RoundDocument, player: str) -> str:
    """Mean share of match points over the player's matchups, in percent; with its interval where there is one only."""
    standings = [m.standings[player] for m in document.matchups if player in m.players and m.played]
    shares = [standing.share for standing in standings if standing.share is not None]
    if not shares:
        return "-"
    mean = f"{100 * sum(shares) / len(shares):.0f}"
    if len(standings) == 1:
        mean += f" [{100 * standings[0].low:.0f}, {100 * standings[0].high:.0f}]"
    return mean
