"""From matches to results: shares with intervals over pairs, the winner of a round, the winner of a tournament.

A pair of matches shares its seed, so the pair is the observation. Its score, the mean of a player's match points over
the rotations, lies in [0, 1] and so varies at most as much as a coin of the same mean: Wilson's interval for a
proportion with n = number of pairs is at least as wide as it has to be. Matches of one matchup are played by the same
code, so the interval speaks of these codebases in this round and of nothing beyond.
"""

import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean

from arena.documents import MatchRecord, MatchupResult, RoundDocument, Standing, match_record
from arena.errors import RecordError
from arena.types import Batch, Fault, Outcome, Played, seat_order

Z95 = NormalDist().inv_cdf(0.975)
EXACT = 12  # decimals: shares that differ do so earlier, and sums of thirds agree up to here


@dataclass(frozen=True, slots=True)
class RoundResult:
    """Who won a round. `standings`: place by player, ties share one; empty if nothing was played.

    `margin`: the winner's lead over the second as a share, 1/2 is equality, with its 95 % interval.
    """

    winner: str | None
    decisive: bool
    standings: Mapping[str, int] = field(default_factory=dict)
    margin: tuple[float, float, float] | None = None


def wilson(mean: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval for the mean of `count` observations in [0, 1]; (0, 1) without any."""
    if count == 0:
        return 0.0, 1.0
    square = Z95 * Z95 / count
    centre = (mean + square / 2) / (1 + square)
    half = Z95 / (1 + square) * math.sqrt(max(0.0, mean * (1 - mean)) / count + square / count / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


def matchup_result(
    players: Sequence[str], matches: Sequence[MatchRecord], pairs: int, spoilt: int = 0
) -> MatchupResult:
    """Result of one matchup of which `pairs` pairs were planned and `spoilt` matches stayed void.

    Every planned match is in one of the counts: played (forfeits included), spoilt, or missing. Raises RecordError if
    there are more than were planned.
    """
    planned = pairs * len(players)
    missing = planned - len(matches) - spoilt
    if missing < 0:
        raise RecordError(f"{' - '.join(players)}: {len(matches)} matches played, {spoilt} spoilt, {planned} planned")
    forfeits: dict[str, Counter[str]] = {player: Counter() for player in players}
    for match in matches:
        for fault in match.faults:
            forfeits[fault.player][fault.kind] += 1
    return MatchupResult.model_validate(
        {
            "players": tuple(players),
            "planned": planned,
            "played": len(matches),
            "spoilt": spoilt,
            "missing": missing,
            "voids": sum(match.voids for match in matches),
            "draws": sum(match.winner is None for match in matches),
            "forfeits": {player: dict(kinds) for player, kinds in forfeits.items() if kinds},
            "standings": {player: _standing(player, matches) for player in players},
        }
    )


def _standing(player: str, matches: Iterable[MatchRecord]) -> Standing:
    mine = [(match, match.points[match.seats.index(player)]) for match in matches]
    if not mine:
        return Standing(share=None, low=0.0, high=1.0, mean_rank=None)
    share = fmean(points for _, points in mine)
    low, high = wilson(share, len({match.pair for match, _ in mine}))
    ranks = [1 + (len(match.seats) - 1) * (1 - points) for match, points in mine]
    return Standing(share=share, low=low, high=high, mean_rank=fmean(ranks))


def round_result(players: Sequence[str], matches: Sequence[MatchRecord]) -> RoundResult:
    """Winner and places of a round from all its matches.

    Best is who has the highest share of match points. With tied ranks averaged, a match's rank is
    1 + (seats - 1)(1 - points), so that this is also the best mean rank. `decisive`: the interval of the difference
    between best and second, mapped from [-1, 1] to [0, 1] and taken over pair indices (all matches with the same index,
    whatever matchup, are one observation), excludes equality.
    """
    by_index = _points_by_pair(matches)
    shares = {
        player: round(_mean([points for block in by_index.values() for points in block[player]]), EXACT)
        for player in players
        if any(player in match.seats for match in matches)
    }
    places = {player: 1 + sum(other > share for other in shares.values()) for player, share in shares.items()}
    best = [player for player, place in places.items() if place == 1]
    if len(best) != 1 or len(shares) < 2:
        return RoundResult(None, False, places)
    second = next(player for player, place in places.items() if place == 2)
    margin = _margin(best[0], second, by_index)
    return RoundResult(best[0], margin[1] > 0.5, places, margin)


def _points_by_pair(matches: Iterable[MatchRecord]) -> dict[int, defaultdict[str, list[float]]]:
    by_index: dict[int, defaultdict[str, list[float]]] = {}
    for match in matches:
        block = by_index.setdefault(match.pair, defaultdict(list))
        for player, points in zip(match.seats, match.points, strict=True):
            block[player].append(points)
    return by_index


def _margin(best: str, second: str, by_index: Mapping[int, Mapping[str, list[float]]]) -> tuple[float, float, float]:
    leads = [
        (1 + _mean(block[best]) - _mean(block[second])) / 2
        for block in by_index.values()
        if block.get(best) and block.get(second)
    ]
    low, high = wilson(_mean(leads), len(leads))
    return _mean(leads), low, high


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.5


def tournament_winner(rounds: Iterable[RoundDocument]) -> str | None:
    """Who won most of the rounds after round 0; then most decisive ones; then the last decisive one; else None."""
    won = [(document.winner, document.decisive) for document in sorted(rounds, key=lambda d: d.round) if document.round]
    wins = Counter(winner for winner, _ in won if winner is not None)
    decisive = [winner for winner, clear in won if clear and winner is not None]
    leaders = _most(wins, wins)
    leaders = _most(Counter(decisive), leaders)
    if len(leaders) > 1:
        leaders = [winner for winner in decisive if winner in leaders][-1:]
    return leaders[0] if leaders else None


def _most(counts: Mapping[str, int], among: Iterable[str]) -> list[str]:
    candidates = list(among)
    top = max((counts.get(player, 0) for player in candidates), default=0)
    return [player for player in candidates if counts.get(player, 0) == top]


def forfeit_matches(batch: Batch, reasons: Mapping[str, str]) -> list[MatchRecord]:
    """Every match of `batch` as lost, unplayed, by the players in `reasons`, whose submissions are invalid.

    For batches with one valid player, who wins each match, or none: then all are drawn.
    """
    return [
        _forfeit(batch, Played(pair.index, rotation, pair.seed, None, "fresh", 0.0), reasons)
        for pair in batch.pairs
        for rotation in range(len(batch.players))
    ]


def _forfeit(batch: Batch, unplayed: Played, reasons: Mapping[str, str]) -> MatchRecord:
    order = seat_order(len(batch.players), unplayed.rotation)
    seats = [batch.players[player] for player in order]
    faults = tuple(
        Fault(seat, "invalid_submission", reasons[player]) for seat, player in enumerate(seats) if player in reasons
    )
    decided_by = [batch.game, [batch.codes[player].tree for player in order], unplayed.seed, [f.seat for f in faults]]
    outcome = Outcome(
        scores=(0.0,) * len(seats),
        turns=0,
        state_hash=hashlib.sha256(json.dumps(decided_by).encode()).hexdigest(),
        faults=faults,
        cpu_seconds=(None,) * len(seats),
        stderr=("",) * len(seats),
    )
    played = Played(unplayed.pair, unplayed.rotation, unplayed.seed, outcome, "fresh", 0.0)
    return match_record(batch, played).model_copy(update={"hosting": "none"})
