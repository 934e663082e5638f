"""Real pMARS in a real sandbox; what the machine lacks is skipped by name."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.errors import PrerequisiteError
from arena.sandbox.base import Backend
from arena.sandbox.bubblewrap import Bubblewrap
from arena.types import Limits
from games.corewar import pmars
from games.corewar.engine import Mars, opened
from games.corewar.game import CoreWar
from games.corewar.settings import CoreWarConfig


@pytest.fixture(scope="session")
def built() -> pmars.Engine:
    """The pMARS of this machine."""
    found = pmars.engine()
    if found is None:
        pytest.skip("pMARS is not built: arena games setup corewar")
    return found


@pytest.fixture(scope="session")
def backend() -> Backend:
    """Sandboxes of bubblewrap."""
    bubblewrap = Bubblewrap()
    try:
        bubblewrap.check()
    except PrerequisiteError as error:
        pytest.skip(str(error))
    return bubblewrap


@pytest.fixture(scope="session")
def mars(built: pmars.Engine, backend: Backend) -> Iterator[Mars]:
    """pMARS in a sandbox, under the usual settings."""
    with opened(backend, CoreWarConfig(), Limits(), "corewar-test", trusted=False) as running:
        yield running


@pytest.fixture
def game() -> CoreWar:
    """The game under its usual settings."""
    return CoreWar(CoreWarConfig())


@pytest.fixture
def fake_engine(built: pmars.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script in the place of one of the programs of a copy of the engine."""

    def put(program: str, script: str) -> None:
        for name in (*pmars.PROGRAMS, "engine.json"):
            target = tmp_path / name
            if not target.exists():
                target.write_bytes((built.folder / name).read_bytes())
                target.chmod(0o755)
        (tmp_path / program).write_text(f"#!/bin/sh\n{script}\n")
        monkeypatch.setenv(pmars.OVERRIDE, str(tmp_path / "pmars"))

    return put
