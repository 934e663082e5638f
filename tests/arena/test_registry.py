import importlib
import sys
from pathlib import Path

import pytest

from arena import registry
from arena.errors import ConfigError
from tests.conformance.doubles import Diligent, Guess

ENTRY_POINTS = """
[arena.games]
guess = tests.conformance.doubles:Guess
[arena.agents]
diligent = tests.conformance.doubles:Diligent
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution of somebody else's, with a game and an agent."""
    info = tmp_path / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()


def test_every_shipped_name_leads_to_a_part_of_that_id() -> None:
    for name in registry.GAMES:
        assert registry.game_class(name).id == name
    for name in registry.AGENTS:
        assert registry.agent_class(name).id == name


def test_an_import_path_will_do() -> None:
    assert registry.game_class("tests.conformance.doubles:Guess") is Guess
    assert registry.agent_class("tests.conformance.doubles:Diligent") is Diligent


def test_installed_parts_are_found_by_name(installed: None) -> None:
    assert registry.game_class("guess") is Guess
    assert registry.agent_class("diligent") is Diligent
    assert registry.names("games") == ["battlesnake", "corewar", "guess"]
    assert registry.names("agents") == ["diligent", "frozen", "scripted"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("chess", "no game is called 'chess'; there are battlesnake, corewar, or give pkg.mod:Class"),
        ("", "no game is called ''"),
        (
            "no.such.module:Game",
            "game 'no.such.module:Game' cannot be loaded from 'no.such.module:Game': ModuleNotFound",
        ),
        ("arena.game:Chess", "module 'arena.game' has no attribute 'Chess'"),
    ],
)
def test_what_cannot_be_found_is_said(name: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        registry.game_class(name)
    assert says in str(caught.value)


def test_agents_that_cannot_be_found_are_called_agents() -> None:
    with pytest.raises(ConfigError, match="no agent is called 'gpt'; there are frozen, scripted"):
        registry.agent_class("gpt")


@pytest.mark.parametrize("name", [":Class", "pkg:", ":", "..:x", ".rel:Game", "a b:c"])
def test_odd_import_paths_are_the_users_mistake(name: str) -> None:
    with pytest.raises(ConfigError):
        registry.game_class(name)


def test_a_module_that_cannot_be_imported_is_the_users_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brokengame.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="not_installed_anywhere"):
        registry.game_class("brokengame:Game")
    assert "brokengame" not in sys.modules
    (tmp_path / "unreadablegame.py").write_text("class Game:\n  def :\n")
    with pytest.raises(ConfigError, match=r"unreadablegame.*SyntaxError.*line 2"):
        registry.game_class("unreadablegame:Game")


@pytest.mark.parametrize("path", ["arena.types:Limits", "os:sep", "agents.frozen:FrozenAgent"])
def test_what_is_no_game_is_not_taken_for_one(path: str) -> None:
    with pytest.raises(ConfigError, match=f"^game '{path}': '{path}' is no subclass of arena.game.Game$"):
        registry.game_class(path)


def test_settings_of_a_game_are_checked_by_key() -> None:
    assert registry.game("battlesnake", {"width": 7, "height": 7}).config.model_dump()["width"] == 7
    with pytest.raises(ConfigError, match=r"^game_config\.width: .* \(game battlesnake\)$"):
        registry.game("battlesnake", {"width": "wide"})
    with pytest.raises(ConfigError, match=r"^game_config\.colour: "):
        registry.game("battlesnake", {"colour": "red"})
