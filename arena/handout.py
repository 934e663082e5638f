"""What a player gets to read of earlier rounds: the results, and its own matches without anything the rival wrote."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from arena import compete, tree
from arena.config import TournamentConfig
from arena.documents import MatchRecord
from arena.game import Game
from arena.record import Record
from arena.sandbox.base import Mount
from arena.sandbox.place import work_directory
from arena.store import folder_name, to_json

MAX_REPLAYS = 20  # of one round; forfeits first


class Handout:
    """Folders for the players of a run, one a player, growing by a round at a time; removed at the end of the block.

    They are copies, readable by sandboxes of other users. Match seeds are left out: from one of them and a guess at the
    tournament's seed, a player could work out those to come.
    """

    def __init__(self, record: Record, config: TournamentConfig, game: Game) -> None:
        self._record, self._config, self._game = record, config, game
        self._folder = work_directory()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder)

    def mounts(self, player: str, n: int) -> tuple[Mount, ...]:
        """For the edit phase of round `n`: /logs, the game's tools on the PATH, and /rivals in a transparent run."""
        own = self._folder / folder_name(player)
        logs = own / "logs"
        for folder in (own, logs):
            _open_folder(folder)
        for earlier in range(n):
            if not (logs / f"round-{earlier:03d}").exists():
                self._write_round(player, earlier, logs / f"round-{earlier:03d}")
        mounts = [Mount(logs, "/logs"), _tools(self._game.tools(), own / "tools")]
        if self._config.transparent:
            mounts.append(self._rivals(player, n, own / f"rivals-{n:03d}"))
        return tuple(mounts)

    def _write_round(self, player: str, n: int, folder: Path) -> None:
        _open_folder(folder)
        document, matches = self._record.round(n), self._record.matches(n)
        result = {
            "round": n,
            "winner": document.winner,
            "standings": document.standings,
            "matchups": [each.model_dump(mode="json") for each in document.matchups if player in each.players],
            "submission": document.submissions[player].model_dump(mode="json"),
        }
        (folder / "result.json").write_bytes(to_json(result))
        own = [match for match in matches if player in match.seats]
        _write_lines(folder / "matches.jsonl", [_seen_by(player, match) for match in own])
        _open_folder(folder / "replays")
        shown = sorted((match for match in own if match.replay), key=lambda match: (not match.faults, match.match_id))
        for match in shown[:MAX_REPLAYS]:
            (folder / "replays" / f"{match.match_id}.json").write_bytes(to_json(self._replay(player, match)))
        if n > 0:
            steps = self._record.steps(player, n)
            _write_lines(folder / "steps.jsonl", [step.model_dump(mode="json") for step in steps])

    def _replay(self, player: str, match: MatchRecord) -> dict[str, Any]:
        raw = self._record.replay(match.match_id)["raw"]
        return {"match": _seen_by(player, match), "frames": list(compete.frames(self._game, raw))}

    def _rivals(self, player: str, n: int, folder: Path) -> Mount:
        _open_folder(folder)
        for name in self._config.names:
            target = folder / folder_name(name)
            if name != player and not target.exists():
                tree.materialise(self._record.repo(name).code(f"round-{n - 1:03d}").files, target)
        return Mount(folder, "/rivals")


def _tools(tools: Mapping[str, Path], folder: Path) -> Mount:
    _open_folder(folder)
    for name, source in tools.items():
        if not (folder / name).exists():
            shutil.copyfile(source, folder / name)
            (folder / name).chmod(0o755)
    return Mount(folder, "/arena/tools")


def _seen_by(player: str, match: MatchRecord) -> dict[str, Any]:
    """A match as one of its players may see it: the others' logs and the texts of their faults left out."""
    shown = match.model_dump(mode="json", exclude={"seed", "schema_version", "batch"})
    shown["stderr"] = [text if name == player else "" for name, text in zip(match.seats, match.stderr, strict=True)]
    for fault in shown["faults"]:
        if fault["player"] != player:
            fault["detail"] = ""
    return shown


def _open_folder(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)


def _write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
