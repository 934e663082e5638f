"""Core War battles a second, and the wall time as a multiple of bare pMARS playing as many in one process a core.

Usage: python benchmarks/corewar.py [--pairs N] [--batch N] [--sandbox NAME]. One run measures both sides in turn, three
times, and prints the medians. A batch is what a worker plays in one sandbox.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from arena.sandbox.select import backend
from arena.types import Batch, Code, FileEntry, Limits, Pair
from games.corewar import pmars
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig

MATCHUPS = (("aeka", "rave"), ("rave", "flash-paper"), ("aeka", "flash-paper"))
CORES = len(os.sched_getaffinity(0))


def code(path: Path) -> Code:
    return Code("0" * 40, (FileEntry(b"warrior.red", "file", path.read_bytes()),))


def play(batch: Batch) -> int:
    return sum(1 for _ in CoreWar(CoreWarConfig()).play(batch, backend(batch.sandbox)))


def batches(files: tuple[Path, ...], pairs: int, size: int, sandbox: str) -> list[Batch]:
    codes = tuple(code(path) for path in files)
    every = [Pair(index, 7_000_000 + index) for index in range(pairs)]
    parts = [tuple(every[first : first + size]) for first in range(0, pairs, size)]
    both = (True,) * len(codes)
    return [Batch("corewar", {}, 1, 0, ("a", "b"), codes, both, part, Limits(), "fresh", sandbox) for part in parts]


def arena_seconds(pool: ProcessPoolExecutor, work: list[Batch], expected: int) -> float:
    started = time.perf_counter()
    played = sum(pool.map(play, work))
    seconds = time.perf_counter() - started
    assert played == expected, f"{played} battles instead of {expected}"
    return seconds


def bare_seconds(program: Path, files: tuple[Path, ...], battles: int) -> float:
    argv = [str(program), "-b", "-k", "-r", str(battles // CORES), "-f", *map(str, files)]
    started = time.perf_counter()
    running = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(CORES)]
    assert all(process.wait() == 0 for process in running)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=512, help="pairs a matchup (each is two battles)")
    parser.add_argument("--batch", type=int, default=CoreWar.batch_pairs, help="pairs in a unit of work")
    parser.add_argument("--sandbox", default="bubblewrap")
    options = parser.parse_args()
    program = pmars.require().pmars
    warriors = {name: found.files["warrior.red"] for name, found in CoreWar(CoreWarConfig()).baselines().items()}
    battles = 2 * options.pairs
    print(f"{battles} battles, {CORES} cores, batches of {options.batch} pairs, sandbox {options.sandbox}")
    print(f"{'matchup':24}{'bare pMARS s':>14}{'arena s':>10}{'battles/s':>11}{'ratio':>8}")
    with ProcessPoolExecutor(CORES) as pool:
        for names in MATCHUPS:
            files = tuple(warriors[name] for name in names)
            work = batches(files, options.pairs, options.batch, options.sandbox)
            arena_seconds(pool, work[:CORES], 2 * sum(len(part.pairs) for part in work[:CORES]))
            runs = [(bare_seconds(program, files, battles), arena_seconds(pool, work, battles)) for _ in range(3)]
            bare, arena = (statistics.median(column) for column in zip(*runs, strict=True))
            print(f"{' - '.join(names):24}{bare:14.2f}{arena:10.2f}{battles / arena:11.0f}{arena / bare:8.2f}")


if __name__ == "__main__":
    main()
