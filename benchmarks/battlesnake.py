"""Battlesnake matches a second, for every way of hosting bots, beside the same engine and bots as plain functions.

Run:  python benchmarks/battlesnake.py [MATCHES]

Two copies of `benchmarks/cheap` play each other; every figure is from a whole round of a real run, with results
recorded, on all cores. Ratios are against the plain functions measured in the same run, and against CodeClash's 4.7
matches a second on a 2-core machine. Also: what a round costs in which nothing is played.
"""

import importlib.util
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from arena import config, registry, seeds, start
from arena.errors import PrerequisiteError
from arena.executor import named
from arena.listener import Listener
from arena.sandbox.select import backend
from arena.tournament import Tournament

BOT = Path(__file__).parent / "cheap"
CODECLASH = 4.7


def plain(matches: list[int]) -> int:
    """Play `matches` (seeds) with functions in this process, through the same JSON; turns in all."""
    spec = importlib.util.spec_from_file_location("cheap", BOT / "main.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    game, turns = registry.game("battlesnake"), 0
    for seed in matches:
        engine = game.engine(2, seed)
        while not engine.done:
            engine.apply({seat: module.move(json.loads(engine.observe(seat))) for seat in engine.to_move()})
            turns += 1
    return turns


def plain_rate(matches: int) -> float:
    """Matches a second of plain functions on all cores."""
    cores = os.cpu_count() or 1
    numbers = [seeds.match_seed(1, 0, 0, index) for index in range(matches)]
    with ProcessPoolExecutor(cores) as pool:
        list(pool.map(len, [[]] * cores))  # workers are there
        started = time.perf_counter()
        turns = sum(pool.map(plain, [numbers[core::cores] for core in range(cores)]))
        seconds = time.perf_counter() - started
    print(f"{matches} matches, {turns / matches:.0f} turns a match\n")
    return matches / seconds


def round_seconds(sandbox: str, bots: str, matches: int, rounds: int = 0) -> list[float]:
    """Wall seconds of each round of a real run of `matches` a round."""
    source = {
        "game": "battlesnake",
        "rounds": rounds,
        "matches": matches // 2,
        "seed": 1,
        "bots": bots,
        "sandbox": sandbox,
        "replays": 0,
        "players": [{"name": name, "agent": "frozen", "bot": str(BOT)} for name in ("one", "two")],
    }
    given = json.dumps(source).encode()
    loaded = config.Loaded(config.parse(given, "benchmark"), given, BOT.parent)
    place = backend(sandbox)
    with (
        tempfile.TemporaryDirectory() as results,
        named("local", None) as workers,
        start.create(loaded, place, Path(results)) as record,
    ):
        Tournament(loaded, record, place, workers, Listener()).run()
        return [record.round(n).wall_seconds for n in record.rounds()]


def main() -> None:
    """Print the tables."""
    matches = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    reference = plain_rate(matches)
    print(f"{'hosting':28} {'matches/s':>10} {'of plain':>9} {'CodeClash':>10}")
    print(f"{'plain functions, unsafe':28} {reference:10.0f} {1:9.2f} {reference / CODECLASH:9.0f}x")
    for sandbox in ("bubblewrap", "docker"):
        try:
            backend(sandbox).check()
        except PrerequisiteError as error:
            print(f"{sandbox}: not here ({error})")
            continue
        for bots in ("fresh", "kept"):
            rate = matches / round_seconds(sandbox, bots, matches)[0]
            print(
                f"{sandbox + ', ' + bots:28} {rate:10.0f} {rate / reference:9.2f} {rate / CODECLASH:9.0f}x", flush=True
            )
        first, *later = round_seconds(sandbox, "fresh", 0, rounds=5)
        later.sort()
        told = f"{first * 1000:.0f} ms the first round, {later[2] * 1000:.0f} ms a later one"
        print(f"{sandbox + ', nothing played':28} {told}")


if __name__ == "__main__":
    main()
