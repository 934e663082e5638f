"""Checks a record against itself and against the game: chain, results, replays, and matches played again."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena import compete, rating, referee, registry, schedule, scoring
from arena.config import TournamentConfig
from arena.documents import MatchRecord, match_record
from arena.errors import GameError, RecordError, boundary
from arena.executor.base import Executor
from arena.game import Game, TurnGame
from arena.record import Record
from arena.types import NO_CODE, TIMEOUTS, Batch, Code, Fault, Pair, ranks_of


@dataclass(slots=True)
class Report:
    """What was found. `sound` is False as soon as one thing disagrees."""

    checked: int = 0
    agreed: int = 0
    replays: int = 0
    by_clock: list[str] = field(default_factory=list)  # decided by a timeout: the clock is no part of the record
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether everything agrees."""
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        """The report as plain values."""
        return {
            "sound": self.sound,
            "checked": self.checked,
            "agreed": self.agreed,
            "replays": self.replays,
            "by_clock": self.by_clock,
            "problems": self.problems,
        }

    def lines(self) -> list[str]:
        """The report for people."""
        found = [f"problem: {problem}" for problem in self.problems]
        if self.by_clock:
            found.append(f"{len(self.by_clock)} matches were decided by a timeout; they are not compared")
        found.append(
            f"{self.replays} replays end in their result; {self.agreed} of {self.checked} matches played again agree"
        )
        return [*found, "the record is sound" if self.sound else "the record is NOT sound"]


def verify(
    record: Record, sample: int | None, sandbox: str, executor: Executor, progress: Callable[[int, int], None]
) -> Report:
    """Check `record`, and play `sample` of its matches again (None: all) on `executor`.

    `progress` hears of matches done and to do. Raises RecordError where the record can't be read at all.
    """
    report = Report()
    config = TournamentConfig.model_validate(record.config)
    game = registry.game(config.game, config.game_config)
    if record.lock.game_version != game.version:
        raise RecordError(f"{record.path} was played on {game.id} {record.lock.game_version}; this is {game.version}")
    record.events()
    for n in record.rounds():
        report.problems += _results(record, config, n)
        report.problems += _replays(record, game, n, report)
    report.problems += _summary(record)
    _play_again(_chosen(record, sample), _Table(record, config, game, sandbox, executor), report, progress)
    return report


def _summary(record: Record) -> Iterator[str]:
    """Where run.json says other than the rounds."""
    run, rounds = record.run, [record.round(n) for n in record.rounds()]
    if run.winner != (scoring.tournament_winner(rounds) if run.status == "finished" else None):
        yield "run.json: the winner is not what the rounds give"
    if rounds and run.ratings != rounds[-1].ratings:
        yield "run.json: the ratings are not those after the last round"


def _results(record: Record, config: TournamentConfig, n: int) -> Iterator[str]:
    """Where the round's document says other than its matches."""
    document, matches = record.round(n), record.matches(n)
    for index, result in enumerate(document.matchups):
        own = [match for match in matches if match.matchup == index]
        if scoring.matchup_result(result.players, own, config.matches) != result:
            yield f"round {n}: matchup {index} is not what its matches give"
    verdict = scoring.round_result(config.names, matches)
    if (verdict.winner, verdict.decisive, dict(verdict.standings)) != (
        document.winner,
        document.decisive,
        document.standings,
    ):
        yield f"round {n}: winner or standings are not what the matches give"
    rounds = [record.round(earlier).standings for earlier in range(1, n + 1)]
    if rating.rate(rounds, config.names) != document.ratings:
        yield f"round {n}: the ratings are not what the standings give"
    for name, submission in document.submissions.items():
        repo = record.repo(name)
        if (repo.tree(n), repo.commit_of(n)) != (submission.tree, submission.commit):
            yield f"round {n}: the codebase of {name} is not the one that was played"


def _replays(record: Record, game: Game, n: int, report: Report) -> Iterator[str]:
    for match in record.matches(n):
        if not match.replay:
            continue
        report.replays += 1
        try:
            with boundary(RecordError, "it can't be shown"):
                alike = _ends_alike(game, match, record.replay(match.match_id)["raw"])
        except (RecordError, GameError) as error:
            yield f"match {match.match_id}: its replay is damaged: {error}"
            continue
        if not alike:
            yield f"match {match.match_id}: its replay does not end in its result"


def _ends_alike(game: Game, match: MatchRecord, raw: Mapping[str, Any]) -> bool:
    """Re-simulated where we have the engine; else the last frame's own scores must be those of the result."""
    if not isinstance(game, TurnGame):
        last = list(compete.frames(game, raw))[-1]
        return tuple(last["scores"]) == match.scores
    faults = [Fault(fault.seat, fault.kind, turn=fault.turn) for fault in match.faults]
    scores, state = referee.replayed(game, raw, faults)
    return state == match.state_hash and ranks_of(scores, faults) == match.ranks


def _chosen(record: Record, sample: int | None) -> list[MatchRecord]:
    played = [m for n in record.rounds() for m in record.matches(n) if m.hosting != "none"]
    if sample is None or sample >= len(played):
        return played
    return sorted(random.Random(0).sample(played, sample), key=lambda match: match.match_id)  # noqa: S311


class _Table:
    """Everything it takes to play a recorded match again."""

    def __init__(self, record: Record, config: TournamentConfig, game: Game, sandbox: str, executor: Executor) -> None:
        self.record, self.config, self.game, self.executor = record, config, game, executor
        self._sandbox, self._limits = sandbox, config.match_limits(game)
        self._trusted = {player.name: player.trusted for player in config.players}
        self._codes: dict[tuple[str, bool], Code] = {}

    def batches(self, wanted: Sequence[MatchRecord]) -> list[tuple[Batch, list[MatchRecord]]]:
        """Batches that hold the `wanted` matches: single pairs, or whole batches where bots were kept."""
        found: dict[tuple[int, int, int, int], list[MatchRecord]] = {}
        for match in wanted:
            first, last = match.batch if match.hosting == "kept" else (match.pair, match.pair)
            found.setdefault((match.round, match.matchup, first, last), []).append(match)
        return [(self._batch(key, matches[0]), matches) for key, matches in found.items()]

    def _batch(self, key: tuple[int, int, int, int], match: MatchRecord) -> Batch:
        n, matchup, first, last = key
        document = self.record.round(n)
        players = document.matchups[matchup].players
        submissions = {player: document.submissions[player] for player in players}
        absent = {player: submission.reason for player, submission in submissions.items() if not submission.valid}
        return Batch(
            game=self.config.game,
            game_config=self.game.config.model_dump(mode="json"),
            round=n,
            matchup=matchup,
            players=players,
            codes=tuple(NO_CODE if player in absent else self._code(player, n) for player in players),
            trusted=tuple(self._trusted[player] for player in players),
            pairs=tuple(pair for pair in self._pairs(n, matchup) if first <= pair.index <= last),
            limits=self._limits,
            hosting="kept" if match.hosting == "kept" else "fresh",
            sandbox=self._sandbox,
            absent=absent,
        )

    def _pairs(self, n: int, matchup: int) -> tuple[Pair, ...]:
        return schedule.pairs(self.config.seed, n, matchup, self.config.matches)

    def _code(self, player: str, n: int) -> Code:
        tree, trusted = self.record.repo(player).tree(n), self._trusted[player]
        if (tree, trusted) not in self._codes:
            code = self.record.repo(player).code(tree)
            game_config = self.game.config.model_dump(mode="json")
            arguments = (self.config.game, game_config, code, self._limits, self._sandbox, trusted)
            prepared = self.executor.submit(compete.prepare, *arguments).result()
            if prepared.code is None:
                raise RecordError(
                    f"round {n}: the code of {player} was valid, and is not now: {prepared.verdict.reason}"
                )
            self._codes[tree, trusted] = prepared.code
        return self._codes[tree, trusted]


def _play_again(
    wanted: Sequence[MatchRecord], table: _Table, report: Report, progress: Callable[[int, int], None]
) -> None:
    batches = table.batches(wanted)
    futures = [(batch, matches, table.executor.submit(compete.play, batch)) for batch, matches in batches]
    for batch, matches, future in futures:
        played = {(each.pair, each.rotation): each for each in future.result() if each.outcome is not None}
        for match in matches:
            if (match.pair, match.rotation) in played:
                _compare(match, match_record(batch, played[match.pair, match.rotation]), report)
            else:
                report.problems.append(f"match {match.match_id}: it is not of the batch it claims to be of")
        progress(report.checked, len(wanted))


def _compare(match: MatchRecord, again: MatchRecord, report: Report) -> None:
    if any(fault.kind in TIMEOUTS for record in (match, again) for fault in record.faults):
        report.by_clock.append(match.match_id)
        return
    report.checked += 1
    facts = {"winner": (match.winner, again.winner), "state": (match.state_hash, again.state_hash)}
    differing = [f"{name} {before} then, {now} now" for name, (before, now) in facts.items() if before != now]
    if differing:
        report.problems.append(f"match {match.match_id}: {'; '.join(differing)}")
    else:
        report.agreed += 1
