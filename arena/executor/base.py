"""What runs the units of work. A unit is a module-level function of plain values: it can run anywhere."""

from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

Result = TypeVar("Result")


class Executor(Protocol):
    """Runs units of work; nothing else knows where."""

    @property
    def workers(self) -> int:
        """How many units run at a time."""

    def submit(self, unit: Callable[..., Result], *arguments: Any) -> "Future[Result]":
        """Start `unit(*arguments)` when a worker is free. The future raises WorkerLost when its worker died."""

    def close(self) -> None:
        """Stop what runs and let the workers go."""

    def __enter__(self) -> Self:
        """Closed at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
