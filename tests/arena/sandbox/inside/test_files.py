"""The stream of files that crosses into and out of a work folder."""

import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.sandbox.inside import files
from arena.sandbox.inside.files import END, EXECUTABLE, FILE, HEADER, SYMLINK, Unsaveable

NO_LIMIT = 10**9


def stream(*entries: tuple[bytes, int, bytes], end: bool = True) -> io.BytesIO:
    packed = b"".join(HEADER.pack(kind, len(path), len(data)) + path + data for path, kind, data in entries)
    return io.BytesIO(packed + (HEADER.pack(END, 0, 0) if end else b""))


def saved(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """What `save` gives of `root`."""
    entries, _ = files.scan(str(root), NO_LIMIT, NO_LIMIT)
    out = io.BytesIO()
    files.save(entries, str(root), out)
    data, found = memoryview(out.getvalue()), {}
    while True:
        kind, path_length, size = HEADER.unpack(data[: HEADER.size])
        data = data[HEADER.size :]
        if kind == END:
            assert not data
            return found
        found[bytes(data[:path_length])] = (kind, bytes(data[path_length : path_length + size]))
        data = data[path_length + size :]


NAME = st.binary(min_size=1, max_size=6).filter(
    lambda name: not set(name) & set(b"/\0") and name not in (b".", b"..") and name.lower() not in files._LEFT_OUT
)
CONTENT = st.tuples(st.sampled_from([FILE, EXECUTABLE]), st.binary(max_size=200)) | st.tuples(
    st.just(SYMLINK), st.binary(min_size=1, max_size=20).filter(lambda target: b"\0" not in target)
)
FOLDERS = st.lists(NAME, max_size=3).map(b"/".join)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.tuples(FOLDERS, NAME), CONTENT, max_size=6))
def test_any_files_survive_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[tuple[bytes, bytes], tuple[int, bytes]]
) -> None:
    root = tmp_path_factory.mktemp("work")
    wanted: dict[bytes, tuple[int, bytes]] = {}
    for (folder, name), (kind, data) in sorted(tree.items()):
        path = folder + b"/" + name if folder else name
        parts = path.split(b"/")
        above = {b"/".join(parts[:count]) for count in range(1, len(parts))}
        below = {known for known in wanted if known.startswith(path + b"/")}
        if not above & set(wanted) and not below:
            wanted[path] = (kind, data)
    files.load(stream(*((path, kind, data) for path, (kind, data) in wanted.items())), str(root))
    assert saved(root) == wanted


def test_what_is_there_is_replaced_whatever_it_is(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    root = tmp_path / "work"
    root.mkdir()
    (root / "folder" / "deep").mkdir(parents=True)
    (root / "folder" / "deep" / "f").write_text("x")
    (root / "link").symlink_to(outside)
    (root / "file").write_text("long content")
    (root / "run").write_text("x")
    (root / "run").chmod(0o000)
    files.load(
        stream((b"folder", FILE, b"1"), (b"link", FILE, b"2"), (b"file", SYMLINK, b"/x"), (b"run", EXECUTABLE, b"3")),
        str(root),
    )
    assert saved(root) == {
        b"folder": (FILE, b"1"),
        b"link": (FILE, b"2"),
        b"file": (SYMLINK, b"/x"),
        b"run": (EXECUTABLE, b"3"),
    }
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize("cut", [1, 5, 12, 14, 20])
def test_a_stream_that_ends_early_is_an_error_and_no_file(tmp_path: Path, cut: int) -> None:
    whole = stream((b"abc", FILE, b"0123456789")).getvalue()
    with pytest.raises(EOFError, match="the stream of files ended early"):
        files.load(io.BytesIO(whole[:cut]), str(tmp_path))


def test_large_files_cross_in_parts(tmp_path: Path) -> None:
    data = os.urandom(3_000_001)
    files.load(stream((b"big", FILE, data)), str(tmp_path))
    assert saved(tmp_path) == {b"big": (FILE, data)}


def test_what_is_no_file_link_or_folder_is_left_out_and_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for folder in (".git", "sub/.GIT", "__pycache__", "sub/__PyCache__"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "inner").write_text("x")
    (tmp_path / "sub" / "f").write_text("x")
    entries, skipped = files.scan(str(tmp_path), NO_LIMIT, NO_LIMIT)
    assert [path for path, *_ in entries] == [b"sub/f"]
    assert skipped == [b"pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="made for an unprivileged user below: run the tests as root")
def test_closed_files_and_folders_are_opened_for_saving(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:  # as a user whom modes hold back
        status = 1
        try:
            root = tmp_path / "work"
            root.mkdir()
            os.chown(root, 12345, 12345)
            for folder in (tmp_path, *tmp_path.parents):
                folder.chmod(folder.stat().st_mode | 0o011)
            os.setuid(12345)
            (root / "locked").mkdir()
            (root / "locked" / "f").write_text("x")
            (root / "locked" / "f").chmod(0o000)
            (root / "locked").chmod(0o000)
            status = saved(root) != {b"locked/f": (FILE, b"x")}
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_limits_are_told_with_the_largest_files(tmp_path: Path) -> None:
    for name, size in (("a", 10), ("b", 3000), ("c", 200), ("d", 1)):
        (tmp_path / name).write_bytes(b"x" * size)
    with pytest.raises(Unsaveable) as caught:
        files.scan(str(tmp_path), 10, 3000)
    told = "3211 bytes in all, 3000 are allowed; largest: 'b' 3000 bytes, 'c' 200 bytes, 'a' 10 bytes"
    assert str(caught.value) == told
    with pytest.raises(Unsaveable, match="more than 3 files"):
        files.scan(str(tmp_path), 3, NO_LIMIT)
    assert len(files.scan(str(tmp_path), 4, 3211)[0]) == 4


def test_sparse_files_count_as_long_as_they_are(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(Unsaveable, match="1000000000000 bytes in all"):
        files.scan(str(tmp_path), 10, 10_000)


def test_a_file_that_grew_is_saved_as_long_as_it_was_seen(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("12345")
    entries, _ = files.scan(str(tmp_path), 10, 100)
    (tmp_path / "f").write_text("1234567890")
    out = io.BytesIO()
    files.save(entries, str(tmp_path), out)
    assert out.getvalue() == stream((b"f", FILE, b"12345")).getvalue()


def test_a_signature_changes_when_a_file_does_and_not_by_looking(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    (tmp_path / "f").chmod(0o600)
    first, _ = files.scan(str(tmp_path), 10, 100)
    saved(tmp_path)
    assert files.scan(str(tmp_path), 10, 100)[0] == first
    (tmp_path / "f").write_text("two")
    assert files.scan(str(tmp_path), 10, 100)[0] != first


def test_folders_deeper_than_any_path_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    here = os.open(tmp_path / "deep", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("a-folder", dir_fd=here)
        inner = os.open("a-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("f", os.O_CREAT, dir_fd=here))
    os.close(here)
    (tmp_path / "deep.1").write_text("in the way")
    with pytest.raises(Unsaveable, match="folders are nested deeper than 64"):
        files.scan(str(tmp_path), NO_LIMIT, NO_LIMIT)
    files.load(stream((b"deep", FILE, b"flat")), str(tmp_path))
    assert saved(tmp_path) == {b"deep": (FILE, b"flat"), b"deep.1": (FILE, b"in the way")}
