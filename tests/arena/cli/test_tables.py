import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.cli.tables import plain, show_table


@given(st.text())
def test_nothing_that_steers_a_terminal_is_left(text: str) -> None:
    shown = plain(text)
    assert len(shown) == len(text)
    assert all(character.isprintable() for character in shown)
    assert plain(shown) == shown


@pytest.mark.parametrize("name", ["gpt-4.1", "org/model", "a b", "x;touch pwned", "é", "[red]x[/red]", "日本"])
def test_names_are_shown_as_they_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["name", "wins"], [[name, "3"]], "a title")
    assert name in capsys.readouterr().out


def test_hostile_cells_stay_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["name"], [["\x1b[2J\x07gone\nnext"]], "[bold]\x1b]0;title")
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert "[2J\N{REPLACEMENT CHARACTER}gone\N{REPLACEMENT CHARACTER}next" in shown


def test_long_cells_are_folded_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(["name"], [["x" * 500]])
    assert capsys.readouterr().out.count("x") == 500
