"""Moves files between the far side and the work folder as one stream. Standard library only; runs inside sandboxes.

An entry is a header (kind, length of the path, length of the content), the path, the content. Nothing of the agent's
runs while these functions do, so what they look at holds still.
"""

import os
import stat
import struct
from typing import BinaryIO

HEADER = struct.Struct(">BHQ")
END, FILE, EXECUTABLE, SYMLINK = 0, 1, 2, 3
MAX_DEPTH = 64
Entry = tuple[bytes, int, int, tuple[int, int, int]]  # path, kind, size, what changes when the file does
_LEFT_OUT = {b".git", b"__pycache__"}


class Unsaveable(Exception):
    """The work folder is beyond its limits; the text says how."""


def _read(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise EOFError("the stream of files ended early")
    return data


def load(stream: BinaryIO, root: str) -> None:
    """Write the entries of `stream` below `root`, replacing what is there under their names."""
    top = os.fsencode(root)
    while True:
        kind, path_length, size = HEADER.unpack(_read(stream, HEADER.size))
        if kind == END:
            return
        path = os.path.join(top, _read(stream, path_length))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(path) and not os.path.islink(path):
            remove_folder(path)
        elif os.path.lexists(path):
            os.unlink(path)
        if kind == SYMLINK:
            os.symlink(_read(stream, size), path)
            continue
        with open(path, "xb") as file:
            while size:
                chunk = _read(stream, min(size, 1 << 20))
                file.write(chunk)
                size -= len(chunk)
        os.chmod(path, 0o755 if kind == EXECUTABLE else 0o644)


def remove_folder(path: bytes) -> None:
    """Remove a folder however deep it is: folders in it are moved up beside it first, so no path gets long."""
    pending, moved = [path], 0
    while pending:
        folder = pending.pop()
        os.chmod(folder, 0o700)
        with os.scandir(folder) as children:
            for child in children:
                if not child.is_dir(follow_symlinks=False):
                    os.unlink(child.path)
                    continue
                os.chmod(child.path, 0o700)
                beside = path
                while os.path.lexists(beside):
                    moved, beside = moved + 1, path + b".%d" % moved
                os.rename(child.path, beside)
                pending.append(beside)
        os.rmdir(folder)


def scan(root: str, max_files: int, max_bytes: int) -> tuple[list[Entry], list[bytes]]:
    """Entries below `root` as (path, kind, size, stat signature), sorted; and what was left out, named.

    `.git` and `__pycache__` are left out at any depth, and so is what is no file, link or folder. Raises Unsaveable.
    """
    entries: list[Entry] = []
    skipped: list[bytes] = []
    total, stack = 0, [(os.fsencode(root), b"", 0)]
    while stack:
        folder, prefix, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise Unsaveable(f"folders are nested deeper than {MAX_DEPTH}")
        if not os.access(folder, os.R_OK | os.X_OK):
            os.chmod(folder, 0o700)
        with os.scandir(folder) as children:
            for child in children:
                if child.name.lower() in _LEFT_OUT:
                    continue
                info, path = child.stat(follow_symlinks=False), prefix + child.name
                if stat.S_ISDIR(info.st_mode):
                    stack.append((child.path, path + b"/", depth + 1))
                    continue
                kind = _kind(info.st_mode)
                if kind is None:
                    skipped.append(path)
                    continue
                total += info.st_size
                entries.append((path, kind, info.st_size, (info.st_ino, info.st_mtime_ns, info.st_ctime_ns)))
                if len(entries) > max_files:
                    raise Unsaveable(f"more than {max_files} files")
    if total > max_bytes:
        largest = sorted(entries, key=lambda entry: -entry[2])[:3]
        names = ", ".join(f"{os.fsdecode(path)!r} {size} bytes" for path, _, size, _ in largest)
        raise Unsaveable(f"{total} bytes in all, {max_bytes} are allowed; largest: {names}")
    return sorted(entries), sorted(skipped)


def _kind(mode: int) -> int | None:
    if stat.S_ISLNK(mode):
        return SYMLINK
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & 0o100 else FILE
    return None


def save(entries: list[Entry], root: str, stream: BinaryIO) -> None:
    """Write `entries` of `scan` with their content to `stream`, and the end mark."""
    top = os.fsencode(root)
    for path, kind, size, _ in entries:
        full = os.path.join(top, path)
        data = os.readlink(full) if kind == SYMLINK else _content(full, size)
        stream.write(HEADER.pack(kind, len(path), len(data)) + path)
        stream.write(data)
    stream.write(HEADER.pack(END, 0, 0))


def _content(path: bytes, size: int) -> bytes:
    mode = os.stat(path).st_mode
    if not mode & 0o400:  # only then: a change of mode is a change in the eyes of the next `scan`
        os.chmod(path, mode | 0o400)
    with open(path, "rb") as file:
        return file.read(size)
