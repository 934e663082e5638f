"""A player's codebase over time: a bare git repository of ours that no agent ever touches.

Git gets contents through pipes and never has a work tree, so nothing a codebase holds (hooks, attributes, filters,
configuration) takes effect, and equal histories have equal commit hashes.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, cast

from arena.errors import PrerequisiteError, RecordError
from arena.tree import EMPTY_TREE, MODES, blob_hash, shown, tree_hash
from arena.types import Code, FileEntry

MAIN = "refs/heads/main"
AUTHOR = b"Code Arena <arena@localhost>"
DIFF_BYTES = 200_000
_NO_COMMIT = "0" * 40
_KINDS = {mode: kind for kind, mode in MODES.items()}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.quotePath=true",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
)
_DIFF = ("diff-tree", "-r", "-M", "-l400", "--no-ext-diff", "--no-textconv", "--no-color")
# What a killed git leaves behind. Nobody else writes to the repository, so whatever is there is stale.
_LEFTOVERS = (
    "*.lock",
    "fast_import_crash_*",
    "refs/**/*.lock",
    "objects/tmp_*",
    "objects/??/tmp_obj_*",
    "objects/pack/tmp_*",
    "objects/pack/*.keep",
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file. `was` is its earlier path if it was renamed. Lines are None for a binary file."""

    path: bytes
    was: bytes | None
    added: int | None
    deleted: int | None


@dataclass(frozen=True, slots=True)
class DiffStat:
    """What changed between two trees; lines are counted over text files, links being one line of text."""

    changes: tuple[FileChange, ...]

    @property
    def files(self) -> int:
        """Number of changed files, a renamed file being one."""
        return len(self.changes)

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(change.added or 0 for change in self.changes)

    @property
    def deleted(self) -> int:
        """Lines deleted."""
        return sum(change.deleted or 0 for change in self.changes)

    @property
    def binary(self) -> int:
        """Number of changed binary files."""
        return sum(change.added is None for change in self.changes)


class Repo:
    """One player's repository. Every method may raise RecordError when it is damaged, PrerequisiteError without git.

    One writer at a time; readers may look on.
    """

    def __init__(self, path: Path) -> None:
        """Open the repository at `path`. Raises RecordError if there is none."""
        self.path = path.absolute()
        if not (self.path / "HEAD").is_file():
            raise RecordError(f"{path} is no repository of a codebase; restore it from a copy of the run")

    @classmethod
    def create(cls, path: Path) -> "Repo":
        """Make an empty repository at `path`, whole or not at all. Raises RecordError if something is there."""
        path = path.absolute()
        if path.exists():
            raise RecordError(f"{path} is there already; a codebase is created once")
        unborn = path.with_name(path.name + ".new")
        if unborn.exists():
            shutil.rmtree(unborn)
        _checked(unborn, ("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1"))
        return cls(unborn.rename(path))

    def commit(self, files: Sequence[FileEntry], message: str, when: int) -> str | None:
        """Commit `files` as the whole tree on top of main, dated `when` (seconds since 1970).

        Returns the commit's hash, or None if main has that tree already. Raises SubmissionError, with nothing
        committed, for paths that no codebase may have.
        """
        tree, head = tree_hash(files), self._find(MAIN)
        if head and head.tree == tree:
            return None
        known = {row.object for row in self._list(head.tree)} if head else set()
        stream = _fast_import(files, message, when, head.commit if head else None, known)
        self._git("fast-import", "--quiet", "--done", "--date-format=raw", data=stream)
        made = self._existing(MAIN)
        if made.tree != tree:
            raise RecordError(f"{self.path} took the files as tree {made.tree}, not {tree}; the repository is damaged")
        return made.commit

    @property
    def head(self) -> str | None:
        """Commit hash of main; None before the first commit."""
        head = self._find(MAIN)
        return head.commit if head else None

    def tag(self, round_: int) -> str:
        """Mark main as the submission of `round_` and return its tree hash; again is fine, unless main moved."""
        head, name = self._existing(MAIN), _tag(round_)
        if (old := self._find(name)) is None:
            self._git("update-ref", name, head.commit, _NO_COMMIT)
        elif old.commit != head.commit:
            raise RecordError(f"{self.path} has {name} at {old.commit}; a tag never moves (main is {head.commit})")
        return head.tree

    def has_round(self, round_: int) -> bool:
        """Whether `round_` is tagged."""
        return self._find(_tag(round_)) is not None

    def commit_of(self, round_: int) -> str:
        """Commit hash tagged for `round_`. Raises RecordError if it isn't."""
        return self._existing(_tag(round_)).commit

    def tree(self, round_: int) -> str:
        """Tree hash of the submission of `round_`. Raises RecordError if it isn't tagged."""
        return self._existing(_tag(round_)).tree

    def reset_to(self, round_: int) -> str | None:
        """Start again from the tag of `round_`, after clearing what a killed git left behind.

        Commits made since then are kept under `refs/attempts/NNN/K`: NNN is the round being edited, `round_` + 1, and
        K counts its abandoned attempts from 1. Returns that ref, or None if main was at the tag.
        """
        self.clear_leftovers()
        start, head = self._existing(_tag(round_)), self._existing(MAIN)
        if head.commit == start.commit:
            return None
        # Two steps, in this order: killed between them, the next call finds the attempt kept and only moves main.
        attempt = self._keep_attempt(round_ + 1, head.commit)
        self._git("update-ref", MAIN, start.commit, head.commit)
        return attempt

    def _keep_attempt(self, round_: int, commit: str) -> str:
        prefix = f"refs/attempts/{round_:03d}/"
        kept = {ref.name: ref.commit for ref in self._refs(prefix)}
        name = next((name for name, known in kept.items() if known == commit), f"{prefix}{len(kept) + 1}")
        if name not in kept:
            self._git("update-ref", name, commit, _NO_COMMIT)
        return name

    def clear_leftovers(self) -> None:
        """Remove locks and temporary files of a git that was killed. Only for the one writer of the repository."""
        for pattern in _LEFTOVERS:
            for path in self.path.glob(pattern):
                path.unlink()

    def resolve(self, revision: str) -> str:
        """Tree hash of a tree, commit or ref. Raises RecordError if there is no such thing."""
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
        found = _run(self.path, command).stdout.decode().strip()
        if not found:
            raise RecordError(f"{self.path} has no tree for {revision!r}")
        return found

    def code(self, revision: str) -> Code:
        """All files of a tree, commit or ref by value. Raises RecordError if they don't hash to their tree."""
        tree = self.resolve(revision)
        rows = self._list(tree)
        contents = self._contents(sorted({row.object for row in rows}))
        code = Code(tree, tuple(FileEntry(row.path, _KINDS[row.mode], contents[row.object]) for row in rows))
        if tree_hash(code.files) != tree:
            raise RecordError(f"{self.path} gives other files than those of tree {tree}; the repository is damaged")
        return code

    def diff_stat(self, before: str, after: str) -> DiffStat:
        """What changed from one tree, commit or ref to another."""
        command = (*_DIFF, "--numstat", "-z", self.resolve(before), self.resolve(after))
        return DiffStat(tuple(_changes(self._git(*command))))

    def diff(self, before: str, after: str, max_bytes: int = DIFF_BYTES) -> str:
        """The change from one tree, commit or ref to another as unified text, cut with a note after `max_bytes`."""
        command = _command(self.path, (*_DIFF, "-p", self.resolve(before), self.resolve(after)))
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_environment(), cwd="/"
        ) as git:
            data = cast("IO[bytes]", git.stdout).read(max_bytes + 1)
            if cut := len(data) > max_bytes:
                git.kill()
        if git.returncode and not cut:
            raise RecordError(f"{self.path} cannot compare {before} with {after}; the repository is damaged")
        text = data[:max_bytes].decode("utf-8", "replace")
        return f"{text}\n[diff cut after {max_bytes} bytes]\n" if cut else text

    def _find(self, name: str) -> "_Ref | None":
        return next((ref for ref in self._refs(name) if ref.name == name), None)

    def _existing(self, name: str) -> "_Ref":
        if (ref := self._find(name)) is None:
            raise RecordError(f"{self.path} has no {name}")
        return ref

    def _refs(self, prefix: str) -> list["_Ref"]:
        done = _run(self.path, ("for-each-ref", "--format=%(refname) %(objectname) %(tree)", prefix))
        # A damaged ref is left out with a warning; taken for a missing one it would start the history anew.
        if done.returncode or done.stderr:
            raise RecordError(f"{self.path} has a damaged {prefix}: {_last_line(done.stderr)}")
        return [_Ref(*row.split(" ")) for row in done.stdout.decode().splitlines()]

    def _list(self, tree: str) -> list["_Row"]:
        listing = self._git("ls-tree", "-r", "-z", tree)
        rows = []
        for line in listing.split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            mode, _, name = facts.split(b" ")
            if mode not in _KINDS:
                raise RecordError(f"{self.path} holds {shown(path)} with mode {mode.decode()}, which we never write")
            rows.append(_Row(path, mode, name.decode()))
        return rows

    def _contents(self, names: Sequence[str]) -> Mapping[str, bytes]:
        answer = self._git("cat-file", "--batch", data="".join(f"{name}\n" for name in names).encode())
        contents, start = {}, 0
        for name in names:
            end = answer.index(b"\n", start)
            _, kind, *sizes = answer[start:end].split(b" ")
            if kind != b"blob":
                raise RecordError(f"{self.path} lacks object {name} ({kind.decode()}); the repository is damaged")
            size = int(sizes[0])
            contents[name] = answer[end + 1 : end + 1 + size]
            start = end + size + 2
        return contents

    def _git(self, *arguments: str, data: bytes = b"") -> bytes:
        return _checked(self.path, arguments, data)


class _Ref(NamedTuple):
    name: str
    commit: str
    tree: str


class _Row(NamedTuple):
    path: bytes
    mode: bytes
    object: str


def _tag(round_: int) -> str:
    return f"refs/tags/round-{round_:03d}"


def _last_line(stderr: bytes) -> str:
    return stderr.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no reason given"


def _environment() -> dict[str, str]:
    # Nothing of the surroundings but where git is: no GIT_* variable, no configuration of user or machine.
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "TZ": "UTC",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ATTR_SOURCE": EMPTY_TREE,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _command(git_dir: Path, arguments: Sequence[str]) -> list[str]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return ["git", f"--git-dir={git_dir}", *settings, *arguments]


def _run(git_dir: Path, arguments: Sequence[str], data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = _command(git_dir, arguments)
    try:
        return subprocess.run(command, input=data, capture_output=True, env=_environment(), cwd="/", check=False)
    except FileNotFoundError as error:
        raise PrerequisiteError("git is missing on this machine: apt-get install git") from error


def _checked(git_dir: Path, arguments: Sequence[str], data: bytes = b"") -> bytes:
    done = _run(git_dir, arguments, data)
    if done.returncode:
        raise RecordError(f"git {arguments[0]} failed in {git_dir}: {_last_line(done.stderr)}")
    return done.stdout


def _fast_import(files: Sequence[FileEntry], message: str, when: int, parent: str | None, known: set[str]) -> bytes:
    """The stream that makes one commit. `known`: hashes of contents that need not be sent."""
    text = message.replace("\0", "\\0").encode("utf-8", "backslashreplace")
    stream = [
        b"commit %s\n" % MAIN.encode(),
        b"author %s %d +0000\n" % (AUTHOR, when),
        b"committer %s %d +0000\n" % (AUTHOR, when),
        b"data %d\n%s\n" % (len(text), text),
        b"from %s\n" % parent.encode() if parent else b"",
        b"deleteall\n",
    ]
    for entry in files:
        name = blob_hash(entry.data)
        content = b"" if name in known else b"data %d\n%s\n" % (len(entry.data), entry.data)
        source = name.encode() if name in known else b"inline"
        stream.append(b"M %s %s %s\n%s" % (MODES[entry.kind], source, _quoted(entry.path), content))
    # Without it, a stream cut short by our own death would be taken for a whole one.
    stream.append(b"done\n")
    return b"".join(stream)


def _quoted(path: bytes) -> bytes:
    plain = re.sub(rb"[^ !#-\[\]-~]", lambda match: b"\\%03o" % match[0][0], path)
    return b'"%s"' % plain


def _changes(numstat: bytes) -> Iterator[FileChange]:
    fields = iter(numstat.split(b"\0")[:-1])
    for field in fields:
        added, deleted, path = field.split(b"\t", 2)
        # A rename has an empty path here; the old and the new one follow.
        was = None if path else next(fields)
        yield FileChange(path or next(fields), was, *(None if n == b"-" else int(n) for n in (added, deleted)))
