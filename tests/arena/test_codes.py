from pathlib import Path

import pytest

from arena import codes, registry
from arena.errors import ConfigError
from arena.game import Baseline
from tests.arena.parts import guess
from tests.conformance.doubles import Guess


class Storied(Guess):
    """A game with bots by people."""

    root = Path()

    def baselines(self):
        files = {"main.py": self.root / "theirs.py", "bot.toml": self.root / "bot.toml"}
        return {"old_bot": Baseline(name="old_bot", author="Ada", source="a book", licence="MIT", files=files)}


@pytest.fixture
def storied(tmp_path: Path) -> Storied:
    (tmp_path / "theirs.py").write_text("def move(state): return {}\n")
    (tmp_path / "bot.toml").write_text('entry = "main:move"\n')
    Storied.root = tmp_path
    return Storied(Storied.Config())


def test_every_game_has_a_starter_and_house_bots_that_resolve() -> None:
    for name in registry.GAMES:
        game = registry.game(name)
        assert codes.starter(game).files
        for house in game.house_bots():
            assert codes.resolve(game, f"house:{house}").files


def test_house_bots_are_found_by_name() -> None:
    assert b"main.py" in [entry.path for entry in codes.resolve(guess(), "house:low").files]


def test_baselines_are_put_together_from_files_of_this_machine(storied: Storied) -> None:
    code = codes.resolve(storied, "baseline:old_bot")
    assert [entry.path for entry in code.files] == [b"bot.toml", b"main.py"]
    assert code.get("main.py") == b"def move(state): return {}\n"


def test_folders_are_relative_to_the_config(storied: Storied, tmp_path: Path) -> None:
    assert codes.resolve(storied, tmp_path.name, tmp_path.parent).get("theirs.py")
    assert codes.resolve(storied, str(tmp_path)).get("theirs.py")


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("house:lo", "'lo' is no house bot of guess; did you mean low?"),
        ("house:zzzzzz", "'zzzzzz' is no house bot of guess; there are: high, low"),
        ("house:", "'' is no house bot of guess"),
        ("house:../starter", "is no house bot"),
        ("baseline:old_bat", "'old_bat' is no baseline of guess on this machine; did you mean old_bot?"),
        ("nowhere", "bot 'nowhere': no such folder (nowhere); or write house:NAME, baseline:NAME"),
        ("horse:low", "bot 'horse:low': no such folder"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(storied: Storied, reference: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        codes.resolve(storied, reference)
    assert says in str(caught.value)


def test_a_game_without_baselines_says_so() -> None:
    with pytest.raises(ConfigError, match="no baseline of guess on this machine; there are: none"):
        codes.resolve(guess(), "baseline:old_bot")


def test_a_file_of_a_baseline_that_is_gone_is_named_with_the_way_out(storied: Storied, tmp_path: Path) -> None:
    (tmp_path / "theirs.py").unlink()
    with pytest.raises(ConfigError, match=r"theirs\.py: No such file or directory; set the game up again"):
        codes.resolve(storied, "baseline:old_bot")
