"""Units of work on this machine: one worker process a core, pinned to it, gone when the arena is gone."""

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from multiprocessing import connection, util
from types import TracebackType
from typing import Any, Self

from arena.errors import SandboxError
from arena.executor.base import Result
from arena.sandbox.place import work_directory


class LocalExecutor:
    """Worker processes that are made anew when one of them dies."""

    def __init__(self, workers: int | None = None) -> None:
        self._cores = sorted(os.sched_getaffinity(0))
        self.workers = workers or len(self._cores)
        _tidy_up_after_us()
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["arena.compete"])
        cores = context.SimpleQueue()
        for number in range(self.workers):
            cores.put(self._cores[number % len(self._cores)])
        return ProcessPoolExecutor(self.workers, context, _prepare, (cores,))

    def submit(self, unit: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Start `unit(*arguments)` when a worker is free; a dead worker is a SandboxError of its unit."""
        try:
            inner = self._pool.submit(_run, unit, arguments)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._new_pool()
            inner = self._pool.submit(_run, unit, arguments)
        outer: Future[Result] = Future()
        inner.add_done_callback(lambda done: _hand_over(done, outer))
        return outer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or not issubclass(kind, KeyboardInterrupt):  # after Ctrl-C nobody waits: see arena.cli.main
            self.close()

    def close(self) -> None:
        """Stop the workers; units that have not started are dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


@cache
def _tidy_up_after_us() -> None:
    """For the case that this process ends at once, killed or by Ctrl-C.

    multiprocessing's files lie in a folder with our mark, which the reaper finds; its tracker doesn't warn the user.
    """
    known = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (known, "ignore:resource_tracker:UserWarning")))
    folder, usual = work_directory(), tempfile.tempdir
    tempfile.tempdir = str(folder)
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual
    util.Finalize(None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=-101)  # after what is in it


def _hand_over(inner: "Future[Result]", outer: "Future[Result]") -> None:
    if inner.cancelled():
        outer.cancel()
        return
    error = inner.exception()
    if isinstance(error, BrokenProcessPool):
        outer.set_exception(SandboxError("a worker process died"))
    elif error is not None:
        outer.set_exception(error)
    else:
        outer.set_result(inner.result())


def _run(unit: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    return unit(*arguments)


def _prepare(cores: "multiprocessing.SimpleQueue[int]") -> None:
    """In the worker: take a core, leave interrupts to the arena, and end with it even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.sched_setaffinity(0, {cores.get()})
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
