"""Checks of what a sandbox may use: memory, processes, disk, time, output."""

import resource

from arena.conformance.check import Omitted, demand
from arena.conformance.inside import ROOMY_MB, opened
from arena.sandbox.base import Backend

_MEMORY_MB, _PROCESSES, _DISK_MB, _FLOOD_MB = 256, 16, 8, 100
_BESIDE_MB = 128  # a whole sandbox may hold this beside what its processes may use: small disks, the host program
_GRACE_SECONDS = 3.0


def memory_limit(backend: Backend) -> str:
    """One process gets no more memory than allowed, by the sandbox's own limit where it has one."""
    together = backend.isolation().memory == "cgroup"
    process, most = (ROOMY_MB, _MEMORY_MB + _BESIDE_MB) if together else (_MEMORY_MB, _MEMORY_MB)
    with opened(backend, memory_mb=_MEMORY_MB, disk_mb=1) as inside:
        told = inside.try_("allocate", {"megabytes": 4 * _MEMORY_MB}, fork=True, memory_mb=process)
        touched = None if told.answer is None else told.answer["touched"]
        demand(touched is None or touched <= most, f"{touched} MB could be used, {_MEMORY_MB} are allowed")
        demand(inside.sandbox.answers(), "the sandbox was lost over it")
    how = "killed" if touched is None else f"refused at {touched} MB"
    return f"{how}; {_MEMORY_MB} MB are allowed"


def memory_together(backend: Backend) -> str:
    """Many processes get no more memory together than one."""
    if backend.isolation().memory != "cgroup":
        raise Omitted("no control groups here: memory is limited for each process, not for all together")
    half, most = _MEMORY_MB // 2, (_MEMORY_MB + _BESIDE_MB) // (_MEMORY_MB // 2)
    with opened(backend, memory_mb=_MEMORY_MB, disk_mb=1) as inside:
        told = inside.try_("allocate_together", {"children": 8, "megabytes": half}, fork=True, memory_mb=ROOMY_MB)
        holding = None if told.answer is None else told.answer["holding"]
        demand(holding is None or holding <= most, f"{holding} processes held half of the limit each")
        demand(inside.sandbox.out_of_memory(), "the sandbox does not tell that it met its memory limit")
    return "all killed" if holding is None else f"{holding} of 8 processes could hold half of the limit"


def process_limit(backend: Backend) -> str:
    """Forking ends at the limit."""
    with opened(backend, processes=_PROCESSES) as inside:
        request = {"most": 20 * _PROCESSES}
        made = inside.try_("fork", request, fork=True, processes=_PROCESSES).must()["children"]
        demand(inside.sandbox.answers(), "the sandbox was lost over it")
    demand(made <= _PROCESSES + 4, f"{made} processes could be started, {_PROCESSES} are allowed")
    return f"{made} processes could be started, {_PROCESSES} are allowed"


def disk_limit(backend: Backend) -> str:
    """The work folder ends at its size."""
    with opened(backend, disk_mb=_DISK_MB) as inside:
        for folder in ("/work", "/tmp"):
            request = {"folder": folder, "megabytes": 4 * _DISK_MB}
            written = inside.try_("fill", request, fork=True, file_mb=16 * _DISK_MB).must()["written"]
            demand(written <= _DISK_MB, f"{written} MB fit into {folder}, {_DISK_MB} are allowed")
    return f"{_DISK_MB} MB are allowed, and no more fit"


def cpu_limit(backend: Backend) -> str:
    """A process is killed when it has used its processor time."""
    with opened(backend) as inside:
        finished = inside.try_("burn", fork=True, cpu_seconds=1).finished
    demand(not finished.timed_out, f"it ran on for {finished.seconds:.1f} s of wall time")
    demand((finished.exit.status or 0) < 0, f"it ended by itself with status {finished.exit.status}")
    return f"killed by signal {-(finished.exit.status or 0)} after {finished.exit.cpu_seconds:.1f} s"


def wall_limit(backend: Backend) -> str:
    """A command that sleeps is stopped in time, and the next one works."""
    with opened(backend) as inside:
        finished = inside.try_("sleep", {"seconds": 60}, timeout=0.5, fork=True).finished
        demand(finished.timed_out, "it was not stopped")
        demand(finished.seconds < _GRACE_SECONDS, f"it was stopped after {finished.seconds:.1f} s instead of 0.5 s")
        inside.try_("look", fork=True).must()
    return f"stopped after {finished.seconds:.2f} s, and the next command works"


def output_bounded(backend: Backend) -> str:
    """A flood on both outputs is read to its end without being kept."""
    before = _peak_mb()
    with opened(backend) as inside:
        finished = inside.try_("flood", {"megabytes": _FLOOD_MB}, fork=True).finished
    kept, grown = len(finished.stdout) + len(finished.stderr), _peak_mb() - before
    demand(not finished.timed_out, "the flood blocked itself: somebody does not read")
    demand(kept < 1 << 18, f"{kept} bytes were kept")
    demand(finished.omitted_bytes > _FLOOD_MB << 20, f"only {finished.omitted_bytes} bytes are said to be left out")
    demand(grown < _FLOOD_MB / 2, f"it took {grown:.0f} MB of memory on this side")
    return f"2 x {_FLOOD_MB} MB in {finished.seconds:.1f} s, {kept} bytes kept"


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
