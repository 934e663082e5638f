"""TrueSkill over round results: one game a round, always computed from the first round on, in the order played.

The `trueskill` package does the updates; two of its weak points are made good here. It does not treat players tied in a
game of several alike, so games with ties are averaged over orders of the tied. And its tail formulas fail for results
that the ratings call impossible (FloatingPointError), so they are replaced by ones that hold everywhere.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from statistics import NormalDist

import trueskill

from arena.documents import Rating

TAIL = 30.0  # standard deviations from which the tail of the normal distribution is taken from its continued fraction
NARROW = 1e-9  # margin, relative to the gap, below which a draw says that the performances were equal
CERTAIN = 1 - 1e-10  # most that one result may take away from a variance, so that it stays positive
PRIOR_PAIRINGS, PRIOR_DRAWS = 10, 1


@dataclass(frozen=True, slots=True)
class Scale:
    """The four numbers that set the scale of ratings."""

    mu: float = 25.0
    sigma: float = 25 / 3
    beta: float = 25 / 6
    tau: float = 25 / 300


STANDARD = Scale()


def draw_probability(rounds: Iterable[Mapping[str, int]]) -> float:
    """(drawn + 1) / (pairings + 10) over all pairs of players of all rounds.

    One draw in ten pairings is assumed beforehand, the usual 0.10: never 0, at which a draw would be impossible, and
    never 1, at which a win would be.
    """
    pairings = [first == second for ranks in rounds for first, second in combinations(ranks.values(), 2)]
    return (sum(pairings) + PRIOR_DRAWS) / (len(pairings) + PRIOR_PAIRINGS)


def rate(
    rounds: Sequence[Mapping[str, int]],
    players: Iterable[str] = (),
    draws: float | None = None,
    scale: Scale = STANDARD,
) -> dict[str, Rating]:
    """Ratings after `rounds`, each the rank (1 is best, ties share one) by player, in canonical order.

    `players` that appear in no round keep the prior. `draws`: draw probability, from the data if left out. A round with
    fewer than two players says nothing. All ratings are finite, however unlikely the results.
    """
    environment = _Environment(scale, draw_probability(rounds) if draws is None else draws)
    prior = Rating(mu=scale.mu, sigma=scale.sigma)
    ratings = dict.fromkeys((*players, *(player for ranks in rounds for player in ranks)), prior)
    for ranks in rounds:
        if len(ranks) > 1:
            ratings |= _after(environment, ranks, ratings)
    return ratings


def update(
    ratings: Mapping[str, Rating], ranks: Mapping[str, int], draws: float, scale: Scale = STANDARD
) -> dict[str, Rating]:
    """Ratings of the players in `ranks` after one more game among them."""
    return _after(_Environment(scale, draws), ranks, ratings)


def _after(environment: "_Environment", ranks: Mapping[str, int], ratings: Mapping[str, Rating]) -> dict[str, Rating]:
    results: dict[str, list[Rating]] = {player: [] for player in ranks}
    for order in _orders(ranks, ratings):
        groups = [(environment.create_rating(ratings[player].mu, ratings[player].sigma),) for player in order]
        for player, (after,) in zip(order, environment.rate(groups, [ranks[p] for p in order]), strict=True):
            results[player].append(Rating(mu=after.mu, sigma=after.sigma))
    alike: dict[tuple[int, Rating], list[Rating]] = {}
    for player, found in results.items():
        alike.setdefault((ranks[player], ratings[player]), []).extend(found)
    return {player: _mean(alike[rank, ratings[player]]) for player, rank in ranks.items()}


def _orders(ranks: Mapping[str, int], ratings: Mapping[str, Rating]) -> list[tuple[str, ...]]:
    """Orders of the players, best rank first, in which every tied player takes every place among its equals equally
    often, with either neighbour on either side. The order of `ranks` has no influence."""

    def key(player: str) -> tuple[int, float, float, str]:
        return ranks[player], ratings[player].mu, ratings[player].sigma, player

    groups = [list(group) for _, group in groupby(sorted(ranks, key=key), key=lambda player: ranks[player])]
    orders = []
    for shift in range(math.lcm(*map(len, groups))):
        turned = [group[shift % len(group) :] + group[: shift % len(group)] for group in groups]
        orders.append(tuple(player for group in turned for player in group))
        orders.append(tuple(player for group in turned for player in reversed(group)))
    return list(dict.fromkeys(orders))


def _mean(found: Sequence[Rating]) -> Rating:
    return Rating(
        mu=math.fsum(rating.mu for rating in found) / len(found),
        sigma=math.fsum(rating.sigma for rating in found) / len(found),
    )


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _pdf(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _excess(z: float) -> float:
    """By how much the mean of a normal variable known to be above `z` exceeds `z`; for large z."""
    return 1 / (z + 2 / (z + 3 / (z + 4 / (z + 5 / z))))


def _mills(z: float) -> float:
    """Tail probability beyond `z` over the density there, for z >= TAIL."""
    return 1 / (z + _excess(z))


class _Environment(trueskill.TrueSkill):  # type: ignore[misc]  # the package has no types
    """TrueSkill with corrections `v` (of the mean) and `w` (of the variance) that are finite for every result.

    `difference` and `margin` are in standard deviations of the difference in performance.
    """

    def __init__(self, scale: Scale, draws: float) -> None:
        normal = (_cdf, _pdf, NormalDist().inv_cdf)
        super().__init__(scale.mu, scale.sigma, scale.beta, scale.tau, draws, normal)

    def v_win(self, difference: float, margin: float) -> float:
        x = difference - margin
        return _pdf(x) / _cdf(x) if x > -TAIL else -x + _excess(-x)

    def w_win(self, difference: float, margin: float) -> float:
        x = difference - margin
        v = self.v_win(difference, margin)
        return _bounded(v * (v + x) if x > -TAIL else v * _excess(-x))

    def v_draw(self, difference: float, margin: float) -> float:
        return -math.copysign(_draw(abs(difference), margin)[0], difference)

    def w_draw(self, difference: float, margin: float) -> float:
        return _bounded(_draw(abs(difference), margin)[1])


def _draw(gap: float, margin: float) -> tuple[float, float]:
    """Size of the corrections of mean and variance when players `gap` >= 0 apart end within `margin`.

    Densities and probabilities are relative to the density at the nearer edge where that one would vanish.
    """
    near, far = gap - margin, gap + margin
    if margin < NARROW * max(1.0, gap):
        return gap, 1.0
    if near < TAIL:
        at_near, at_far, within = _pdf(near), _pdf(far), _cdf(-near) - _cdf(-far)
    else:
        at_near, at_far = 1.0, math.exp(-2 * margin * gap)
        within = _mills(near) - at_far * _mills(far)
    v = (at_near - at_far) / within
    return v, v * v - (near * at_near - far * at_far) / within


def _bounded(w: float) -> float:
    return min(max(w, 0.0), CERTAIN)
