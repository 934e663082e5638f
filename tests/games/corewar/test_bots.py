"""What ships with the game: starter, house bots, human warriors, rules, settings."""

import re
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from arena import registry
from arena.errors import ConfigError
from arena.sandbox.base import Backend
from arena.types import Limits, points_of, ranks_of, seat_order
from games.corewar import game as game_module
from games.corewar import pmars
from games.corewar.engine import Mars
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig
from tests.games.corewar.samples import batch, code


def share(game: CoreWar, backend: Backend, mine: bytes, theirs: bytes, pairs: int = 25) -> float:
    """Share of match points of `mine`."""
    total = 0.0
    for match in game.play(batch([code(mine), code(theirs)], pairs), backend):
        assert match.outcome is not None
        points = points_of(ranks_of(match.outcome.scores, match.outcome.faults))
        total += points[seat_order(2, match.rotation).index(0)]
    return total / (2 * pairs)


def test_house_bots_and_starter_are_legal(game: CoreWar, mars: Mars) -> None:
    bots = game.house_bots()
    assert len(bots) >= 5
    assert set(bots) == set(game_module._WEAKEST_FIRST)
    for folder in (game.starter, *bots.values()):
        assert sorted(path.name for path in folder.iterdir()) == ["warrior.red"]
        assert mars.assemble((folder / "warrior.red").read_bytes(), 2).length <= 100


def test_the_starter_is_weak(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    starter = (game.starter / "warrior.red").read_bytes()
    for name in ("dwarf", "stone", "paper", "quickpaper"):
        theirs = (game.house_bots()[name] / "warrior.red").read_bytes()
        assert share(game, backend, starter, theirs) < 0.4, name


def test_human_warriors_are_found_with_their_authors(game: CoreWar, built: pmars.Engine) -> None:
    found = {name: (one.title, one.author, one.source, one.licence) for name, one in game.baselines().items()}
    assert found == {
        "aeka": ("Aeka", "T.Hsu", "apt:pmars", "GPL-2"),
        "flash-paper": ("Flash Paper3.7", "Matt Hastings", "apt:pmars", "GPL-2"),
        "rave": ("Rave", "Stefan Strack", "apt:pmars", "GPL-2"),
    }


def test_human_warriors_are_valid(game: CoreWar, built: pmars.Engine, backend: Backend) -> None:
    for baseline in game.baselines().values():
        assert game.validate(code(baseline.files["warrior.red"]), backend, Limits(), trusted=False).valid


def test_a_baseline_without_headers_keeps_what_is_listed(tmp_path: Path) -> None:
    (tmp_path / "x.red").write_text("mov 0, 1\n")
    listed = {"name": "x", "title": "X", "author": "A", "file": "x.red", "source": "s", "licence": "l"}
    baseline = game_module._baseline(listed, tmp_path)
    assert (baseline.title, baseline.author) == ("X", "A")


def test_pmars_is_a_tool_for_agents(game: CoreWar, built: pmars.Engine) -> None:
    assert dict(game.tools()) == {"pmars": built.pmars}
    assert tuple(game.prerequisites()) == ()


def test_the_examples_in_the_rules_work(game: CoreWar, built: pmars.Engine, mars: Mars, tmp_path: Path) -> None:
    rules = game.brief()
    (example,) = re.findall(r"```redcode\n(.*?)```", rules, re.DOTALL)
    assert mars.assemble(example.encode(), 2).length == 4
    (commands,) = re.findall(r"```sh\n(.*?)```", rules, re.DOTALL)
    for name in ("warrior.red", "other.red"):
        (tmp_path / name).write_text(example)
    path = {"PATH": f"{built.folder}:/usr/bin:/bin"}
    for command in commands.splitlines():
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), command


def test_the_brief_tells_other_settings(game: CoreWar) -> None:
    assert "Settings of this tournament" not in game.brief()
    other = CoreWar(CoreWarConfig(core_size=800, max_length=20, min_distance=20))
    assert "core_size 800, max_length 20, min_distance 20" in other.brief()


@pytest.mark.parametrize(
    "values",
    [{"max_length": 101}, {"core_size": 799}, {"core_size": 0}, {"max_cycles": 0}, {"rounds": 5}, {"max_length": 1001}],
)
def test_settings_that_do_not_fit_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        CoreWarConfig.model_validate(values)
    with pytest.raises(ConfigError, match="game_config"):
        registry.game("corewar", values)


def test_settings_reach_pmars(built: pmars.Engine, backend: Backend) -> None:
    tiny = CoreWar(CoreWarConfig(core_size=800, max_cycles=500, max_processes=16, max_length=20, min_distance=25))
    needs = b"CORESIZE == 800 && MAXCYCLES == 500 && MAXPROCESSES == 16 && MAXLENGTH == 20 && MINDISTANCE == 25"
    imp = code(b";assert " + needs + b"\nmov.i 0, 1\n")
    assert tiny.validate(imp, backend, Limits(), trusted=False).valid
    (first, _) = tiny.play(batch([imp, imp], 1), backend)
    assert first.outcome is not None
    assert first.outcome.turns == 500
