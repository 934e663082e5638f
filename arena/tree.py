"""Trees of files by value: git's hash of them, their limits, and safe passage to and from folders of this machine.

Nothing here follows a link, runs a program or trusts a name: paths and contents are a player's.
"""

import hashlib
import os
import stat
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arena.errors import ConfigError, LimitExceeded, SandboxError, SubmissionError
from arena.types import Code, FileEntry, FileKind

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MODES: dict[FileKind, bytes] = {"file": b"100644", "executable": b"100755", "symlink": b"120000"}
MAX_FILES = 10_000
MAX_BYTES = 32_000_000
MAX_DEPTH = 64  # folders around a file
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_TARGET_BYTES = 4095

# Code points that HFS+ ignores in names, so that ".g\u200cit" is ".git" there.
_HFS_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_git_name(name: bytes) -> bool:
    """Whether some git on some file system takes `name` (one part of a path) for its own `.git` folder."""
    if name.decode("utf-8", "replace").translate(_HFS_IGNORED).lower() == ".git":
        return True
    return any(part.split(b":")[0].rstrip(b" .").lower() in (b".git", b"git~1") for part in name.split(b"\\"))


def left_out(path: bytes) -> bool:
    """Whether a codebase never holds `path`: a part of it is `.git`, in any spelling, or `__pycache__`."""
    return any(name == b"__pycache__" or is_git_name(name) for name in path.split(b"/"))


def check_paths(files: Sequence[FileEntry]) -> None:
    """Raise SubmissionError that names the first file whose path or link target no codebase may have."""
    paths: set[bytes] = set()
    folders: set[bytes] = set()
    for entry in files:
        fault = _path_fault(entry.path) or (_target_fault(entry.data) if entry.kind == "symlink" else None)
        if entry.path in paths:
            fault = "is there twice"
        if fault:
            raise SubmissionError(f"{shown(entry.path)} {fault}")
        paths.add(entry.path)
        folders.update(_folders_of(entry.path))
    for clash in sorted(paths & folders)[:1]:
        raise SubmissionError(f"{shown(clash)} is both a file and a folder")


def _path_fault(path: bytes) -> str | None:
    names = path.split(b"/")
    faults = {
        "is an empty path": not path,
        "is an absolute path": path.startswith(b"/"),
        "has a NUL in its name": b"\0" in path,
        "has an empty part, '.' or '..' in its path": any(name in (b"", b".", b"..") for name in names),
        "has a part that git takes for .git": any(map(is_git_name, names)),
        f"lies in more than {MAX_DEPTH} folders": len(names) > MAX_DEPTH + 1,
        f"has a name longer than {MAX_NAME_BYTES} bytes": max(map(len, names)) > MAX_NAME_BYTES,
        f"has a path longer than {MAX_PATH_BYTES} bytes": len(path) > MAX_PATH_BYTES,
    }
    return next((fault for fault, present in faults.items() if present), None)


def _target_fault(target: bytes) -> str | None:
    if not target or b"\0" in target:
        return "is a link to an impossible name"
    return f"is a link to a path longer than {MAX_TARGET_BYTES} bytes" if len(target) > MAX_TARGET_BYTES else None


def _folders_of(path: bytes) -> Iterator[bytes]:
    end = path.find(b"/")
    while end != -1:
        yield path[:end]
        end = path.find(b"/", end + 1)


def check_files(files: Sequence[FileEntry], max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> None:
    """Raise LimitExceeded, naming the worst offenders, for a codebase too large; SubmissionError as `check_paths`."""
    if len(files) > max_files:
        places = Counter(next(iter(_folders_of(entry.path)), b".") for entry in files).most_common(3)
        crowded = ", ".join(f"{shown(folder)} ({count})" for folder, count in places)
        raise LimitExceeded(
            f"the codebase has {len(files)} files, {max_files} are allowed; most are in {crowded}: delete some"
        )
    _check_size([(len(entry.data), entry.path) for entry in files], max_bytes)
    check_paths(files)


def _check_size(sizes: Sequence[tuple[int, bytes]], max_bytes: int) -> None:
    total = sum(size for size, _ in sizes)
    if total > max_bytes:
        largest = ", ".join(f"{shown(path)} ({size})" for size, path in sorted(sizes, key=lambda s: (-s[0], s[1]))[:3])
        raise LimitExceeded(
            f"the codebase has {total} bytes, {max_bytes} are allowed; the largest files are {largest}: "
            "delete or shrink some"
        )


def shown(path: bytes) -> str:
    """`path` quoted on one line of bounded length, fit for messages."""
    text = path[:200].decode("utf-8", "backslashreplace")
    return repr(text if len(path) <= 200 else text + "…")


def blob_hash(data: bytes) -> str:
    """Git's hash (40 hex digits) of a file's content."""
    return _object_digest(b"blob", data).hex()


def tree_hash(files: Sequence[FileEntry]) -> str:
    """Git's hash (40 hex digits) of the tree of `files`, in any order. Raises SubmissionError as `check_paths`."""
    check_paths(files)
    rows: defaultdict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
    for entry in files:
        folder, _, name = entry.path.rpartition(b"/")
        rows[folder].append((name, MODES[entry.kind] + b" " + name + b"\0" + _object_digest(b"blob", entry.data)))
    folders = {folder for entry in files for folder in _folders_of(entry.path)}
    for path in sorted(folders, key=lambda path: -path.count(b"/")):
        folder, _, name = path.rpartition(b"/")
        # Git sorts a folder as though its name ended in a slash.
        rows[folder].append((name + b"/", b"40000 " + name + b"\0" + _folder_digest(rows[path])))
    return _folder_digest(rows[b""]).hex()


def _folder_digest(rows: list[tuple[bytes, bytes]]) -> bytes:
    return _object_digest(b"tree", b"".join(row for _, row in sorted(rows)))


def _object_digest(kind: bytes, data: bytes) -> bytes:
    digest = hashlib.sha1(kind + b" " + str(len(data)).encode() + b"\0", usedforsecurity=False)
    digest.update(data)
    return digest.digest()


def code_of(files: Sequence[FileEntry]) -> Code:
    """A codebase by value, its files in order of path. Raises SubmissionError as `check_paths`."""
    return Code(tree_hash(files), tuple(sorted(files, key=lambda entry: entry.path)))


def materialise(files: Sequence[FileEntry], root: Path) -> None:
    """Write `files` into `root`, which must not exist yet, readable for every user of this machine.

    Raises SubmissionError as `check_paths`, OSError (FileExistsError if `root` is there).
    """
    check_paths(files)
    root.mkdir()
    # Links come last, and no path leads through one: nothing can be written outside the new folder.
    with _opened(root) as top:
        os.fchmod(top, 0o755)
        for folder in sorted({folder for entry in files for folder in _folders_of(entry.path)}):
            os.mkdir(folder, dir_fd=top)
            with _opened(folder, top) as made:
                os.fchmod(made, 0o755)
        for entry in sorted(files, key=lambda entry: entry.kind == "symlink"):
            if entry.kind == "symlink":
                os.symlink(entry.data, entry.path, dir_fd=top)
                continue
            with os.fdopen(os.open(entry.path, _CREATE, 0o600, dir_fd=top), "wb") as file:
                file.write(entry.data)
                os.fchmod(file.fileno(), 0o755 if entry.kind == "executable" else 0o644)


def verify(root: Path, tree: str) -> None:
    """Read what lies in `root` again and compare. Raises SandboxError unless it is exactly the tree of hash `tree`."""
    reader = _Reader(max_bytes=sys.maxsize, max_entries=sys.maxsize, strict=True)
    try:
        found = tree_hash(reader.read(root))
    except (ConfigError, SubmissionError) as error:
        raise SandboxError(f"{root} does not hold the submitted tree {tree}: {error}") from error
    if found != tree:
        raise SandboxError(f"{root} holds tree {found}, not the submitted tree {tree}")


def read_directory(path: Path, max_bytes: int = MAX_BYTES, max_files: int = MAX_FILES) -> tuple[FileEntry, ...]:
    """The files below `path`, which nobody needs to trust, in order of path.

    Links are kept as links. Folders without files, FIFOs, sockets, devices and what `left_out` names are left out.
    Raises ConfigError if `path` is no readable folder; LimitExceeded for more than `max_files` files and folders or
    more than `max_bytes` (holes of sparse files count); SubmissionError for what is nested too deep, cannot be read,
    or as `check_paths`.
    """
    entries = _Reader(max_bytes, max_files, strict=False).read(path)
    check_paths(entries)
    return entries


class _Reader:
    """One walk over a folder by directory descriptors, so that a swapped link cannot lead it astray."""

    def __init__(self, max_bytes: int, max_entries: int, *, strict: bool) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._strict = strict
        self._seen = 0
        self._total = 0
        self._sizes: list[tuple[int, bytes]] = []
        self._entries: list[FileEntry] = []

    def read(self, root: Path) -> tuple[FileEntry, ...]:
        try:
            with _opened(root) as top:
                self._folder(top, b"")
        except OSError as error:
            raise ConfigError(f"{root}: {error.strerror}; give a readable folder that holds the code") from error
        _check_size(self._sizes, self._max_bytes)
        return tuple(sorted(self._entries, key=lambda entry: entry.path))

    def _folder(self, descriptor: int, prefix: bytes) -> None:
        with os.scandir(descriptor) as children:
            for child in children:
                path = prefix + os.fsencode(child.name)
                if self._strict or not left_out(path):
                    self._count(path)
                    self._child(descriptor, path)

    def _count(self, path: bytes) -> None:
        self._seen += 1
        if self._seen > self._max_entries:
            raise LimitExceeded(
                f"more than {self._max_entries} files and folders, the last seen {shown(path)}: delete some"
            )

    def _child(self, parent: int, path: bytes) -> None:
        name = path.rpartition(b"/")[2]
        try:
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                self._subfolder(parent, name, path)
            elif stat.S_ISLNK(mode):
                self._add(FileEntry(path, "symlink", os.readlink(name, dir_fd=parent)))
            elif stat.S_ISREG(mode):
                self._file(parent, name, path)
            elif self._strict:
                raise SubmissionError(f"{shown(path)} is no file, link or folder")
        except OSError as error:
            raise SubmissionError(f"{shown(path)} cannot be read: {error.strerror}") from error

    def _subfolder(self, parent: int, name: bytes, path: bytes) -> None:
        if path.count(b"/") >= MAX_DEPTH:
            raise SubmissionError(f"{shown(path)} is nested in more than {MAX_DEPTH} folders: flatten it")
        with _opened(name, parent) as descriptor:
            self._folder(descriptor, path + b"/")

    def _file(self, parent: int, name: bytes, path: bytes) -> None:
        with os.fdopen(os.open(name, _READ, dir_fd=parent), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise SubmissionError(f"{shown(path)} changed while it was read")
            # Once over the limit the walk goes on for sizes alone, so that the message can name the largest.
            if self._total + info.st_size > self._max_bytes:
                self._measure(info.st_size, path)
                return
            data = file.read(info.st_size)
        self._add(FileEntry(path, "executable" if info.st_mode & stat.S_IXUSR else "file", data))

    def _add(self, entry: FileEntry) -> None:
        self._measure(len(entry.data), entry.path)
        self._entries.append(entry)

    def _measure(self, size: int, path: bytes) -> None:
        self._total += size
        self._sizes.append((size, path))


@contextmanager
def _opened(folder: Path | bytes, parent: int | None = None) -> Iterator[int]:
    # Only the root itself, which the caller names, may be reached over a link.
    follow = os.O_NOFOLLOW if parent is not None else 0
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
