"""What a submission is: a source file fit for pMARS's assembler, and the numbers that the assembler made of it."""

import re
from dataclasses import dataclass

from arena.errors import SubmissionError
from arena.types import Code

FILE = "warrior.red"
MAX_BYTES = 65_536
MAX_LINE = 250  # pMARS reads lines into 256 bytes and takes what is beyond for another line
REASON = 600

_OPCODES, _MODIFIERS = 19, 7  # pMARS keeps an instruction's name as opcode * 8 + modifier
_MODES = {0, 1, 2, 3, 4, 0x82, 0x83, 0x84}  # # $ @ < > * { }
_UNTYPABLE = re.compile(rb"[^\t\r\n\x20-\x7e\x80-\xff]")
_NOISE = re.compile(r"Warning:\s*Missing ';assert'\.[^\n]*\n?|Number of (errors|warnings): \d+\n?")


@dataclass(frozen=True, slots=True)
class Warrior:
    """An assembled warrior, in the form in which `arena-mars` prints and reads it."""

    numbers: str
    length: int


def source_of(code: Code) -> bytes:
    """The source of the warrior, as the assembler is to read it. Raises SubmissionError, naming file and line."""
    entry = next((entry for entry in code.files if entry.path == FILE.encode()), None)
    if entry is None:
        raise SubmissionError(
            f"{FILE} is missing: the warrior must be in a file of that name at the root of the codebase"
        )
    if entry.kind == "symlink":
        raise SubmissionError(f"{FILE} is a symbolic link: it must be a regular file")
    if len(entry.data) > MAX_BYTES:
        raise SubmissionError(f"{FILE} has {len(entry.data)} bytes, {MAX_BYTES} are allowed")
    for number, line in enumerate(entry.data.split(b"\n"), 1):
        if len(line) > MAX_LINE:
            raise SubmissionError(f"{FILE} line {number} has {len(line)} bytes, {MAX_LINE} are allowed")
        if _UNTYPABLE.search(line):
            raise SubmissionError(f"{FILE} line {number} holds a control character: it must be plain text")
    return re.sub(rb"[\x80-\xff]", b"?", entry.data)  # comments may be in any script; the assembler gets ASCII


def complaint(stderr: bytes) -> str:
    """pMARS's messages about a source as one bounded line of printable text, its habitual warnings left out."""
    text = _NOISE.sub("", stderr.decode("ascii", errors="replace"))
    flat = re.sub(r"\s+", " ", "".join(char if char.isprintable() else " " for char in text)).strip()
    return flat if len(flat) <= REASON else f"{flat[:REASON]}..."


def parse(output: bytes, *, core_size: int, max_length: int) -> Warrior:
    """The warrior that an assembling process printed; nothing it says is believed unchecked.

    Raises SubmissionError where it is empty or starts outside itself, or where the numbers are no warrior at all
    (a source that got the better of the assembler).
    """
    try:
        lines = [
            [int(field) for field in line.removeprefix("warrior ").split()]
            for line in output.decode("ascii").splitlines()[:-1]
        ]
        length, start, pinned, pin = lines[0]
    except (ValueError, IndexError) as error:
        raise SubmissionError(f"{FILE} upset the assembler: it printed no warrior") from error
    if length == 0:
        raise SubmissionError(f"{FILE} is empty: it assembles to no instruction")
    cells = lines[1:]
    if not output.endswith(b"done\n") or len(cells) != length or not all(_is_cell(cell, core_size) for cell in cells):
        raise SubmissionError(f"{FILE} upset the assembler: it printed no warrior")
    if length > max_length:
        raise SubmissionError(f"{FILE} has {length} instructions, {max_length} are allowed")
    if not 0 <= start < length:
        raise SubmissionError(f"{FILE} starts outside itself: ORG or END must name one of its {length} instructions")
    if pinned not in {0, 1} or not -(2**63) <= pin < 2**63:
        raise SubmissionError(f"{FILE} upset the assembler: it printed no warrior")
    header = f"warrior {length} {start} {pinned} {pin}"
    return Warrior("\n".join([header, *(" ".join(map(str, cell)) for cell in cells)]) + "\n", length)


def _is_cell(cell: list[int], core_size: int) -> bool:
    """Whether `cell` is an instruction: opcode, A-mode, A-number, B-mode, B-number."""
    if len(cell) != 5:
        return False
    opcode, a_mode, a_number, b_mode, b_number = cell
    named = 0 <= opcode < _OPCODES * 8 and opcode % 8 < _MODIFIERS
    return named and a_mode in _MODES and b_mode in _MODES and 0 <= a_number < core_size and 0 <= b_number < core_size
