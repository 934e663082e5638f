from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import config
from arena.config import TournamentConfig
from arena.errors import ConfigError
from arena.types import Limits
from tests.conformance.doubles import Guess

PLAIN = """
game: battlesnake
rounds: 1
matches: 2
seed: 7
players:
  - {name: ada, agent: frozen, bot: house:greedy}
  - {name: bob, agent: frozen, bot: house:greedy}
"""


class Trio(Guess):
    """A game for three."""

    seats = (3,)


def parse(text: str, *overrides: str) -> TournamentConfig:
    return config.parse(text.encode(), "t.yaml", overrides)


def refused(text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, *overrides)
    return str(caught.value)


def test_a_plain_config_has_the_defaults_of_a_fair_run() -> None:
    read = parse(PLAIN)
    assert read.names == ("ada", "bob")
    assert (read.schedule, read.bots, read.sandbox, read.executor) == ("pairs", "fresh", "auto", "local")
    assert not read.transparent
    assert not any(player.trusted for player in read.players)


def test_limits_of_the_file_go_over_those_of_the_game() -> None:
    from arena import registry

    game = registry.game("battlesnake")
    read = parse(PLAIN, "limits.move_seconds=0.5", "limits.threads=2")
    assert read.match_limits(game) == Limits(move_seconds=0.5, threads=2)
    assert parse(PLAIN).match_limits(game) == game.limits


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("roundz=3", "t.yaml: roundz: unknown key; did you mean rounds?"),
        ("zzz=3", "t.yaml: zzz: unknown key; known keys: bots, edit, executor"),
        ("limits.move_second=1", "t.yaml: limits.move_second: unknown key; did you mean move_seconds?"),
        ("edit.step=1", "t.yaml: edit.step: unknown key; did you mean steps?"),
        ("players.0.boot=x", "t.yaml: players.0.boot: unknown key; did you mean bot?"),
        ("rounds=many", "t.yaml: rounds: Input should be a valid integer"),
        ("rounds=many", "(given: many)"),
        ("rounds=-1", "t.yaml: rounds: Input should be greater than or equal to 0 (given: -1)"),
        ("seed=-1", "t.yaml: seed: "),
        ("seed=9223372036854775808", "t.yaml: seed: "),
        ("rounds=1.5", "t.yaml: rounds: "),
        ("bots=warm", "t.yaml: bots: Input should be 'fresh' or 'kept' (given: warm)"),
        ("sandbox=chroot", "t.yaml: sandbox: Input should be 'auto', 'docker', 'bubblewrap' or 'process'"),
        ("limits.move_seconds=0", "t.yaml: limits.move_seconds: Input should be greater than 0"),
        ("limits.move_seconds=.nan", "t.yaml: limits.move_seconds: "),
        ("limits.match_seconds=.inf", "t.yaml: limits.match_seconds: "),
        ("game=chess", "t.yaml: no game is called 'chess'; there are battlesnake, corewar"),
        ("game=os:sep", "t.yaml: game 'os:sep': 'os:sep' is no subclass"),
        ("game_config.width=wide", "t.yaml: game_config.width: "),
        ("game_config.colour=red", "t.yaml: game_config.colour: "),
        ("players.1.agent=gpt", "t.yaml: no agent is called 'gpt'; there are frozen, scripted"),
        ("players.1.options.speed=9", "t.yaml: players.1.options.speed: "),
        ("players.1.bot=null", "t.yaml: players.1.bot: missing; agent frozen never edits"),
        ("players.0.name=../x", "t.yaml: players.0.name: a name must not be a path"),
        ("players.0.name=/x", "t.yaml: players.0.name: a name must not be a path"),
        ("players.0.name=a/./b", "t.yaml: players.0.name: a name must not be a path"),
        ("players.0.name=' ada'", "t.yaml: players.0.name: use printable characters, without spaces at either end"),
        ('players.0.name="a\\nb"', "t.yaml: players.0.name: use printable characters"),
        ("players.0.name=''", "t.yaml: players.0.name: "),
        ("players.0.name=" + "x" * 201, "t.yaml: players.0.name: "),
        ("players.0.name=BOB", "t.yaml: config: players: 'BOB' and 'bob' are the same name; rename one of them"),
        ("players.0.name=bob", "t.yaml: config: players: 'bob' and 'bob' are the same name"),
        ("players=[]", "t.yaml: players: List should have at least 2 items"),
    ],
)
def test_a_wrong_value_is_told_with_file_key_and_fix(override: str, says: str) -> None:
    assert says in refused(PLAIN, override)


def test_a_missing_key_is_named() -> None:
    assert "t.yaml: seed: missing; add it" in refused(PLAIN.replace("seed: 7\n", ""))
    assert "players.0.agent: missing; add it" in refused(PLAIN.replace("{name: ada, agent: frozen,", "{name: ada,"))


def test_several_mistakes_are_told_at_once_but_never_a_page_of_them() -> None:
    told = refused("game: battlesnake\n" + "".join(f"key{i}: 1\n" for i in range(50)))
    assert told.count(";") >= 4
    assert len(told) < 2000


@pytest.mark.parametrize(
    "name", ["gpt-4.1", "org/model", "a b", "x;touch pwned", "é", "x" * 200, "$(id)", "-rf", "a..b"]
)
def test_odd_but_harmless_names_are_taken_as_they_are(name: str) -> None:
    data = yaml.safe_load(PLAIN)
    data["players"][0]["name"] = name
    assert parse(yaml.safe_dump(data, allow_unicode=True)).names[0] == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected keys such as game, players, rounds; the file holds NoneType"),
        ("- a\n- b\n", "the file holds list"),
        ("just text", "the file holds str"),
        ("a: [1, 2", "no valid YAML"),
        ("a: b: c", "no valid YAML"),
        ("\tgame: x", "no valid YAML"),
        ("game: a\ngame: b\n", "key 'game' is given twice"),
        (PLAIN + "limits:\n  threads: 1\n  threads: 2\n", "key 'threads' is given twice"),
        ("? [a, b]\n: c\n", "no valid YAML"),
        ("? {a: b}\n: c\n", "no valid YAML"),
        ("a: 2001-99-99\n", "no valid YAML"),
        ("a: !!int x\n", "no valid YAML"),
        ("a: !!bool x\n", "no valid YAML"),
        ("a: !!timestamp x\n", "no valid YAML"),
        ("a: 0b_\n", "no valid YAML"),
        ("a: !!python/object/apply:os.system [id]\n", "no valid YAML"),
        ("a: *b\n", "no valid YAML"),
        ("[" * 5000, "no valid YAML"),
        (PLAIN + "a: &a [*a]\n", "a: unknown key"),
    ],
)
def test_what_is_no_config_is_refused_by_file(text: str, says: str) -> None:
    told = refused(text)
    assert told.startswith("t.yaml: ")
    assert says in told


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^t\.yaml: no valid YAML"):
        config.parse(b"game: \xff\xfe", "t.yaml")


def test_merge_keys_are_not_taken_for_duplicates() -> None:
    text = PLAIN + "limits: &l {threads: 3}\n"
    assert parse(
        text.replace("limits: &l {threads: 3}", "limits: {<<: {threads: 3, memory_mb: 99}, threads: 4}")
    ).limits == (config.MatchLimits(threads=4, memory_mb=99))


def test_overrides_go_over_the_file_and_into_lists() -> None:
    read = parse(PLAIN, "rounds=3", "players.1.name=eve", "limits.threads=4", "transparent=true", "seed=1", "seed=2")
    assert (read.rounds, read.names, read.limits.threads, read.transparent, read.seed) == (
        3,
        ("ada", "eve"),
        4,
        True,
        2,
    )


def test_an_override_may_hold_equals_signs_and_yaml() -> None:
    read = parse(PLAIN, "players.0.name=a=b", "players.1={name: c, agent: frozen, bot: house:greedy}")
    assert read.names == ("a=b", "c")


@pytest.mark.parametrize(
    "override",
    [
        "rounds",
        "=3",
        "players.9.name=x",
        "players.x.name=x",
        "players.9=x",
        "players.first=x",
        "rounds.deep=3",
        "seed.deep.er=3",
        "rounds=[1, 2",
        "rounds=!!int x",
        "rounds=" + "[" * 5000,
        "players.=x",
    ],
)
def test_an_override_that_fits_nowhere_is_named(override: str) -> None:
    assert refused(PLAIN, override).startswith(f"override {override[:20]!r}"[:20])


def test_the_number_of_players_must_fit_the_game() -> None:
    data = yaml.safe_load(PLAIN)
    data["players"] = [{"name": f"p{i}", "agent": "frozen", "bot": "house:greedy"} for i in range(5)]
    data["schedule"] = "all"
    assert "5 can't sit in one match of battlesnake, which takes 2, 3, 4; use schedule: pairs" in refused(
        yaml.safe_dump(data)
    )
    data["schedule"] = "pairs"
    assert len(parse(yaml.safe_dump(data)).players) == 5


def test_a_game_that_two_cannot_play_has_no_schedule_of_pairs() -> None:
    told = refused(PLAIN, "game=tests.arena.test_config:Trio")
    assert "schedule: tests.arena.test_config:Trio can't be played by two; use schedule: all" in told


def test_files_are_read_with_the_folder_their_paths_start_at(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.yaml"
    path.parent.mkdir()
    path.write_text(PLAIN)
    loaded = config.load(path, ["rounds=4"])
    assert (loaded.config.rounds, loaded.source, loaded.base) == (4, PLAIN.encode(), path.parent.resolve())


def test_scripts_are_looked_for_beside_the_config(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        PLAIN.replace("agent: frozen, bot: house:greedy}", "agent: scripted, options: {script: s.yaml}}", 1)
    )
    with pytest.raises(ConfigError, match=rf"^{path}: script {tmp_path}/s.yaml: No such file"):
        config.load(path)
    (tmp_path / "s.yaml").write_text("rounds: {}\n")
    assert config.load(path).config.players[0].agent == "scripted"


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_named_with_the_way_out(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="give the path of a YAML file"):
        config.load(tmp_path / name)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from([*TournamentConfig.model_fields, "name", "agent", "bot", "options", "script", "threads"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | SCALARS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_no_mapping_raises_anything_but_the_users_mistake(changes: dict[str, Any]) -> None:
    data = yaml.safe_load(PLAIN) | changes
    try:
        told = f"t.yaml: {len(parse(yaml.safe_dump(data)).players)} players"
    except ConfigError as error:
        told = str(error)
    assert told.startswith("t.yaml: ")


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=40))
def test_no_text_raises_anything_but_the_users_mistake(text: str) -> None:
    with pytest.raises(ConfigError):
        config.parse(text.encode("utf-8", "surrogatepass"), "t.yaml")


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=20), st.sampled_from(["", "rounds", "players.0.name", "limits", "players.0", "edit.steps"]))
def test_no_override_raises_anything_but_the_users_mistake(text: str, key: str) -> None:
    try:
        parse(PLAIN, key + text)
        parse(PLAIN, f"{key}={text}")
    except ConfigError:
        pass
