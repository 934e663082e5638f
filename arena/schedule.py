"""Who plays whom, on which seeds, in which batches: pure functions of their arguments, the same on every machine."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from arena import seeds
from arena.errors import ConfigError
from arena.types import Pair


def matchups(
    players: Sequence[str], schedule: Literal["pairs", "all"], seats: Collection[int]
) -> tuple[tuple[str, ...], ...]:
    """The matchups of a round, in an order that follows `players`; a matchup's number is its place.

    `seats`: the player counts that the game allows. Raises ConfigError if it can't be played so.
    """
    size = 2 if schedule == "pairs" else len(players)
    if size not in seats:
        allowed = ", ".join(map(str, sorted(seats)))
        raise ConfigError(f"schedule: {schedule} puts {size} players into a match, the game takes {allowed}")
    return tuple(itertools.combinations(players, size))


def pairs(root_seed: int, round_: int, matchup: int, count: int) -> tuple[Pair, ...]:
    """The first `count` pairs of a matchup. Every pair is played in all rotations, see `arena.types.seat_order`."""
    return tuple(Pair(index, seeds.match_seed(root_seed, round_, matchup, index)) for index in range(count))


def batches(pairs: Sequence[Pair], most: int) -> Iterator[tuple[Pair, ...]]:
    """`pairs` in chunks of at most `most`, none of them spanning a gap in the indices.

    Chunks begin at multiples of `most`: what is left after some whole chunks falls into the very same other chunks.
    """
    ordered = sorted(pairs, key=lambda pair: pair.index)
    chunk: list[Pair] = []
    for pair in ordered:
        if chunk and (pair.index % most == 0 or pair.index != chunk[-1].index + 1):
            yield tuple(chunk)
            chunk = []
        chunk.append(pair)
    if chunk:
        yield tuple(chunk)
