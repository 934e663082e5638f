"""What holds for every test: which parts of this machine there are to test, and whether a test may be skipped."""

import os
import shutil
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

REQUIRE_ALL = os.environ.get("ARENA_REQUIRE_ALL") == "1"


def pytest_report_header() -> list[str]:
    """One line: the parts that some tests need."""
    parts = {"bubblewrap": _bubblewrap(), "docker": _docker(), "pmars": _pmars()}
    line = ", ".join(f"{name} {missing or 'ready'}" for name, missing in parts.items())
    return [f"parts: {line}", *(["no test may be skipped (ARENA_REQUIRE_ALL=1)"] if REQUIRE_ALL else [])]


def _bubblewrap() -> str:
    return "" if shutil.which("bwrap") else "missing (apt-get install bubblewrap)"


def _docker() -> str:
    from arena import images
    from arena.errors import PrerequisiteError
    from arena.sandbox import docker

    try:
        images.find(docker.connect())
    except PrerequisiteError as error:
        return f"missing ({error})"
    return ""


def _pmars() -> str:
    from games.corewar import pmars

    return "" if pmars.engine() else f"missing ({pmars.FIX})"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where no test may be skipped, a skipped one has failed."""
    return _unskipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module that skips itself."""
    return _unskipped((yield))


def _unskipped(report: Report) -> Report:
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{why}\n(no test may be skipped here: ARENA_REQUIRE_ALL=1)"
    return report
