"""Finds code by reference: `house:NAME`, `baseline:NAME`, or a folder."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena import tree
from arena.errors import ConfigError
from arena.game import Game
from arena.types import Code, FileEntry


def starter(game: Game) -> Code:
    """The code every player starts from."""
    return tree.code_of(tree.read_directory(game.starter))


def resolve(game: Game, reference: str, base: Path = Path()) -> Code:
    """The code behind `reference`; folders are relative to `base`. Raises ConfigError that names what there is."""
    kind, colon, name = reference.partition(":")
    if colon and kind == "house":
        return tree.code_of(tree.read_directory(_named(game.house_bots(), name, f"house bot of {game.id}")))
    if colon and kind == "baseline":
        files = _named(game.baselines(), name, f"baseline of {game.id} on this machine").files
        return tree.code_of([_entry(path, source) for path, source in sorted(files.items())])
    folder = base / reference
    if not folder.is_dir():
        raise ConfigError(f"bot {reference!r}: no such folder ({folder}); or write house:NAME, baseline:NAME")
    return tree.code_of(tree.read_directory(folder))


def _named(known: Mapping[str, Any], name: str, what: str) -> Any:
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
    raise ConfigError(f"{name!r} is no {what}; {hint}")


def _entry(path: str, source: Path) -> FileEntry:
    try:
        return FileEntry(path.encode(), "file", source.read_bytes())
    except OSError as error:
        raise ConfigError(f"baseline file {source}: {error.strerror}; set the game up again") from error
