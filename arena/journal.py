"""Writes an edit down while it happens: commits into the player's repository, steps into the record."""

from arena.documents import DiffSummary, EditDocument, Spend, StepDocument
from arena.edit import EditResult, Saved, Step
from arena.events import now
from arena.listener import Listener
from arena.record import RecordWriter
from arena.types import Code, FileEntry

# Commits carry the round and the step as their date, not the clock: equal histories have equal commit hashes.
_EPOCH = 946_684_800
_ROUND_SECONDS = 86_400


class RecordJournal:
    """The `Journal` of one player in one round; journals of several players may write at the same time."""

    def __init__(self, record: RecordWriter, player: str, round_: int, listener: Listener) -> None:
        self._record, self._player, self._round, self._listener = record, player, round_, listener
        self._repo = record.repo(player)
        self._attempt = self._steps = 0

    def begin(self) -> Code:
        """Start an attempt from the last tag; what an earlier attempt left stays in the record."""
        self._repo.reset_to(self._round - 1)
        self._attempt, self._steps = self._record.begin_attempt(self._player, self._round), 0
        self._record.event("edit_begun", player=self._player, round=self._round, attempt=self._attempt)
        return self._repo.code("main")

    def save(self, files: tuple[FileEntry, ...] | None) -> Saved:
        """Commit `files` as the whole codebase; None: nothing changed. Raises SubmissionError for impossible paths."""
        made = None
        if files is not None:
            when = _EPOCH + self._round * _ROUND_SECONDS + self._steps
            made = self._repo.commit(files, f"round {self._round}, step {self._steps + 1}", when)
        head = self._repo.head
        assert head is not None
        return Saved(head, self._repo.resolve(head), made is not None)

    def step(self, step: Step) -> None:
        """Append a step."""
        self._steps += 1
        result = step.result
        document = StepDocument(
            player=self._player,
            round=self._round,
            attempt=self._attempt,
            step=self._steps,
            thought=step.thought,
            command=step.command,
            kind=step.kind,
            exit_code=result.exit_code if result else None,
            output=result.output if result else "",
            seconds=result.seconds if result else 0.0,
            timed_out=result.timed_out if result else False,
            omitted_bytes=result.omitted_bytes if result else 0,
            tokens=0,
            cost=0.0,
            tree_before=step.before,
            tree_after=step.after.tree,
            commit=step.after.commit,
            unsaved=step.unsaved,
            time=now(),
        )
        self._record.append_step(document)
        self._listener.step(self._player, self._steps)

    def finish(self, result: EditResult) -> EditDocument:
        """Close the edit for good; the tournament sets the tag of the round, now or after a kill in between."""
        before = self._repo.tree(self._round - 1)
        head = self._repo.head
        assert head is not None
        stat = self._repo.diff_stat(before, head)
        document = EditDocument(
            player=self._player,
            round=self._round,
            attempt=self._attempt,
            ended=result.outcome.ended,
            detail=result.outcome.detail,
            message=result.message,
            steps=result.steps,
            seconds=result.seconds,
            spend=self._record.spend(self._player, self._round),
            commit=head,
            tree=self._repo.resolve(head),
            diff=DiffSummary(files=stat.files, added=stat.added, deleted=stat.deleted, binary=stat.binary),
        )
        self._record.write_edit(document)
        self._record.event("edit_finished", player=self._player, round=self._round, commit=head, ended=document.ended)
        return document


def no_edit(record: RecordWriter, player: str, round_: int, reason: str) -> EditDocument:
    """The edit of a player that never edits: nothing changed, nothing spent."""
    repo = record.repo(player)
    commit = repo.commit_of(round_ - 1)
    return EditDocument(
        player=player,
        round=round_,
        attempt=0,
        ended="submitted",
        detail=reason,
        message="",
        steps=0,
        seconds=0.0,
        spend=Spend(tokens=0, cost=0.0),
        commit=commit,
        tree=repo.tree(round_ - 1),
        diff=DiffSummary(files=0, added=0, deleted=0, binary=0),
    )
