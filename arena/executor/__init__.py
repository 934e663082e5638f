"""What runs the units of work."""

from arena.errors import ConfigError
from arena.executor.base import Executor


def named(name: str, workers: int | None) -> Executor:
    """The executor called `name`. Raises ConfigError."""
    if name != "local":
        raise ConfigError(f"executor: there is no {name!r}; the one there is: local")
    from arena.executor.local import LocalExecutor

    return LocalExecutor(workers)
