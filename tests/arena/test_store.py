import os
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import store
from arena.documents import LedgerDocument, RunDocument
from arena.errors import ConfigError, RecordError
from tests.arena.samples import run_document

NAMES = [
    "gpt-4.1",
    "org/model",
    "a b",
    "x;touch pwned",
    "é",
    "n" * 200,
    "../x",
    ".",
    "..",
    "",
    "%41",
    "A",
    "a",
    "\x00",
    "a~b",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_makes_a_folder_right_here(name: str, tmp_path: Path) -> None:
    folder = tmp_path / store.folder_name(name)
    assert folder.parent == tmp_path
    folder.mkdir()
    assert [entry.name for entry in tmp_path.iterdir()] == [store.folder_name(name)]
    assert not set(store.folder_name(name)) & set(" ;/$`'\"\\\n*?<>|&()")


def test_plain_names_stay_readable() -> None:
    assert [store.folder_name(name) for name in ("gpt-4.1", "ada_2", "a b", ".x")] == [
        "gpt-4.1",
        "ada_2",
        "a%20b",
        "%2Ex",
    ]


LONG = st.text(st.sampled_from("ab%~.é/"), max_size=300)


@given(st.text(max_size=50) | LONG, st.text(max_size=50) | LONG)
def test_different_names_have_different_folders(one: str, other: str) -> None:
    assert (store.folder_name(one) == store.folder_name(other)) == (one == other)
    assert len(store.folder_name(one)) <= 128


@given(st.text(max_size=20), st.integers(0, 19), st.characters())
def test_one_changed_character_changes_the_folder(name: str, place: int, character: str) -> None:
    changed = name[:place] + character + name[place + 1 :]
    assert (store.folder_name(name) == store.folder_name(changed)) == (name == changed)


@pytest.mark.parametrize("value", [float("nan"), {"x": [float("inf")]}, {"x": object()}])
def test_json_is_strict(value) -> None:
    with pytest.raises(RecordError, match="strict JSON"):
        store.to_json(value)


def test_nesting_too_deep_for_json_is_a_clear_error() -> None:
    value: list = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RecordError, match="strict JSON"):
        store.to_json(value)


def test_a_document_that_does_not_fit_on_the_disk_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    store.write_atomic(path, b"old")
    with limited_file_size(1000), pytest.raises(RecordError, match=r"run\.json can't be written"):
        store.write_atomic(path, b"x" * 5000)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_line_that_does_not_fit_on_the_disk_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    store.append_line(path, b'{"a":1}')
    with limited_file_size(1000), pytest.raises(RecordError, match=r"a\.jsonl can't be extended"):
        store.append_line(path, b"x" * 5000)
    store.append_line(path, b'{"a":2}')
    assert path.read_bytes() == b'{"a":1}\n{"a":2}\n'


class limited_file_size:
    """As on a full disk: no file may grow beyond `size` bytes."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> None:
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        signal.signal(signal.SIGXFSZ, self._handler)


def test_files_in_folders_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="can't be opened"):
        store.append_line(tmp_path / "none" / "a.jsonl", b"{}")
    with pytest.raises(RecordError, match="can't be opened for writing"):
        store.take_lock(tmp_path / "none" / "lock")
    with pytest.raises(RecordError, match="can't be read: No such file"):
        store.read_bytes(tmp_path / "none")


def test_packing_is_deterministic(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(store.pack(b'{"a": 1}'))
    assert path.read_bytes() == store.pack(b'{"a": 1}')
    assert store.read_json(path) == {"a": 1}


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: b"no gzip", lambda data: data[:12] + b"\xff" * 20]
)
def test_damaged_archives_are_named(tmp_path: Path, damage) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(damage(store.pack(bytes(range(256)) * 9)))
    with pytest.raises(RecordError, match=r"a\.json\.gz is damaged"):
        store.read_json(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "run.json is damaged"),
        (b"[]", "run.json is damaged"),
        (b"[" * 100_000, "run.json is damaged"),
        (b'{"schema_version": 999}', "schema_version is 999, this one reads 1; use the arena that wrote"),
        (b'{"schema_version": 1, "game": 5}', "run.json is damaged: status: Field required"),
    ],
)
def test_damaged_documents_name_file_and_key(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=message):
        store.read_document(path, RunDocument)


def test_documents_come_back_as_they_were(tmp_path: Path) -> None:
    document = run_document()
    store.write_atomic(tmp_path / "run.json", store.to_json(document))
    assert store.read_document(tmp_path / "run.json", RunDocument) == document


def test_json_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"{no")
    with pytest.raises(RecordError, match=r"config\.json is damaged"):
        store.read_json(tmp_path / "config.json")


def test_the_lock_is_for_one(tmp_path: Path) -> None:
    descriptor = store.take_lock(tmp_path / "lock")
    with pytest.raises(RecordError, match="in use: another arena writes to it"):
        store.take_lock(tmp_path / "lock")
    os.close(descriptor)
    os.close(store.take_lock(tmp_path / "lock"))


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="can't be written"):
        store.new_folder(tmp_path / "file", "chess")
    with pytest.raises(ConfigError, match="can't be used"):
        store.empty_folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("given_", "key"),
    [
        ({"a": 1, "b": [{"c": 2}, 3]}, None),
        ({"b": [{"c": 2}, 3], "a": 1.0}, None),
        ({"a": 2, "b": [{"c": 2}, 3]}, "a"),
        ({"a": 1, "b": [{"c": 5}, 3]}, "b.0.c"),
        ({"a": 1, "b": [{"c": 2}]}, "b"),
        ({"a": 1, "b": ({"c": 2}, 3), "d": 0}, "d"),
        ({"b": [{"c": 2}, 3]}, "a"),
    ],
)
def test_the_first_difference_is_named(given_, key: str | None) -> None:
    assert store.difference({"a": 1, "b": [{"c": 2}, 3]}, given_) == key


def entry(number: int) -> LedgerDocument:
    return LedgerDocument(round=1, attempt=1, what=f"call {number} " + "x" * 300, tokens=number, cost=None, time="now")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "001.steps.jsonl"
    path.write_bytes(store.to_lines(entry(number) for number in range(3)))
    return path


@pytest.mark.parametrize("lone_newline", [False, True])
@pytest.mark.parametrize("lost", [1, 10, 200])
def test_a_torn_last_line_is_cut_and_kept_aside(lines: Path, lost: int, lone_newline: bool) -> None:
    whole = lines.read_bytes()
    torn = whole[:-lost] + b"\n" * lone_newline
    lines.write_bytes(torn)
    if lone_newline and lost == 1:  # then it is whole again
        assert store.repair_tail(lines) is None
        return
    warning = store.repair_tail(lines)
    assert warning is not None
    assert "line 3 was torn" in warning
    assert lines.read_bytes() == b"".join(whole.splitlines(keepends=True)[:2])
    assert lines.with_suffix(".torn").read_bytes() == torn[lines.stat().st_size :].removesuffix(b"\n") + b"\n"
    store.append_line(lines, store.to_json(entry(9)))
    assert store.repair_tail(lines) is None
    assert [document.tokens for _, document in store.read_lines(lines, LedgerDocument)] == [0, 1, 9]


def test_a_reader_leaves_out_the_line_that_is_being_written(lines: Path) -> None:
    whole = lines.read_bytes()
    for end in (b"", b"\n"):
        lines.write_bytes(whole[:-20] + end)
        assert [document.tokens for _, document in store.read_lines(lines, LedgerDocument)] == [0, 1]


@pytest.mark.parametrize("bad", [b"", b"{", b"5", b'{"a": 1}'])
def test_a_bad_line_in_the_middle_is_an_error(lines: Path, bad: bytes) -> None:
    first, _, third = lines.read_bytes().splitlines()
    lines.write_bytes(b"\n".join((first, bad, third)) + b"\n")
    assert store.repair_tail(lines) is None
    with pytest.raises(RecordError, match=r"001\.steps\.jsonl: line 2 is damaged"):
        list(store.read_lines(lines, LedgerDocument))


@pytest.mark.parametrize("content", [b"", None])
def test_files_without_lines_are_whole(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    assert store.repair_tail(path) is None
