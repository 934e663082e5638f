"""What a check is, and how one is carried out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from arena.errors import ArenaError, PrerequisiteError, boundary


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `passed` None: it does not apply here, and `detail` says why."""

    name: str
    passed: bool | None
    detail: str = ""


class Unmet(ArenaError):
    """What a check demands does not hold; the text says what was seen instead."""


class Omitted(ArenaError):
    """A check does not apply to this part or on this machine; the text says why."""


Probe = tuple[str, Callable[[], str]]
"""Name of a check, and what carries it out: gives the detail, or raises Unmet or Omitted."""


def demand(condition: object, otherwise: str) -> None:
    """Raises Unmet with `otherwise` unless `condition` is true."""
    if not condition:
        raise Unmet(otherwise)


def perform(probes: Iterable[Probe], blame: type[ArenaError]) -> Iterator[Check]:
    """Carry out `probes` one by one. What the part under check raises is a failure of that check, called a `blame`.

    Raises PrerequisiteError.
    """
    for name, probe in probes:
        try:
            with boundary(blame, "it raised"):
                detail = probe()
        except PrerequisiteError:  # what this machine lacks is no fault of the part
            raise
        except Omitted as reason:
            yield Check(name, None, str(reason))
        except ArenaError as failure:
            yield Check(name, False, _told(failure))
        else:
            yield Check(name, True, detail)


def _told(failure: ArenaError) -> str:
    return str(failure) if isinstance(failure, Unmet) else f"{type(failure).__name__}: {failure}"
