"""Small warriors and the values that tests of the game are made of."""

from pathlib import Path

from arena.types import Batch, Code, FileEntry, Limits, Pair, Played

IMP = b";assert 1\nmov.i 0, 1\n"
DWARF = b";assert 1\nadd.ab #4, 3\nmov.i 2, @2\njmp -2\ndat 0, 0\n"
SUICIDE = b";assert 1\ndat 0, 0\n"


def code(source: bytes | Path, tree: str = "0" * 40) -> Code:
    """A codebase that is just a warrior."""
    data = source.read_bytes() if isinstance(source, Path) else source
    return Code(tree, (FileEntry(b"warrior.red", "file", data),))


def batch(codes: list[Code], pairs: int = 4, replays: int = 0, first: int = 0) -> Batch:
    """A batch of untrusted players; the seed of a pair depends on its index alone."""
    every = tuple(Pair(index, 9000 + index) for index in range(first, first + pairs))
    names = tuple(f"p{index}" for index in range(len(codes)))
    untrusted = (False,) * len(codes)
    return Batch("corewar", {}, 1, 0, names, tuple(codes), untrusted, every, Limits(), replays=replays)


def hashes(played: list[Played]) -> list[str]:
    """State hashes of matches, none of which may be void."""
    return [match.outcome.state_hash for match in played if match.outcome is not None]
