"""How the record gets onto disk: documents whole or not at all, lines that survive a kill, safe folder names."""

import fcntl
import gzip
import hashlib
import itertools
import json
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from arena import SCHEMA_VERSION
from arena.errors import ConfigError, RecordError

Model = TypeVar("Model", bound=BaseModel)

MAX_FOLDER_NAME = 120  # a file name may have 255 bytes; suffixes are added to it
TEMPORARY = ".new"  # ends the name of a file that is not yet whole
_PLAIN = re.compile(rb"[A-Za-z0-9_-]|(?<=.)\.", re.DOTALL)


def folder_name(name: str) -> str:
    """A file name for any text; different texts give different names, plain ones stay as they are.

    Letters, digits, `_`, `-` and `.` (not in front) stand for themselves, other bytes are written %XX. What gets too
    long is cut and told apart by its SHA-256, after a `~` that the short form never has.
    """
    raw = name.encode("utf-8", "surrogatepass")
    quoted = "".join(chr(byte) if _PLAIN.match(raw, index) else f"%{byte:02X}" for index, byte in enumerate(raw))
    if quoted and len(quoted) <= MAX_FOLDER_NAME:
        return quoted
    return f"{quoted[:40]}~{hashlib.sha256(raw).hexdigest()}"


def to_json(value: Any) -> bytes:
    """Strict JSON on one line. Raises RecordError for NaN, infinities and what JSON cannot hold."""
    data = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise RecordError(f"{type(value).__name__} can't be written as strict JSON: {error}") from error


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Make `path` hold exactly `data`, or leave it as it was. Raises RecordError.

    `durable`: it also outlives a power cut; without, only the end of this process.
    """
    unborn = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        with unborn.open("wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        unborn.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        unborn.unlink(missing_ok=True)
        raise RecordError(f"{path} can't be written: {error.strerror}; free space or fix its permissions") from error


def sync_folder(folder: Path) -> None:
    """Have names just made or changed in `folder` outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def pack(data: bytes) -> bytes:
    """gzip, the same bytes for the same data."""
    return gzip.compress(data, mtime=0)


def read_bytes(path: Path) -> bytes:
    """Content of `path`, unpacked if its name ends in .gz. Raises RecordError if it is missing or damaged."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecordError(f"{path} is damaged: {error}; restore it from a copy of the run") from error
    except OSError as error:
        raise RecordError(f"{path} can't be read: {error.strerror}; is this the folder of a run?") from error


def read_json(path: Path) -> Any:
    """The JSON value in `path`. Raises RecordError."""
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is damaged: {error}; restore it from a copy of the run") from error


def read_document(path: Path, model: type[Model]) -> Model:
    """The document in `path`. Raises RecordError that names the file and, where one is wrong, the key."""
    return parse(read_bytes(path), model, str(path))


def parse(data: bytes, model: type[Model], where: str) -> Model:
    """`data` as a `model`. Raises RecordError that names `where`: of another schema, or damaged."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        if (written := _schema_of(data)) != SCHEMA_VERSION and written is not None:
            fix = "use the arena that wrote the run"
            raise RecordError(
                f"{where}: schema_version is {written}, this one reads {SCHEMA_VERSION}; {fix}"
            ) from error
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "document"
        raise RecordError(f"{where} is damaged: {key}: {first['msg']}; restore it from a copy of the run") from error


def _schema_of(data: bytes) -> int | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None  # no JSON at all: the caller says so
    version = value.get("schema_version") if isinstance(value, dict) else None
    return version if isinstance(version, int) else None


def take_lock(path: Path) -> int:
    """Be the one writer: a descriptor that holds the lock file `path` until closed. Raises RecordError if taken."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RecordError(f"{path} can't be opened for writing: {error.strerror}; fix its permissions") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RecordError(f"{path.parent} is in use: another arena writes to it; wait for it, or stop it") from error
    return descriptor


class LineFile:
    """Appends lines to a file; a line that could not be written whole is taken back."""

    def __init__(self, path: Path) -> None:
        """Raises RecordError if `path` can't be opened."""
        self.path = path
        new = not path.exists()
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if new:
                sync_folder(path.parent)
        except OSError as error:
            raise RecordError(f"{path} can't be opened: {error.strerror}; fix its permissions") from error

    def append(self, line: bytes) -> None:
        """Add `line` and a newline, in one write: a kill loses it or keeps it. Raises RecordError."""
        data, start = line + b"\n", os.fstat(self._descriptor).st_size
        try:
            done = os.write(self._descriptor, data)
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except OSError as error:
            os.ftruncate(self._descriptor, start)
            raise RecordError(f"{self.path} can't be extended: {error.strerror}; free space on the disk") from error

    def sync(self) -> None:
        """Have every line so far outlive a power cut."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        """Sync and let go."""
        self.sync()
        os.close(self._descriptor)
        self._descriptor = -1  # the number will be that of another file; whoever still appends must not meet it


def append_line(path: Path, line: bytes) -> None:
    """Add one durable line to `path`. Raises RecordError."""
    file = LineFile(path)
    try:
        file.append(line)
    finally:
        file.close()


def repair_tail(path: Path) -> str | None:
    """Cut a torn last line off `path` and keep it in the file beside it that ends in .torn; the warning, or None.

    A last line is torn if its newline is missing or if it is no JSON. Only for the one writer. A file that is not
    there is whole.
    """
    if not path.exists():
        return None
    data = read_bytes(path)
    start = data.rfind(b"\n", 0, len(data) - 1) + 1
    last = data[start:]
    if not last or (last.endswith(b"\n") and _is_json(last)):
        return None
    torn = path.with_suffix(".torn")
    append_line(torn, last.removesuffix(b"\n"))
    with path.open("r+b") as file:
        file.truncate(start)
        os.fsync(file.fileno())
    number = data.count(b"\n", 0, start) + 1
    return f"{path}: line {number} was torn by a crash; its {len(last)} bytes were moved to {torn.name}"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read_lines(path: Path, model: type[Model]) -> Iterator[tuple[bytes, Model]]:
    """Every line of `path`, raw and as `model`; a torn last one, which may be in the writing, is left out.

    Raises RecordError that names file and line for any other line that is no `model`.
    """
    data = read_bytes(path)
    *lines, tail = data.split(b"\n")
    if lines and not tail and not _is_json(lines[-1]):
        lines.pop()
    for number, line in enumerate(lines, 1):
        yield line, parse(line, model, f"{path}: line {number}")


def to_lines(documents: Iterable[BaseModel]) -> bytes:
    """JSON lines."""
    return b"".join(to_json(document) + b"\n" for document in documents)


def new_folder(results: Path, game: str) -> Path:
    """Make a folder of its own for a new run in `results`. Raises RecordError."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        while True:
            path = results / f"{folder_name(game)}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            with suppress(FileExistsError):  # another run of the same second: draw again
                path.mkdir()
                return path
    except OSError as error:
        raise RecordError(
            f"{results} can't be written: {error.strerror}; fix its permissions or name another"
        ) from error


def empty_folder(output: Path, *allowed: str) -> Path:
    """`output`, made if it isn't there. Raises ConfigError if it holds anything but `allowed`."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        held = {entry.name for entry in output.iterdir()}
    except OSError as error:
        raise ConfigError(f"output {output} can't be used: {error.strerror}; name a folder that can be made") from error
    if held - set(allowed):
        raise ConfigError(f"output {output} is not empty; name a new folder, or use: arena resume {output}")
    return output


def difference(ours: Any, given: Any) -> str | None:
    """Dotted key of the first difference between two values as JSON; None if they are equal."""
    return _difference(ours, json.loads(to_json(given)))


def _difference(ours: Any, given: Any) -> str | None:
    """Dotted key of the first difference between two JSON values, "" for the values themselves, None if equal."""
    if isinstance(ours, dict) and isinstance(given, dict):
        children: Iterable[tuple[Any, Any, Any]] = ((k, ours.get(k), given.get(k)) for k in sorted({*ours, *given}))
    elif isinstance(ours, list) and isinstance(given, list) and len(ours) == len(given):
        children = zip(itertools.count(), ours, given, strict=False)
    else:
        return None if ours == given else ""
    for key, mine, other in children:
        if (rest := _difference(mine, other)) is not None:
            return f"{key}.{rest}" if rest else str(key)
    return None
