"""Chooses the sandbox of a run."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from arena.errors import ConfigError, PrerequisiteError
from arena.sandbox.base import Backend

BACKENDS = {
    "docker": "arena.sandbox.docker:Docker",
    "bubblewrap": "arena.sandbox.bubblewrap:Bubblewrap",
    "process": "arena.sandbox.process:ProcessBackend",
}


def backend(name: str) -> Backend:
    """The backend called `name`, whether or not this machine can use it. Raises ConfigError."""
    if name not in BACKENDS:
        raise ConfigError(f"sandbox: there is no {name!r}; choose one of auto, {', '.join(BACKENDS)}")
    module, _, attribute = BACKENDS[name].partition(":")
    return cast("Backend", getattr(importlib.import_module(module), attribute)())


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen backend, and why better ones were passed over, a line each."""

    backend: Backend
    passed_over: tuple[str, ...]


def choose(name: str, untrusted: Sequence[str]) -> Choice:
    """The backend for `name`; "auto": docker, else bubblewrap, else process where no player in `untrusted` forbids it.

    Raises PrerequisiteError with a way out when none will do.
    """
    if name != "auto":
        chosen = backend(name)
        if name == "process" and untrusted:
            raise ConfigError(_refusal(untrusted, "sandbox: process isolates nothing"))
        chosen.check()
        return Choice(chosen, ())
    passed: list[str] = []
    for candidate in ("docker", "bubblewrap"):
        chosen = backend(candidate)
        try:
            chosen.check()
        except PrerequisiteError as error:
            passed.append(f"{candidate}: {error}")
            continue
        return Choice(chosen, tuple(passed))
    if untrusted:
        raise PrerequisiteError(f"{_refusal(untrusted, 'no sandbox works here')}\n" + "\n".join(passed))
    return Choice(backend("process"), tuple(passed))


def _refusal(untrusted: Sequence[str], why: str) -> str:
    return (
        f"{why}, and {', '.join(untrusted)} may not run without one: install bubblewrap "
        "(apt-get install bubblewrap) or Docker, or set trusted: true for players whose code is your own"
    )
