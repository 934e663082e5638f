"""Verbs about single matches: match, replay."""

import json
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.errors import ConfigError

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def register(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command()(match)
    app.command()(replay)


def match(
    bots: Annotated[list[str], typer.Argument(metavar="A B ...", help="Folders, house:NAME or baseline:NAME.")],
    game: Annotated[str, typer.Option("--game", help="Name of a game.")],
    matches: Annotated[int, typer.Option("-n", min=1, help="Matches; every seed is played in all seat orders.")] = 100,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Game setting, key=value.")] = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, bubblewrap or process.")] = "auto",
    trusted: Annotated[bool, typer.Option("--trusted", help="The bots are your own: no isolation needed.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Keep bots for a batch: faster, see the rules.")] = False,
    as_json: Json = False,
) -> None:
    """Play bots against each other now."""
    from arena import duel, executor, registry
    from arena.cli.live import live
    from arena.listener import Listener
    from arena.sandbox import select

    chosen = select.choose(sandbox, [] if trusted else bots).backend
    wanted = duel.Duel(game, registry.game(game, _settings(settings or [])), tuple(bots), matches, seed, kept, trusted)
    started = time.monotonic()
    watched = nullcontext(Listener()) if as_json else live(0)  # nothing but JSON on the output
    with executor.named("local", None) as workers, watched as listener:
        result, played = duel.play(wanted, chosen.name, workers, listener)
    seconds = time.monotonic() - started
    if as_json:
        facts = [match.model_dump(mode="json") for match in played]
        print(json.dumps({"result": result.model_dump(mode="json"), "matches": facts}, indent=2))
        return
    from arena.cli.tables import show_table

    rows = []
    for name in result.players:
        standing = result.standings[name]
        won = sum(each.winner == name for each in played)
        forfeits = ", ".join(f"{count} {kind}" for kind, count in sorted(result.forfeits.get(name, {}).items()))
        share = "" if standing.share is None else f"{standing.share:.1%} [{standing.low:.1%}, {standing.high:.1%}]"
        rows.append([name, share, str(won), str(result.draws), forfeits])
    show_table(["bot", "share of points [95 %]", "won", "drawn", "forfeits"], rows)
    print(f"{len(played)} matches in {seconds:.1f} s, {len(played) / seconds:.0f} a second, sandbox {chosen.name}")


def _settings(pairs: list[str]) -> dict[str, Any]:
    import yaml

    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: write key=value")
        settings[key] = yaml.safe_load(value)
    return settings


def replay(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    match_id: Annotated[str | None, typer.Argument(metavar="MATCH", help="Id of a match; left out: list them.")] = None,
    frame: Annotated[int | None, typer.Option(help="Show only this frame; negative counts from the end.")] = None,
    speed: Annotated[float, typer.Option(min=0.1, help="Frames a second.")] = 10.0,
) -> None:
    """Watch a match in the terminal."""
    from arena.record import Record

    record = Record.read(path)
    if match_id is None:
        _list_replays(record)
        return
    from arena import compete, registry

    kept = record.replay(match_id)
    game = registry.game(kept["game"], kept["game_config"])
    frames = [game.render(each) for each in compete.frames(game, kept["raw"])]
    if frame is not None:
        if not -len(frames) <= frame < len(frames):
            raise ConfigError(f"--frame {frame}: the match has frames 0 to {len(frames) - 1}")
        frames = [frames[frame]]
    live = sys.stdout.isatty() and len(frames) > 1
    for text in frames:
        print(f"\x1b[2J\x1b[H{text}" if live else f"{text}\n", flush=True)
        if live:
            time.sleep(1 / speed)
    ended = kept["match"]
    faults = "; ".join(f"{fault['player']}: {fault['kind']} {fault['detail']}" for fault in ended["faults"])
    from arena.cli.tables import plain

    seats = " ".join(f"{seat}={name}" for seat, name in enumerate(ended["seats"]))
    print(plain(f"{match_id}: seats {seats}; winner {ended['winner'] or 'none'}; {ended['termination']} {faults}"))


def _list_replays(record: Any) -> None:
    from arena.cli.tables import show_table

    rows = []
    for n in record.rounds():
        for each in record.matches(n):
            if each.replay:
                rows.append(
                    [each.match_id, " - ".join(each.seats), each.winner or "draw", each.termination, str(each.turns)]
                )
    show_table(["match", "seats", "winner", "ended by", "turns"], rows)
