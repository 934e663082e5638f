import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arena.errors import PrerequisiteError, RecordError, SubmissionError
from arena.repo import FileChange, Repo
from arena.tree import EMPTY_TREE, code_of, materialise, read_directory, tree_hash, verify
from arena.types import FileEntry, FileKind

GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}


def file(path: str | bytes, data: bytes = b"x\n", kind: FileKind = "file") -> FileEntry:
    return FileEntry(path.encode() if isinstance(path, str) else path, kind, data)


def git(repo: Repo, *arguments: str) -> str:
    command = ["git", f"--git-dir={repo.path}", *arguments]
    return subprocess.run(command, env=GIT, capture_output=True, check=True).stdout.decode("utf-8", "surrogateescape")


def fsck(repo: Repo) -> str:
    command = ["git", f"--git-dir={repo.path}", "fsck", "--strict", "--full"]
    done = subprocess.run(command, env=GIT, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.create(tmp_path / "repo.git")


ODD = [
    file(b"new\nline", b"\n"),
    file(b'quo"te\\back', b"1"),
    file(b"\xff\xfe invalid \x80", b"2"),
    file("-rf", b"3"),
    file(" leading and trailing ", b"4"),
    file("sn\u00f6w \u2603.py", b"5"),
    file("tab\there", b"6"),
    file('"', b"7"),
    file("empty", b""),
    file("bytes.bin", bytes(range(256)) * 3),
    file("crlf.txt", b"a\r\nb\r\n"),
    file("run.sh", b"#!/bin/sh\n", "executable"),
    file("passwd", b"/etc/passwd", "symlink"),
    file("deep/er/\u00e9/x", b"8"),
    file("ctrl\x01\x7f", b"9"),
]

HOSTILE = [
    file(".gitattributes", b"* filter=evil diff=evil text eol=crlf ident export-ignore -diff merge=evil\n"),
    file("sub/.gitattributes", b"* export-subst working-tree-encoding=UTF-16\n"),
    file(
        ".gitmodules", b'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% /tmp/pwned\n\tupdate = !touch pwned\n'
    ),
    file(".gitignore", b"*\n"),
    file(".mailmap", b"Evil <evil@evil> <arena@localhost>\n"),
    file("hooks/post-commit", b"#!/bin/sh\ntouch pwned\n", "executable"),
    file("hooks/reference-transaction", b"#!/bin/sh\ntouch pwned\n", "executable"),
    file("config", b"[core]\n\tfsmonitor = touch pwned\n"),
    file("HEAD", b"ref: refs/heads/evil\n"),
    file("ident.txt", b"$Id$ $Format:%H$\r\n"),
]


def test_a_new_repository_is_bare_and_holds_nothing_to_run(repo: Repo) -> None:
    assert git(repo, "rev-parse", "--is-bare-repository").strip() == "true"
    assert git(repo, "symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert not (repo.path / "hooks").exists()
    assert repo.head is None
    assert not repo.has_round(0)
    assert [path.name for path in repo.path.parent.iterdir()] == ["repo.git"]


def test_what_was_committed_comes_back_unchanged(repo: Repo) -> None:
    commit = repo.commit(ODD, "odd", 1_000)
    assert commit == repo.head
    code = repo.code("refs/heads/main")
    assert code == code_of(ODD)
    assert repo.code(code.tree) == code
    assert commit is not None
    assert repo.code(commit) == code
    assert fsck(repo) == ""


def test_the_same_tree_is_no_commit(repo: Repo) -> None:
    first = repo.commit(ODD, "odd", 1_000)
    assert repo.commit(ODD[::-1], "again", 2_000) is None
    assert repo.head == first


def test_an_empty_codebase_is_a_codebase(repo: Repo) -> None:
    first = repo.commit([], "nothing", 1)
    assert first is not None
    assert repo.tag(0) == EMPTY_TREE
    assert repo.code("refs/tags/round-000") == code_of([])
    assert repo.commit([], "still nothing", 2) is None
    assert repo.commit([file("a")], "something", 3)
    assert repo.commit([], "nothing again", 4)
    assert repo.resolve("refs/heads/main") == EMPTY_TREE
    assert repo.diff_stat(EMPTY_TREE, "refs/heads/main").files == 0
    assert repo.diff_stat("refs/heads/main~1", EMPTY_TREE).deleted == 1
    assert fsck(repo) == ""


def play(repo: Repo, trees: Sequence[Sequence[FileEntry]], folder: Path) -> list[str]:
    """One commit, tag and materialised folder a round, as the arena does; returns the commits."""
    folder.mkdir(exist_ok=True)
    commits = []
    for files in trees:
        round_ = next(n for n in range(100) if not repo.has_round(n))
        repo.commit(files, f"round {round_}", round_)
        tree = repo.tag(round_)
        assert tree == tree_hash(files) == repo.tree(round_)
        materialise(repo.code(tree).files, folder / str(round_))
        verify(folder / str(round_), tree)
        assert read_directory(folder / str(round_)) == code_of(files).files
        commits.append(repo.commit_of(round_))
    return commits


ROUNDS = [
    [file("main.py", b"import helper\n"), file("helper.py", b"old\n"), file("lib/x/y", b"1"), file("data", b"file")],
    [file("main.py", b"print()\n"), file("lib/x/y", b"1"), file("data/a", b"in a folder now"), file("data/b/c", b"")],
    [file("MAIN.py", b"print()\n"), file("data", b"a file again"), file("lib/X/y", b"1")],
    [file("main.py", b"print()\n", "executable"), file("data", b"lib", "symlink"), file("lib/x/z", b"1")],
    [file("main.py", b"print()\n"), file("data", b"lib"), file("lib", b"\0\1\2")],
]


def test_every_round_plays_exactly_its_own_tree(repo: Repo, tmp_path: Path) -> None:
    play(repo, ROUNDS, tmp_path / "played")
    assert {path.name for path in (tmp_path / "played" / "1").iterdir()} == {"main.py", "lib", "data"}
    assert {path.name for path in (tmp_path / "played" / "2").iterdir()} == {"MAIN.py", "data", "lib"}
    assert git(repo, "rev-list", "--count", "main").strip() == "5"
    assert fsck(repo) == ""


def test_equal_histories_have_equal_commits_across_a_resume(repo: Repo, tmp_path: Path) -> None:
    undisturbed = play(repo, ROUNDS, tmp_path / "a")
    other = Repo.create(tmp_path / "other.git")
    first = play(other, ROUNDS[:2], tmp_path / "b")
    other.commit([file("half done")], "an edit that was interrupted", 99)
    assert Repo(other.path).reset_to(1) == "refs/attempts/002/1"
    assert first + play(Repo(other.path), ROUNDS[2:], tmp_path / "b") == undisturbed


# Few names, so that files turn into folders, folders into links, and back.
PATHS = st.lists(st.sampled_from([b"a", b"A", b"b\n", b"-", b"\xff"]), min_size=1, max_size=3).map(b"/".join)
FILES = st.dictionaries(
    PATHS, st.tuples(st.sampled_from(["file", "executable", "symlink"]), st.binary(min_size=1, max_size=3))
)


def consistent(tree: dict[bytes, tuple[FileKind, bytes]]) -> list[FileEntry]:
    kept = [path for path in tree if not any(other != path and path.startswith(other + b"/") for other in tree)]
    return [FileEntry(path, tree[path][0], tree[path][1].replace(b"\0", b"t")) for path in kept]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(FILES.map(consistent), min_size=1, max_size=5))
def test_any_history_is_kept_exactly(tmp_path_factory: pytest.TempPathFactory, trees: list[list[FileEntry]]) -> None:
    repo = Repo.create(tmp_path_factory.mktemp("any") / "repo.git")
    last = None
    for when, files in enumerate(trees):
        made = repo.commit(files, "step", when)
        assert (made is None) == (tree_hash(files) == last)
        last = tree_hash(files)
        assert repo.code("refs/heads/main") == code_of(files)
    assert fsck(repo) == ""


def test_nothing_in_a_codebase_takes_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's own files as content, with a user, a machine and an environment that would let them act."""
    home = tmp_path / "home"
    home.mkdir()
    evil = f"touch {tmp_path}/pwned;"
    (home / ".gitconfig").write_text(
        f'[core]\n\tfsmonitor = "{evil} false"\n\thooksPath = {home}/hooks\n\tautocrlf = true\n'
        f'[filter "evil"]\n\tclean = "{evil} cat"\n\tsmudge = "{evil} cat"\n'
        f'[diff "evil"]\n\ttextconv = "{evil} cat"\n\tcommand = "{evil} cat"\n'
        f'[diff]\n\texternal = "{evil} cat"\n'
    )
    (home / "hooks").mkdir()
    for hook in ("reference-transaction", "post-commit"):
        (home / "hooks" / hook).write_text(f"#!/bin/sh\n{evil}\n")
        (home / "hooks" / hook).chmod(0o755)
    elsewhere = {
        "HOME": home,
        "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "GIT_DIR": tmp_path / "else",
        "GIT_WORK_TREE": home,
    }
    for name, value in {**elsewhere, "GIT_INDEX_FILE": home / "index", "GIT_EXTERNAL_DIFF": evil}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.chdir(home)

    repo = Repo.create(tmp_path / "repo.git")
    repo.commit(HOSTILE, "hostile", 1)
    repo.commit([*HOSTILE, file("x.py", b"one\ntwo\n")], "more", 2)
    repo.tag(0)
    assert repo.code("refs/tags/round-000") == code_of([*HOSTILE, file("x.py", b"one\ntwo\n")])
    stat = repo.diff_stat("main~1", "main")
    assert stat.changes == (FileChange(b"x.py", None, 2, 0),)
    assert "+one\n+two\n" in repo.diff("main~1", "main")
    assert git(repo, "log", "--no-mailmap", "--format=%an %ae %cn %ce", "-1").strip() == " ".join(
        ["Code Arena arena@localhost"] * 2
    )
    assert not (tmp_path / "pwned").exists()
    assert not (tmp_path / "else").exists()
    assert [line for line in fsck(repo).splitlines() if ": gitmodules" not in line] == []


def test_the_repositorys_own_settings_cannot_run_programs(repo: Repo, tmp_path: Path) -> None:
    """A run may have come from somebody else, with settings of theirs in its repositories."""
    repo.commit([file("a", b"1\n")], "one", 1)
    repo.commit([file("a", b"2\n")], "two", 2)
    (repo.path / "hooks").mkdir()
    hook = repo.path / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    hook.chmod(0o755)
    (repo.path / "info").mkdir(exist_ok=True)
    (repo.path / "info" / "attributes").write_text("* diff=evil\n")
    run = f"touch {tmp_path}/pwned;"
    with (repo.path / "config").open("a") as config:
        config.write(
            f'[core]\n\tfsmonitor = "{run}"\n\thooksPath = {repo.path}/hooks\n\trepositoryformatversion = 1\n'
            f'[diff]\n\texternal = "{run}"\n[diff "evil"]\n\ttextconv = "{run} cat"\n\tcommand = "{run}"\n'
            f'[protocol "ext"]\n\tallow = always\n[extensions]\n\tpartialClone = evil\n'
            f'[remote "evil"]\n\tpromisor = true\n\turl = "ext::sh -c touch% {tmp_path}/pwned"\n'
        )
    assert "-1\n+2\n" in repo.diff("main~1", "main")
    assert repo.diff_stat("main~1", "main").added == 1
    repo.tag(0)
    repo.commit([file("a", b"3\n")], "three", 3)
    lose(repo, "main:a")
    with pytest.raises(RecordError, match="lacks object"):
        repo.code("main")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("bad", [file(".git/config"), file("../x"), file("sub/.GIT/hooks/x"), file("git~1/config")])
def test_forbidden_files_commit_nothing(repo: Repo, bad: FileEntry) -> None:
    before = repo.commit([file("a")], "fine", 1)
    with pytest.raises(SubmissionError):
        repo.commit([file("a"), file("b"), bad], "not fine", 2)
    assert repo.head == before


def test_messages_are_only_text(repo: Repo) -> None:
    message = "data 5\nfrom x\n\ncommit refs/heads/evil\n\udcff \u2603 \0 done\n"
    repo.commit([file("a")], message, 1)
    assert (
        git(repo, "log", "-1", "--format=%B").strip()
        == message.replace("\0", "\\0").replace("\udcff", "\\udcff").strip()
    )
    assert git(repo, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert fsck(repo) == ""


def test_a_tag_never_moves(repo: Repo) -> None:
    with pytest.raises(RecordError, match="no refs/heads/main"):
        repo.tag(0)
    first = repo.commit([file("a")], "one", 1)
    assert repo.tag(0) == repo.tag(0) == tree_hash([file("a")])
    second = repo.commit([file("b")], "two", 2)
    with pytest.raises(RecordError, match=r"round-000 at .*never moves"):
        repo.tag(0)
    repo.tag(12)
    assert (repo.commit_of(0), repo.commit_of(12)) == (first, second)
    assert (repo.has_round(0), repo.has_round(1), repo.has_round(12)) == (True, False, True)
    with pytest.raises(RecordError, match="no refs/tags/round-001"):
        repo.tree(1)
    assert git(repo, "tag").split() == ["round-000", "round-012"]


def test_abandoned_attempts_are_kept_and_counted(repo: Repo) -> None:
    start = repo.commit([file("a")], "start", 1)
    repo.tag(0)
    assert repo.reset_to(0) is None
    abandoned = []
    for number in (1, 2):
        repo.commit([file("a"), file("b")], "step", 10)
        abandoned.append(repo.commit([file("try", str(number).encode())], "step", 11))
        assert repo.reset_to(0) == f"refs/attempts/001/{number}"
        assert repo.head == start
    assert [repo.resolve(f"refs/attempts/001/{n}") for n in (1, 2)] == [repo.resolve(c) for c in abandoned if c]
    assert repo.reset_to(0) is None
    with pytest.raises(RecordError, match="no refs/tags/round-007"):
        repo.reset_to(7)


def test_a_reset_killed_half_way_counts_once(repo: Repo) -> None:
    start = repo.commit([file("a")], "start", 1)
    repo.tag(0)
    lost = repo.commit([file("b")], "step", 2)
    git(repo, "update-ref", "refs/attempts/001/1", str(lost))
    assert repo.reset_to(0) == "refs/attempts/001/1"
    assert repo.head == start
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/attempts").split() == ["refs/attempts/001/1"]


def test_diffs_count_lines_and_mark_binaries_and_renames(repo: Repo) -> None:
    before = [
        file("Main.py", b"a\nb\nc\nd\n"),
        file("gone", b"1\n2\n"),
        file("bin", b"\0\1"),
        file("mode"),
        file(b"\xff\n", b"q\n"),
    ]
    after = [
        file("main.py", b"a\nb\nc\nd\n"),
        file("new", b"n\n"),
        file("bin", b"\0\2"),
        file("mode", kind="executable"),
        file("l", b"bin", "symlink"),
    ]
    repo.commit(before, "before", 1)
    repo.commit(after, "after", 2)
    stat = repo.diff_stat("main~1", "main")
    assert {change.path: (change.was, change.added, change.deleted) for change in stat.changes} == {
        b"main.py": (b"Main.py", 0, 0),
        b"gone": (None, 0, 2),
        b"new": (None, 1, 0),
        b"bin": (None, None, None),
        b"mode": (None, 0, 0),
        b"l": (None, 1, 0),
        b"\xff\n": (None, 0, 1),
    }
    assert (stat.files, stat.added, stat.deleted, stat.binary) == (7, 2, 3, 1)
    text = repo.diff("main~1", "main")
    assert "Binary files a/bin and b/bin differ" in text
    assert "rename from Main.py" in text
    assert "deleted file mode" in text
    assert "/etc" not in text


def test_diffs_are_bounded_and_never_fail_on_bytes(repo: Repo) -> None:
    repo.commit([], "nothing", 1)
    repo.commit([file("latin", b"caf\xe9\n" * 100_000)], "large", 2)
    text = repo.diff("main~1", "main", max_bytes=1000)
    assert "caf\ufffd\n" in text
    assert text.endswith("[diff cut after 1000 bytes]\n")
    assert len(text) < 1100
    assert repo.diff("main", "main") == ""


def test_links_show_their_target_never_its_content(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "canary.txt").write_text("canary-content")
    repo.commit([], "nothing", 1)
    repo.commit(
        [file("l", os.fsencode(tmp_path / "canary.txt"), "symlink"), file("up", b"../../opponent", "symlink")],
        "links",
        2,
    )
    shown = repo.diff("main~1", "main") + str(repo.code("main"))
    assert "canary.txt" in shown
    assert "canary-content" not in shown


def test_players_share_no_objects(tmp_path: Path) -> None:
    mine, theirs = Repo.create(tmp_path / "a.git"), Repo.create(tmp_path / "b.git")
    theirs.commit([file("bot.py", b"canary\n")], "canary message", 1)
    mine.commit([file("bot.py", b"mine\n")], "mine", 1)
    assert not (mine.path / "objects" / "info" / "alternates").exists()
    assert theirs.resolve("main") not in git(mine, "cat-file", "--batch-all-objects", "--batch-check")
    with pytest.raises(RecordError, match="no tree for"):
        mine.code(theirs.resolve("main"))


def test_very_many_files(repo: Repo) -> None:
    files = [file(f"d{n % 50}/f{n}", str(n).encode()) for n in range(5_000)]
    repo.commit(files, "many", 1)
    assert repo.commit(files[1:], "one less", 2)
    assert repo.code("main") == code_of(files[1:])


def test_creating_twice_is_refused_and_a_half_made_one_replaced(tmp_path: Path) -> None:
    (tmp_path / "repo.git.new").mkdir()
    (tmp_path / "repo.git.new" / "HEAD").write_text("torn")
    repo = Repo.create(tmp_path / "repo.git")
    repo.commit([file("a")], "one", 1)
    with pytest.raises(RecordError, match="there already"):
        Repo.create(tmp_path / "repo.git")
    assert repo.head
    assert not (tmp_path / "repo.git.new").exists()


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no repository"):
        Repo(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="git init failed"):
        Repo.create(tmp_path / "file" / "repo.git")


@pytest.mark.parametrize("revision", ["nothing", "--help", "-h", "", "main:missing", "0" * 40])
def test_what_is_no_revision_is_refused(repo: Repo, revision: str) -> None:
    repo.commit([file("a")], "one", 1)
    with pytest.raises(RecordError, match="no tree for"):
        repo.resolve(revision)


def test_a_machine_without_git_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PrerequisiteError, match="apt-get install git"):
        repo.commit([file("a")], "one", 1)


def test_a_damaged_main_is_not_taken_for_an_empty_one(repo: Repo) -> None:
    repo.commit([file("a")], "one", 1)
    (repo.path / "refs" / "heads" / "main").write_bytes(b"\0" * 41)
    with pytest.raises(RecordError, match="damaged refs/heads/main"):
        repo.commit([file("b")], "two", 2)


def lose(repo: Repo, revision: str) -> None:
    name = git(repo, "rev-parse", revision).strip()
    (repo.path / "objects" / name[:2] / name[2:]).unlink()


def test_lost_contents_are_damage(repo: Repo) -> None:
    repo.commit([file("a", b"1\n"), file("b", b"2\n")], "one", 1)
    repo.commit([file("a", b"3\n"), file("b", b"2\n")], "two", 2)
    lose(repo, "main:a")
    with pytest.raises(RecordError, match=r"lacks object .* \(missing\)"):
        repo.code("main")
    with pytest.raises(RecordError, match="cannot compare main~1 with main"):
        repo.diff("main~1", "main")
    with pytest.raises(RecordError, match="git diff-tree failed"):
        repo.diff_stat("main~1", "main")


def test_swapped_contents_are_damage(repo: Repo) -> None:
    repo.commit([file("a", b"1\n"), file("b", b"2\n")], "one", 1)
    names = [git(repo, "rev-parse", f"main:{path}").strip() for path in "ab"]
    honest, forged = (repo.path / "objects" / name[:2] / name[2:] for name in names)
    honest.chmod(0o644)
    honest.write_bytes(forged.read_bytes())
    with pytest.raises(RecordError, match="other files than those of tree"):
        repo.code("main")


def test_submodules_are_refused(repo: Repo) -> None:
    commit = repo.commit([file("a")], "one", 1)
    listing = f"160000 commit {commit}\tsub\n".encode()
    command = ["git", f"--git-dir={repo.path}", "mktree", "--missing"]
    tree = subprocess.run(command, env=GIT, input=listing, capture_output=True, check=True).stdout.decode().strip()
    with pytest.raises(RecordError, match="'sub' with mode 160000"):
        repo.code(tree)


def test_stale_locks_of_a_killed_git_are_cleared(repo: Repo) -> None:
    repo.commit([file("a")], "one", 1)
    repo.tag(0)
    stale = [
        "refs/heads/main.lock",
        "packed-refs.lock",
        "HEAD.lock",
        "fast_import_crash_17",
        "objects/pack/tmp_pack_x",
        "objects/00/tmp_obj_x",
    ]
    for name in stale:
        (repo.path / name).parent.mkdir(exist_ok=True)
        (repo.path / name).write_bytes(b"")
    with pytest.raises(RecordError, match="git fast-import failed"):
        repo.commit([file("b")], "two", 2)
    repo.reset_to(0)
    assert [name for name in stale if (repo.path / name).exists()] == []
    assert repo.commit([file("b")], "two", 2)


WRITER = """
import sys
from pathlib import Path
from arena.repo import Repo
from arena.types import FileEntry
repo, when = Repo(Path(sys.argv[1])), int(sys.argv[2])
while True:
    when += 1
    repo.commit([FileEntry(b"%d/%d" % (n % 7, n), "file", b"%d %d" % (when, n)) for n in range(300)], "step", when)
    print(when, flush=True)
"""


def test_a_kill_at_any_moment_leaves_whole_commits(repo: Repo) -> None:
    """The writer and its git are killed together; then the history is sound and goes on."""
    repo.commit([file("start")], "start", 0)
    repo.tag(0)
    for attempt in range(8):
        command = [sys.executable, "-c", WRITER, str(repo.path), str(attempt * 1000)]
        writer = subprocess.Popen(
            command, stdout=subprocess.PIPE, start_new_session=True, cwd=Path(__file__).parents[2]
        )
        assert writer.stdout
        writer.stdout.readline()
        time.sleep(0.013 * attempt)
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        repo.clear_leftovers()
        if (left := repo.code("main")).files != (file("start"),):
            assert len(left.files) == 300
            assert len({entry.data.split()[0] for entry in left.files}) == 1
        assert repo.commit([file("go on", str(attempt).encode())], "next", 9000 + attempt)
    assert repo.reset_to(0) == "refs/attempts/001/1"
    problems = [line for line in fsck(repo).splitlines() if not line.startswith("dangling")]
    assert problems == []


def tamper(monkeypatch: pytest.MonkeyPatch, folder: Path, filter_: str) -> None:
    """Put `filter_` between us and git's intake of files."""
    real = shutil.which("git")
    (folder / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *fast-import*) {filter_} | {real} "$@";; *) {real} "$@";; esac\n'
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("seen", ["head -c -5", "head -c 900"])
def test_what_git_saw_of_a_writer_that_died_is_no_commit(
    repo: Repo, seen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = repo.commit([file("start")], "start", 0)
    with monkeypatch.context() as broken:
        tamper(broken, tmp_path, seen)
        with pytest.raises(RecordError, match="git fast-import failed"):
            repo.commit([file(f"f{n}") for n in range(100)], "torn", 1)
    assert repo.head == start
    assert list(repo.path.glob("fast_import_crash_*"))
    repo.clear_leftovers()
    assert not list(repo.path.glob("fast_import_crash_*"))
    assert repo.commit([file("next")], "next", 2)


def test_a_commit_of_other_contents_is_noticed(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tamper(monkeypatch, tmp_path, "sed s/hello/hallo/")
    with pytest.raises(RecordError, match="took the files as tree"):
        repo.commit([file("a", b"hello")], "one", 1)
