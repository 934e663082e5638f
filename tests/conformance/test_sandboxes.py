import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from arena.conformance import bounds, check_backend, check_sandbox, sandbox
from arena.conformance.check import Unmet
from arena.conformance.inside import listening, opened
from arena.errors import ConfigError, PrerequisiteError, SandboxError
from arena.sandbox import bubblewrap
from arena.sandbox.select import BACKENDS, backend
from tests.conformance import doubles

PROMISES = {"network cut", "no privileges", "read-only root", "memory limit", "process limit", "disk limit"}
PROMISES |= {"sandboxes do not see each other", "children killed", "bots start no processes"}


@pytest.mark.parametrize("name", BACKENDS)
def test_every_sandbox_keeps_its_promises(name: str) -> None:
    try:
        checks = list(check_sandbox(name))
    except PrerequisiteError as error:
        pytest.skip(f"{name}: {error}")
    assert [check for check in checks if check.passed is False] == []
    omitted = {check.name for check in checks if check.passed is None}
    assert omitted >= PROMISES if name == "process" else not omitted & PROMISES


def test_an_unknown_sandbox_is_the_users_mistake() -> None:
    with pytest.raises(ConfigError, match="nonsense"):
        check_sandbox("nonsense")


def test_a_sandbox_that_keeps_the_network_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    leaky = backend("bubblewrap")
    try:
        leaky.check()
    except PrerequisiteError as error:
        pytest.skip(str(error))
    honest, promised = bubblewrap._arguments, leaky.isolation()

    def with_network(*given: object) -> Sequence[str]:
        arguments = honest(*given)
        return [*arguments[:1], "--share-net", *arguments[1:]]

    monkeypatch.setattr(bubblewrap, "_arguments", with_network)
    monkeypatch.setattr(bubblewrap, "require_isolated", lambda hello: None)
    monkeypatch.setattr(leaky, "isolation", lambda: promised)
    failed = {check.name: check.detail for check in check_backend(leaky) if check.passed is False}
    assert set(failed) == {"network cut", "isolation as promised"}
    assert "reached" in failed["network cut"]


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (sandbox.network_cut, "reached"),
        (bounds.memory_limit, "MB could be used"),
        (bounds.process_limit, "processes could be started"),
        (sandbox.strangers, "no process space"),
    ],
)
def test_a_sandbox_that_only_pretends_is_caught(check: object, says: str) -> None:
    with pytest.raises(Unmet, match=says):
        check(doubles.Pretender())


def test_other_faults_of_sandboxes_are_caught() -> None:
    with pytest.raises(Unmet, match="ARENA_CONFORMANCE_CANARY"):
        sandbox.no_environment(doubles.Talkative())
    assert "ARENA_CONFORMANCE_CANARY" not in os.environ
    with pytest.raises(Unmet, match="opened for code"):
        sandbox.untrusted_refused(doubles.Trusting())


def test_what_a_sandbox_leaves_behind_is_caught() -> None:
    litterer = doubles.Litterer()
    try:
        with pytest.raises(Unmet, match="left behind: folder"):
            sandbox.leaves_nothing(litterer)
    finally:
        for folder in litterer.left:
            shutil.rmtree(folder)


@pytest.mark.parametrize("mark", [None, "", "{}", "[1]", '"x"'])
def test_folders_without_a_mark_are_nobodys(mark: str | None, tmp_path: Path) -> None:
    if mark is not None:
        (tmp_path / "owner.json").write_text(mark)
    assert sandbox._owner_of(tmp_path) is None


def test_listeners_can_be_reached_from_here_so_that_the_check_means_something() -> None:
    with listening() as listeners, opened(backend("process")) as inside:
        assert listeners.visited() == []
        seen = inside.try_("connect", listeners.request).must()
        assert seen["reached"] == listeners.visited() == ["TCP over IPv4", "an abstract Unix socket"]


def test_a_probe_that_breaks_down_is_no_answer() -> None:
    with opened(backend("process")) as inside, pytest.raises(SandboxError, match="KeyError"):
        inside.try_("no such probe").must()
