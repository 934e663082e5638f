"""What a player gets to read of earlier rounds: the results, and its own matches without anything the rival wrote."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arena import tree
from arena.config import TournamentConfig
from arena.documents import MatchRecord
from arena.record import Record
from arena.sandbox.base import Mount
from arena.sandbox.place import work_directory
from arena.store import folder_name, to_json

MAX_REPLAYS = 20  # of one round; forfeits first


@contextmanager
def handed_out(
    record: Record, config: TournamentConfig, tools: Mapping[str, Path], player: str, n: int
) -> Iterator[tuple[Mount, ...]]:
    """Mounts for `player` in the edit phase of round `n`: /logs, the game's `tools` on the PATH, and /rivals where the
    tournament is transparent. They are copies, so that a sandbox of another user can read them."""
    folder = work_directory()
    try:
        logs = folder / "logs"
        logs.mkdir(mode=0o755)
        for earlier in range(n):
            _write_round(record, player, earlier, logs / f"round-{earlier:03d}")
        mounts = [Mount(logs, "/logs"), _tools(tools, folder / "tools")]
        if config.transparent:
            mounts.append(_rivals(record, config, player, n, folder / "rivals"))
        yield tuple(mounts)
    finally:
        shutil.rmtree(folder)


def _tools(tools: Mapping[str, Path], folder: Path) -> Mount:
    folder.mkdir(mode=0o755)
    for name, source in tools.items():
        shutil.copyfile(source, folder / name)
        (folder / name).chmod(0o755)
    return Mount(folder, "/arena/tools")


def _write_round(record: Record, player: str, n: int, folder: Path) -> None:
    folder.mkdir(mode=0o755)
    document = record.round(n)
    result = {
        "round": n,
        "winner": document.winner,
        "standings": document.standings,
        "matchups": [each.model_dump(mode="json") for each in document.matchups if player in each.players],
        "submission": document.submissions[player].model_dump(mode="json"),
    }
    (folder / "result.json").write_bytes(to_json(result))
    own = [match for match in record.matches(n) if player in match.seats]
    lines = "".join(json.dumps(_seen_by(player, match)) + "\n" for match in own)
    (folder / "matches.jsonl").write_text(lines, encoding="utf-8")
    (folder / "replays").mkdir(mode=0o755)
    shown = sorted((match for match in own if match.replay), key=lambda match: (not match.faults, match.match_id))
    for match in shown[:MAX_REPLAYS]:
        replay = record.replay(match.match_id)
        replay["match"] = _seen_by(player, match)
        (folder / "replays" / f"{match.match_id}.json").write_bytes(to_json(replay))
    if n > 0:
        steps = [step.model_dump(mode="json") for step in record.steps(player, n)]
        (folder / "steps.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")


def _seen_by(player: str, match: MatchRecord) -> dict[str, Any]:
    """A match as one of its players may see it: the others' logs and the texts of their faults left out."""
    shown = match.model_dump(mode="json", exclude={"seed", "schema_version", "batch"})
    shown["stderr"] = [text if name == player else "" for name, text in zip(match.seats, match.stderr, strict=True)]
    for fault in shown["faults"]:
        if fault["player"] != player:
            fault["detail"] = ""
    return shown


def _rivals(record: Record, config: TournamentConfig, player: str, n: int, folder: Path) -> Mount:
    folder.mkdir(mode=0o755)
    for name in config.names:
        if name != player:
            tree.materialise(record.repo(name).code(f"round-{n - 1:03d}").files, folder / folder_name(name))
    return Mount(folder, "/rivals")
