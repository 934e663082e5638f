"""Units of work in worker processes of this machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from arena import executor
from arena.errors import ConfigError, GameError, SandboxError
from arena.executor.local import LocalExecutor
from tests.arena.parts import until


@pytest.fixture(scope="module")
def two() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as made:
        yield made


def add(one: int, other: int) -> int:
    return one + other


def core_and_pid(seconds: float) -> tuple[set[int], int]:
    time.sleep(seconds)
    return os.sched_getaffinity(0), os.getpid()


def raise_ours() -> None:
    raise GameError("the engine failed")


def raise_theirs() -> None:
    raise KeyError("seat")


def die(signal_: int) -> None:
    os.kill(os.getpid(), signal_)


def interrupts() -> object:
    return signal.getsignal(signal.SIGINT)


def test_units_are_run_with_their_arguments(two: LocalExecutor) -> None:
    futures = [two.submit(add, number, 1) for number in range(20)]
    assert [future.result(20) for future in futures] == list(range(1, 21))


def test_every_worker_has_a_core_of_its_own(two: LocalExecutor) -> None:
    told = [future.result(20) for future in [two.submit(core_and_pid, 0.3) for _ in range(2)]]
    cores = sorted(os.sched_getaffinity(0))
    assert all(len(core) == 1 for core, _ in told)
    assert len({pid for _, pid in told}) == 2
    assert {next(iter(core)) for core, _ in told} == {cores[number % len(cores)] for number in range(2)}
    assert os.sched_getaffinity(0) == set(cores), "this process is where it was"


def test_errors_of_units_are_those_of_their_futures(two: LocalExecutor) -> None:
    with pytest.raises(GameError, match=r"^the engine failed$"):
        two.submit(raise_ours).result(20)
    with pytest.raises(KeyError, match="seat"):
        two.submit(raise_theirs).result(20)
    assert two.submit(add, 1, 1).result(20) == 2


def test_interrupts_are_left_to_the_arena(two: LocalExecutor) -> None:
    assert two.submit(interrupts).result(20) == signal.SIG_IGN


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_a_dead_worker_is_a_lost_sandbox_and_the_next_unit_is_played(how: signal.Signals) -> None:
    with LocalExecutor(1) as one:
        dying = one.submit(die, how)
        with pytest.raises(SandboxError, match="a worker process died"):
            dying.result(20)
        assert one.submit(add, 2, 3).result(20) == 5


def test_units_that_wait_for_a_dead_worker_are_lost_too_and_can_be_tried_again() -> None:
    with LocalExecutor(1) as one:
        futures = [one.submit(core_and_pid, 0.2), one.submit(die, signal.SIGKILL), one.submit(add, 1, 1)]
        assert [type(future.exception(20)) for future in futures[1:]] == [SandboxError, SandboxError]
        assert one.submit(add, 1, 1).result(20) == 2


def test_what_has_not_begun_when_the_executor_closes_is_dropped() -> None:
    one = LocalExecutor(1)
    futures = [one.submit(core_and_pid, 0.3) for _ in range(6)]
    until(futures[0].done)
    one.close()
    dropped = [future for future in futures if future.cancelled()]
    assert dropped
    with pytest.raises(CancelledError):
        dropped[-1].result(5)


def test_after_an_interrupt_nobody_waits() -> None:
    one = LocalExecutor(1)
    started = time.monotonic()
    one.submit(core_and_pid, 5)
    with pytest.raises(KeyboardInterrupt), one:
        raise KeyboardInterrupt
    assert time.monotonic() - started < 3
    for worker in one._pool._processes.values():
        worker.kill()
    one.close()


def test_workers_end_with_the_arena_even_where_it_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "arena_like.py"
    script.write_text(
        "import sys, time\nfrom arena.executor.local import LocalExecutor\n"
        "from tests.arena.executor.test_executor import core_and_pid\n"
        "if __name__ == '__main__':\n    one = LocalExecutor(1)\n"
        "    print(one.submit(core_and_pid, 0).result()[1], flush=True)\n"
        "    one.submit(core_and_pid, 60)\n    time.sleep(60)\n"
    )
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as killed:
        assert killed.stdout is not None
        worker = int(killed.stdout.readline())
        killed.kill()
    until(lambda: not Path(f"/proc/{worker}").exists() or _is_dead(worker), 10)


def _is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_workers_default_to_the_cores_there_are() -> None:
    with executor.named("local", None) as made:
        assert made.workers == len(os.sched_getaffinity(0))
    with executor.named("local", 3) as made:
        assert made.workers == 3


def test_an_unknown_executor_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match="executor: there is no 'ray'; the one there is: local"):
        executor.named("ray", None)
