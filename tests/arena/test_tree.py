import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError, LimitExceeded, SandboxError, SubmissionError
from arena.tree import (
    EMPTY_TREE,
    blob_hash,
    check_files,
    check_paths,
    code_of,
    is_git_name,
    left_out,
    materialise,
    read_directory,
    tree_hash,
    verify,
)
from arena.types import FileEntry, FileKind

GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
DOTGITS = [
    b".git",
    b".GIT",
    b".Git",
    b"git~1",
    b"GIT~1",
    b".git ",
    b".git...",
    b".git . .",
    b".git::$INDEX_ALLOCATION",
    b"git~1:x",
    b"a\\.git",
    b".git\\hooks",
    ".g\u200cit".encode(),
    "\ufeff.git".encode(),
    ".gi\u206ft".encode(),
]


def file(path: str | bytes, data: bytes = b"x\n", kind: FileKind = "file") -> FileEntry:
    return FileEntry(path.encode() if isinstance(path, str) else path, kind, data)


def git(root: Path, *arguments: str, data: bytes = b"") -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, env=GIT, input=data, capture_output=True, check=True).stdout


def git_tree(root: Path) -> str:
    """The hash that git itself gives the folder `root`."""
    git(root, "init", "-q")
    git(root, "add", "-A", "-f", ".")
    return git(root, "write-tree").decode().strip()


# Names that sort differently as files and as folders, and all the bytes a name may have.
NAME = st.one_of(
    st.sampled_from([b"a", b"a.b", b"a-b", b"a0", b"ab", b"A", b"-r", b"\xff\xfe", b'q"\n', "\u00e9 \u2603".encode()]),
    st.binary(min_size=1, max_size=6).filter(
        lambda n: not {*n} & {0, 0x2F} and n not in (b".", b"..") and not is_git_name(n)
    ),
)
ENTRY = st.builds(
    lambda names, kind, data: FileEntry(
        b"/".join(names), kind, data.replace(b"\0", b"") or b"t" if kind == "symlink" else data
    ),
    st.lists(NAME, min_size=1, max_size=4),
    st.sampled_from(["file", "executable", "symlink"]),
    st.binary(max_size=20),
)


def consistent(files: list[FileEntry]) -> bool:
    paths = [entry.path for entry in files]
    return len(set(paths)) == len(paths) and not any(a.startswith(b + b"/") for a in paths for b in paths)


TREES = st.lists(ENTRY, max_size=12).filter(consistent)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(TREES)
def test_a_tree_survives_the_disk_and_hashes_as_git_does(files: list[FileEntry]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        materialise(files, root)
        verify(root, tree_hash(files))
        assert read_directory(root) == code_of(files).files
        assert tree_hash(files) == git_tree(root)


def test_hashes_of_nothing() -> None:
    assert tree_hash([]) == EMPTY_TREE == code_of([]).tree
    assert blob_hash(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_code_is_in_order_and_gives_files_by_name() -> None:
    code = code_of([file("b"), file("a/c", b"1"), file("a-", b"2"), file("l", b"b", "symlink")])
    assert [entry.path for entry in code.files] == [b"a-", b"a/c", b"b", b"l"]
    assert (code.get("a/c"), code.get("l"), code.get("none")) == (b"1", None, None)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        (b"", "empty path"),
        (b"/etc/passwd", "absolute"),
        (b"a\0b", "NUL"),
        (b"../x", "'..'"),
        (b"a/../x", "'..'"),
        (b"a/./x", "'.'"),
        (b"a//x", "empty part"),
        (b"a/", "empty part"),
        (b"n" * 256, "longer than 255"),
        (b"/".join([b"n" * 200] * 6), "longer than 1024"),
        (b"d/" * 65 + b"x", "64 folders"),
        *((b"a/" + name + b"/x", ".git") for name in DOTGITS),
    ],
)
def test_paths_that_no_codebase_may_have(path: bytes, fault: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for refuse in (check_paths, check_files, tree_hash, code_of, lambda files: materialise(files, root)):
        with pytest.raises(SubmissionError, match=fault):
            refuse([file("fine"), file(path)])
    assert not root.exists()


@pytest.mark.parametrize("name", [b".gitignore", b".gitmodules", b".gitattributes", b"git", b"git~2", b"x.git", b".gi"])
def test_names_that_only_look_like_git_are_fine(name: bytes) -> None:
    assert not is_git_name(name)
    check_paths([file(name)])


def test_deepest_and_longest_allowed(tmp_path: Path) -> None:
    files = [file(b"d/" * 64 + b"x"), file(b"/".join([b"n" * 255] * 4)), file("e", b"t" * 4095, "symlink")]
    materialise(files, tmp_path / "root")
    assert read_directory(tmp_path / "root") == code_of(files).files


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ([file("a"), file("a")], "'a' is there twice"),
        ([file("a"), file("a/b")], "'a' is both a file and a folder"),
        ([file("a/b/c"), file("a/b", b"/etc", "symlink")], "'a/b' is both a file and a folder"),
        ([file("l", b"", "symlink")], "'l' is a link to an impossible name"),
        ([file("l", b"a\0b", "symlink")], "'l' is a link to an impossible name"),
        ([file("l", b"t" * 4096, "symlink")], "'l' is a link to a path longer than 4095 bytes"),
    ],
)
def test_files_that_cannot_be_together(files: list[FileEntry], fault: str, tmp_path: Path) -> None:
    with pytest.raises(SubmissionError, match=fault):
        materialise(files, tmp_path / "root")


def test_limits_name_the_worst_offenders() -> None:
    files = [file("big.bin", bytes(5000)), file("logs/a", bytes(700)), file("logs/b", bytes(10)), file("c", b"1")]
    check_files(files, max_bytes=5711, max_files=4)
    with pytest.raises(LimitExceeded, match=r"5711 bytes, 5710 are allowed.*'big.bin' \(5000\), 'logs/a' \(700\)"):
        check_files(files, max_bytes=5710)
    with pytest.raises(
        LimitExceeded, match=r"4 files, 3 are allowed; most are in 'logs' \(2\), '.' \(2\)|'.' \(2\), 'logs' \(2\)"
    ):
        check_files(files, max_files=3)


def test_messages_stay_on_one_bounded_line() -> None:
    with pytest.raises(SubmissionError) as raised:
        check_paths([file(b"../\n\xff" + b"x" * 100_000)])
    assert len(str(raised.value)) < 400
    assert "\n" not in str(raised.value)


def test_materialised_files_can_be_read_by_everyone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        materialise([file("d/e/f"), file("d/run", b"#!/bin/sh\n", "executable")], tmp_path / "root")
    finally:
        os.umask(before)
    modes = {
        path: stat.S_IMODE((tmp_path / "root" / path).stat().st_mode) for path in (".", "d", "d/e", "d/e/f", "d/run")
    }
    assert modes == {".": 0o755, "d": 0o755, "d/e": 0o755, "d/e/f": 0o644, "d/run": 0o755}


def test_materialise_only_fills_a_fresh_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = tmp_path / "link"
    link.symlink_to(outside)
    for taken in (outside, link):
        with pytest.raises(FileExistsError):
            materialise([file("a")], taken)
    assert list(outside.iterdir()) == []


def test_links_are_kept_and_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"canary")
    (tmp_path / "opponent").mkdir()
    (tmp_path / "opponent" / "bot.py").write_bytes(b"canary")
    root = tmp_path / "root"
    root.mkdir()
    targets = {"passwd": "/etc/passwd", "up": "../opponent", "gone": "/no/such/file", "s": str(secret), "self": "self"}
    for name, target in targets.items():
        (root / name).symlink_to(target)
    files = read_directory(root)
    assert {entry.path.decode(): entry.data.decode() for entry in files} == targets
    assert {entry.kind for entry in files} == {"symlink"}
    materialise(files, tmp_path / "copy")
    verify(tmp_path / "copy", tree_hash(files))
    assert (tmp_path / "copy" / "up").readlink() == Path("../opponent")


def test_what_is_no_file_is_left_out_and_cannot_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        (tmp_path / "empty folder").mkdir()
        (tmp_path / "bot.py").write_bytes(b"pass\n")
        assert read_directory(tmp_path) == (file("bot.py", b"pass\n"),)


def test_git_and_caches_are_left_out_at_any_depth(tmp_path: Path) -> None:
    for folder in (".git/hooks", "a/.GIT", "a/b/__pycache__", "__pycache__", "a/git~1"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x").write_bytes(b"evil")
    (tmp_path / "a" / "b" / ".git").write_text("gitdir: /elsewhere\n")
    (tmp_path / "a" / ".gitignore").write_text("*\n")
    assert read_directory(tmp_path) == (file("a/.gitignore", b"*\n"),)
    assert left_out(b"a/.git/x")
    assert left_out(b"__pycache__")
    assert not left_out(b"a/.github/x")


def test_a_thousand_deep_folder_is_an_error_not_a_crash(tmp_path: Path) -> None:
    start = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(3000):
            Path("d").mkdir()
            os.chdir("d")
        os.chdir(start)
        with pytest.raises(SubmissionError, match="more than 64 folders: flatten it"):
            read_directory(tmp_path)
    finally:
        os.chdir(start)
        # Python's own removal would recurse too deep.
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_sparse_file_counts_with_its_holes_and_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "hole.bin").open("wb") as sparse:
        sparse.truncate(20 << 30)
    (tmp_path / "bot.py").write_bytes(b"pass\n")
    with pytest.raises(LimitExceeded, match=r"21474836485 bytes.*'hole.bin' \(21474836480\), 'bot.py' \(5\)"):
        read_directory(tmp_path)


def test_reading_stops_at_too_many_entries(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).mkdir()
    assert read_directory(tmp_path, max_files=20) == ()
    with pytest.raises(LimitExceeded, match="more than 19 files and folders"):
        read_directory(tmp_path, max_files=19)


def test_reading_takes_exactly_the_allowed_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(10))
    (tmp_path / "b").write_bytes(bytes(10))
    assert len(read_directory(tmp_path, max_bytes=20)) == 2
    with pytest.raises(LimitExceeded, match="20 bytes, 19 are allowed"):
        read_directory(tmp_path, max_bytes=19)


def test_names_from_disk_are_checked(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(5):
        folder /= "n" * 250
        folder.mkdir()
    (folder / "x").write_bytes(b"")
    with pytest.raises(SubmissionError, match="longer than 1024 bytes"):
        read_directory(tmp_path)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of a user without privileges, who we are meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        if root := os.geteuid() == 0:
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)


def test_unreadable_files_are_named(unprivileged: Path) -> None:
    (unprivileged / "d").mkdir()
    (unprivileged / "d" / "locked").write_bytes(b"")
    (unprivileged / "d" / "locked").chmod(0)
    with pytest.raises(SubmissionError, match="'d/locked' cannot be read: Permission denied"):
        read_directory(unprivileged)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_root_that_is_no_folder_is_the_users_fault(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    if kind == "file":
        root.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"root: .*; give a readable folder"):
        read_directory(root)


def test_a_file_swapped_for_a_fifo_never_blocks(tmp_path: Path) -> None:
    """The swap comes at the worst moment: after the look at the file, before it is opened."""
    (tmp_path / "x").write_bytes(b"data")
    os.mkfifo(tmp_path / "aside")
    pending = [tmp_path / "aside"]

    def swap(event: str, arguments: tuple[object, ...]) -> None:
        # Audit hooks stay for the life of the process: this one acts once.
        if event == "open" and arguments[0] == b"x" and pending:
            pending.pop().rename(tmp_path / "x")

    sys.addaudithook(swap)
    with pytest.raises(SubmissionError, match="'x' changed while it was read"):
        read_directory(tmp_path)


def change_content(root: Path) -> None:
    (root / "main.py").write_bytes(b"y\n")


def change_mode(root: Path) -> None:
    (root / "main.py").chmod(0o755)


def delete(root: Path) -> None:
    (root / "main.py").unlink()


def nest(root: Path) -> None:
    (root / "root").mkdir()
    (root / "root" / "main.py").write_bytes(b"x\n")


def plant_git(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_bytes(b"")


def plant_cache(root: Path) -> None:
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "main.pyc").write_bytes(b"")


def plant_fifo(root: Path) -> None:
    os.mkfifo(root / "fifo")


def remove_all(root: Path) -> None:
    (root / "main.py").unlink()
    root.rmdir()


@pytest.mark.parametrize(
    "spoil", [change_content, change_mode, delete, nest, plant_git, plant_cache, plant_fifo, remove_all]
)
def test_verify_notices(spoil, tmp_path: Path) -> None:
    root, tree = tmp_path / "root", tree_hash([file("main.py")])
    materialise([file("main.py")], root)
    verify(root, tree)
    spoil(root)
    with pytest.raises(SandboxError, match=f"not (hold )?the submitted tree {tree}|does not hold"):
        verify(root, tree)
