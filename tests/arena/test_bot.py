import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.bot import MAX_BYTES, Manifest, manifest
from arena.errors import SubmissionError
from arena.types import Code, FileEntry
from tests.arena.parts import code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('entry = "main:Bot"', Manifest(entry="main:Bot")),
        ('entry = "a.b.c:move_1"', Manifest(entry="a.b.c:move_1")),
        ('command = ["./run", "-x"]\nbuild = "make"', Manifest(command=("./run", "-x"), build="make")),
    ],
)
def test_a_manifest_says_how_the_bot_is_started(text: str, expected: Manifest) -> None:
    assert manifest(code({"bot.toml": text})) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "bot.toml: the file: Value error, give either entry"),
        ('entry = "a:b"\ncommand = ["./c"]', "give either entry"),
        ('entry = "main"', "bot.toml: entry: String should match pattern"),
        ('entry = "main:Bot()"', "bot.toml: entry: "),
        ('entry = "../x:y"', "bot.toml: entry: "),
        ("entry = 7", "bot.toml: entry: Input should be a valid string"),
        ("command = []", "bot.toml: command: "),
        ('command = "./run"', "bot.toml: command: Input should be a valid tuple"),
        ('command = ["./run", 7]', "bot.toml: command.1: Input should be a valid string"),
        ('entry = "a:b"\nbuilt = "make"', "bot.toml: built: Extra inputs are not permitted"),
        ("entry = main:Bot", "bot.toml is no valid TOML: Invalid value (at line 1"),
        ("[[[", "bot.toml is no valid TOML"),
        ("#" * (MAX_BYTES + 1), f"bot.toml is longer than {MAX_BYTES} bytes"),
        (b"\xff\xfe", "bot.toml is not UTF-8"),
        ('entry = "a:b"\nx = ' + "[" * 8000, "bot.toml is no valid TOML"),
    ],
)
def test_a_wrong_manifest_is_told_in_one_line_with_file_and_key(text: str | bytes, says: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        manifest(code({"bot.toml": text}))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "files", [(), (FileEntry(b"bot.toml", "symlink", b"other.toml"), FileEntry(b"other.toml", "file", b'entry="a:b"'))]
)
def test_a_missing_manifest_is_told_with_an_example(files: tuple[FileEntry, ...]) -> None:
    with pytest.raises(SubmissionError, match=r'bot.toml is missing: .* entry = "main:move"'):
        manifest(Code("0" * 40, files))


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_no_bytes_raise_anything_but_an_invalid_submission(data: bytes) -> None:
    with pytest.raises(SubmissionError):
        manifest(code({"bot.toml": b"# " + data.replace(b"\n", b" ") if b"entry" in data else data}))
