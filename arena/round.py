"""One round's competition, from tagged codebases to the round's document."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from arena import compete, rating, schedule, scoring
from arena.compete import Prepared
from arena.config import TournamentConfig
from arena.documents import EditDocument, MatchRecord, RoundDocument, Submission, match_record
from arena.errors import SandboxError
from arena.executor.base import Executor
from arena.game import Game
from arena.listener import Listener
from arena.record import RecordWriter
from arena.types import NO_CODE, Batch, Code, Played


@dataclass(frozen=True, slots=True)
class Entry:
    """A player's submission of a round, validated."""

    submission: Submission
    code: Code | None  # what plays; None if invalid


class Competition:
    """Plays rounds of one run; remembers verdicts, which depend on nothing but the tree."""

    def __init__(
        self,
        config: TournamentConfig,
        game: Game,
        record: RecordWriter,
        executor: Executor,
        sandbox: str,
        listener: Listener,
    ) -> None:
        self._config, self._game, self._record = config, game, record
        self._executor, self._sandbox, self._listener = executor, sandbox, listener
        self._limits = config.match_limits(game)
        self._trusted = {player.name: player.trusted for player in config.players}
        self._prepared: dict[tuple[str, bool], Prepared] = {}

    def play(self, n: int, edits: Mapping[str, EditDocument]) -> RoundDocument:
        """Validate, play what the record lacks of round `n`, score. Raises SandboxError when our side failed."""
        started = time.monotonic()
        self._listener.phase(n, "validate")
        entries = self._validate(n)
        matchups = schedule.matchups(self._config.names, self._config.schedule, self._game.seats)
        self._play_matches(n, matchups, entries)
        matches = self._record.matches(n)
        results = tuple(
            scoring.matchup_result(players, [m for m in matches if m.matchup == index], self._config.matches)
            for index, players in enumerate(matchups)
        )
        verdict = scoring.round_result(self._config.names, matches)
        return RoundDocument(
            round=n,
            matchups=results,
            submissions={name: entry.submission for name, entry in entries.items()},
            edits=dict(edits),
            winner=verdict.winner,
            decisive=verdict.decisive,
            standings=dict(verdict.standings),
            ratings=rating.rate([*self._earlier_standings(n), *([verdict.standings] if n else [])], self._config.names),
            wall_seconds=time.monotonic() - started,
        )

    def _earlier_standings(self, n: int) -> list[Mapping[str, int]]:
        """Results that ratings are made of: round 0, where nobody has edited yet, is none of them."""
        return [self._record.round(r).standings for r in range(1, n)]

    def _planned(self, players: Sequence[str]) -> int:
        return self._config.matches * len(players)

    def _validate(self, n: int) -> dict[str, Entry]:
        repos = {name: self._record.repo(name) for name in self._config.names}
        codes = {name: repo.code(f"round-{n:03d}") for name, repo in repos.items()}
        wanted = {(codes[name].tree, self._trusted[name]): name for name in codes}
        missing = {key: name for key, name in wanted.items() if key not in self._prepared}
        futures = {key: self._submit_validation(codes[name], key[1]) for key, name in missing.items()}
        for key, future in futures.items():
            self._prepared[key] = self._result(future, codes[missing[key]], key[1])
        entries = {}
        for name, code in codes.items():
            prepared = self._prepared[code.tree, self._trusted[name]]
            submission = Submission(
                tree=code.tree,
                commit=repos[name].commit_of(n),
                valid=prepared.verdict.valid,
                reason=prepared.verdict.reason,
            )
            entries[name] = Entry(submission, prepared.code)
        return entries

    def _submit_validation(self, code: Code, trusted: bool) -> "Future[Prepared]":
        return self._executor.submit(
            compete.prepare, self._config.game, self._game_config, code, self._limits, self._sandbox, trusted
        )

    def _result(self, future: "Future[Prepared]", code: Code, trusted: bool) -> Prepared:
        for _ in range(compete.MAX_TRIES - 1):
            try:
                return future.result()
            except SandboxError:
                future = self._submit_validation(code, trusted)
        return future.result()

    @property
    def _game_config(self) -> dict[str, Any]:
        return self._game.config.model_dump(mode="json")

    def _play_matches(self, n: int, matchups: Sequence[tuple[str, ...]], entries: Mapping[str, Entry]) -> None:
        finished, config = self._record.finished_pairs(n), self._config
        size = compete.batch_size(config.matches * len(matchups), self._game.batch_pairs)
        batches: list[Batch] = []
        for index, players in enumerate(matchups):
            pairs = schedule.pairs(config.seed, n, index, config.matches)
            template = self._template(n, index, players, entries)
            invalid = {player: entries[player].submission.reason for player in players if entries[player].code is None}
            for batch in compete.batches_of(template, pairs, size):
                if (index, batch.pairs[0].index) in finished:
                    continue
                if len(players) - len(invalid) < min(2, len(players)):
                    self._record.write_part(scoring.forfeit_matches(batch, invalid))
                else:
                    batches.append(replace(batch, absent=invalid))
        planned = sum(self._planned(players) for players in matchups)
        left = sum(len(batch.pairs) * len(batch.players) for batch in batches)
        self._listener.phase(n, "compete")
        self._listener.planned(planned, planned - left)
        compete.run_batches(batches, self._executor, self._listener, self._keep)

    def _template(self, n: int, index: int, players: tuple[str, ...], entries: Mapping[str, Entry]) -> Batch:
        return Batch(
            game=self._config.game,  # the name it was found by: workers have to find it too
            game_config=self._game_config,
            round=n,
            matchup=index,
            players=players,
            codes=tuple(entries[player].code or NO_CODE for player in players),
            trusted=tuple(self._trusted[player] for player in players),
            pairs=(),
            limits=self._limits,
            hosting=self._config.bots,
            sandbox=self._sandbox,
            replays=self._config.replays,
        )

    def _keep(self, batch: Batch, played: Sequence[Played]) -> None:
        voids = Counter((each.pair, each.rotation) for each in played if each.outcome is None)
        records, replays = [], {}
        for each in played:
            if each.outcome is None:
                continue
            record = match_record(batch, each, voids[each.pair, each.rotation])
            records.append(record)
            if each.outcome.replay is not None:
                replays[record.match_id] = self._replay(record, each.outcome.replay)
        records.sort(key=lambda record: (record.pair, record.rotation))
        self._record.write_part(records, replays)

    def _replay(self, match: MatchRecord, raw: Mapping[str, Any]) -> dict[str, Any]:
        """A replay stands alone: with it and the game's code, the match can be watched anywhere."""
        return {
            "schema_version": match.schema_version,
            "game": self._config.game,
            "game_version": self._game.version,
            "game_config": self._game_config,
            "match": match.model_dump(mode="json"),
            "raw": raw,
        }
