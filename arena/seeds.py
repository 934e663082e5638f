"""Where every seed comes from. Bots never see a match seed; practice draws from a stream of its own."""

import hashlib
import hmac


def derive(root: int, *path: str | int) -> int:
    """A 63-bit seed, HMAC-SHA256 of `path` under the tournament seed: independent of order of execution."""
    message = "\x1f".join(str(part) for part in path).encode()
    digest = hmac.new(str(root).encode(), message, hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def match_seed(root: int, round_: int, matchup: int, pair: int) -> int:
    """Seed of all matches of one pair."""
    return derive(root, "match", round_, matchup, pair)


def bot_seed(match: int, seat: int) -> int:
    """What a bot may seed its own chance from (ARENA_SEED); says nothing about the match seed."""
    return derive(match, "bot", seat)


def practice_seed(root: int, index: int) -> int:
    """Seed of a practice match; never equal in derivation to a match seed."""
    return derive(root, "practice", index)
