"""A tournament, start to end: the loop that everything else hangs on."""

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from arena import codes, registry, scoring
from arena.agent import Agent, Brief
from arena.config import Loaded, PlayerConfig
from arena.documents import EditDocument, RoundDocument, RunDocument, Totals, total
from arena.edit import EditJob, edit
from arena.errors import ArenaError
from arena.events import now
from arena.executor.base import Executor
from arena.handout import Handout
from arena.journal import RecordJournal, no_edit
from arena.listener import Listener
from arena.record import RecordWriter
from arena.repo import Repo
from arena.round import Competition
from arena.sandbox.base import Backend


class Tournament:
    """One run over a record that is locked for it. Whatever the record holds already is a fact and is not redone."""

    def __init__(
        self, loaded: Loaded, record: RecordWriter, backend: Backend, executor: Executor, listener: Listener
    ) -> None:
        self.config, self.record, self.listener = loaded.config, record, listener
        self.game = registry.game(loaded.config.game, loaded.config.game_config)
        self._base, self._backend = loaded.base, backend
        self._agents = {player.name: _agent(player, loaded) for player in loaded.config.players}
        self._competition = Competition(loaded.config, self.game, record, executor, backend.name, listener)
        self._began, self._earlier_seconds = time.monotonic(), record.run.totals.wall_seconds

    def run(self) -> RunDocument:
        """Play every round that the record lacks.

        Raises SandboxError or ModelError when the run has to pause, GameError when its results would be wrong; what is
        finished by then is in the record, and `arena resume` goes on from there.
        """
        try:
            self._found_codebases()
            with Handout(self.record, self.config, self.game) as handout:
                for n in range(self.config.rounds + 1):
                    if self.record.has_round(n):
                        continue
                    edits = self._edit_phase(n, handout) if n > 0 else {}
                    result = self._competition.play(n, edits)
                    self.record.close_round(result)
                    self._tell(n, "round_closed", round=n, winner=result.winner, decisive=result.decisive)
            return self._tell(self.config.rounds, "run_finished", status="finished")
        except (ArenaError, KeyboardInterrupt) as error:
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"
            self._tell(max(self.record.rounds(), default=-1), "run_paused", status="paused", reason=reason)
            raise

    def _found_codebases(self) -> None:
        """Give every player a repository with its starting code, tagged as round 0."""
        for player in self.config.players:
            path = self.record.repo_path(player.name)
            repo = self.record.repo(player.name) if path.exists() else self._new_repo(player)
            repo.clear_leftovers()  # a git that was killed with us, be it in the middle of tagging
            if not repo.has_round(0):
                code = codes.resolve(self.game, player.bot, self._base) if player.bot else codes.starter(self.game)
                repo.commit(code.files, "starting code", when=0)
                repo.tag(0)

    def _new_repo(self, player: PlayerConfig) -> Repo:
        self.record.player_folder(player.name).mkdir(exist_ok=True)
        return Repo.create(self.record.repo_path(player.name))

    def _edit_phase(self, n: int, handout: Handout) -> dict[str, EditDocument]:
        """Every player's edit, all at once; a finished edit survives the failure of another."""
        self.listener.phase(n, "edit")
        with ThreadPoolExecutor(len(self.config.players)) as threads:
            futures = {player.name: threads.submit(self._edit, player, n, handout) for player in self.config.players}
        edits = {name: future.result() for name, future in _failures_first(futures).items()}
        for name in edits:
            self.record.repo(name).tag(n)
        return {player.name: edits[player.name] for player in self.config.players}

    def _edit(self, player: PlayerConfig, n: int, handout: Handout) -> EditDocument:
        agent, name = self._agents[player.name], player.name
        if self.record.has_edit(name, n):
            return self.record.edit(name, n)
        if not agent.edits:
            return no_edit(self.record, name, n, "never edits")
        journal = RecordJournal(self.record, name, n, self.listener)
        job = EditJob(agent, self._brief(name, n), self.config.edit, handout.mounts(name, n), player.trusted)
        return journal.finish(edit(job, self._backend, journal))

    def _brief(self, player: str, n: int) -> Brief:
        last = self.record.round(n - 1)
        return Brief(
            game=self.game.id,
            rules=self.game.brief(),
            player=player,
            round=n,
            rounds=self.config.rounds,
            last_outcome="drawn" if last.winner is None else "won" if last.winner == player else "lost",
            last_result=_in_one_line(last, player),
            invalid_reason=_trouble(last, player),
        )

    def _tell(self, n: int, event: str, *, status: str = "running", reason: str = "", **facts: object) -> RunDocument:
        """Bring run.json up to date after round `n`, and write the event."""
        rounds = [self.record.round(each) for each in self.record.rounds()]
        spend = total(self.record.spend(name) for name in self.config.names)
        document = self.record.run.model_copy(
            update={
                "status": status,
                "reason": reason,
                "rounds_done": n,
                "winner": scoring.tournament_winner(rounds) if status == "finished" else None,
                "totals": Totals(
                    cost=spend.cost,
                    tokens=spend.tokens,
                    matches=sum(matchup.played for each in rounds for matchup in each.matchups),
                    wall_seconds=self._earlier_seconds + time.monotonic() - self._began,
                ),
                "ratings": rounds[-1].ratings if rounds else {},
                "updated": now(),
            }
        )
        self.record.write_run(document)
        self.listener.spent(spend.cost)
        self.record.event(event, reason=reason, **facts)
        return document


def _agent(player: PlayerConfig, loaded: Loaded) -> Agent:
    cls = registry.agent_class(player.agent)
    return cls(cls.Options.model_validate(player.options), loaded.base)


def _failures_first(futures: Mapping[str, "Future[EditDocument]"]) -> dict[str, "Future[EditDocument]"]:
    """All are done; put those that raised in front, so that taking results meets the failure at once."""
    return dict(sorted(futures.items(), key=lambda entry: entry[1].exception() is None))


def _in_one_line(last: RoundDocument, player: str) -> str:
    parts = []
    for matchup in last.matchups:
        if player in matchup.players:
            standing = matchup.standings[player]
            others = ", ".join(name for name in matchup.players if name != player)
            share = "no match" if standing.share is None else f"{standing.share:.1%}"
            parts.append(f"{share} of the points against {others} in {matchup.played} matches")
    winner = f"won by {last.winner}" if last.winner else "without a winner"
    return f"Round {last.round} ended {winner}; you took {'; '.join(parts)}."


def _trouble(last: RoundDocument, player: str) -> str:
    """Why the last submission was invalid, or which forfeits it had; "" if it was sound."""
    submission = last.submissions[player]
    if not submission.valid:
        return f"Your last submission was invalid: {submission.reason}"
    kinds: dict[str, int] = {}
    for matchup in last.matchups:
        for kind, count in matchup.forfeits.get(player, {}).items():
            kinds[kind] = kinds.get(kind, 0) + count
    named = ", ".join(f"{count} by {kind}" for kind, count in sorted(kinds.items()))
    return f"Your last submission forfeited matches: {named}" if named else ""
