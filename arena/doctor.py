"""Looks at this machine: what the arena needs, whether it is there, and whether it holds what it promises."""

import importlib.util
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import arena
from arena import images, registry
from arena.config import TournamentConfig, load
from arena.conformance import bounds
from arena.conformance import sandbox as promises
from arena.conformance.check import perform
from arena.errors import ArenaError, ConfigError, PrerequisiteError, SandboxError
from arena.sandbox import cgroup, docker
from arena.sandbox.base import Backend
from arena.sandbox.place import interpreter
from arena.sandbox.select import backend, choose

Status = Literal["ok", "missing", "broken"]

ISOLATED = ("docker", "bubblewrap")
_NEEDED = ("Python", "bot Python", "git", "packages", "config", "chosen sandbox")
PACKAGES = ("arena", "games", "agents", "analysis")
RESULTS_BYTES = 1 << 30
TEMPORARY_BYTES = 1 << 29
_OWN_PLACE = "install the arena in an environment of its own: uv tool install code-arena, or a fresh python3 -m venv"
_GROUPS = (
    "as root there are; else start it as systemd-run --user --scope arena ...; "
    "without, memory is limited for each process instead of each sandbox"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `fix`: what to do about it, empty where there is nothing to be done."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def examine(config: Path | None = None) -> list[Finding]:
    """Look at everything; with `config`, at what that tournament needs: its game, its agents, its sandbox."""
    findings = [_python(), _python_of_bots(), _git(), _packages()]
    wanted = None
    if config is not None:
        finding, wanted = _config(config)
        findings.append(finding)
    findings += [_game(name) for name in ([wanted.game] if wanted else registry.names("games"))]
    findings += [*_sandbox("docker", _docker), *_sandbox("bubblewrap", _bubblewrap)]
    if wanted is not None:
        findings.append(_choice(wanted))
    return [*findings, _cgroups(), *_room()]


def can_isolate(findings: Sequence[Finding]) -> bool:
    """Whether a run with isolation is possible on the machine of these `findings`."""

    basics = [found.status == "ok" for found in findings if found.name in _NEEDED]
    games = [found.status == "ok" for found in findings if found.name.startswith("game ")]
    return all(basics) and any(games) and any(_holds(name, findings) for name in ISOLATED)


def _holds(name: str, findings: Sequence[Finding]) -> bool:
    """Whether a sandbox is there and keeps all its promises."""
    about = [found.status == "ok" for found in findings if found.name == name or found.name.startswith(f"{name}: ")]
    return bool(about) and all(about)


def _lacking(name: str, error: ArenaError, status: Status = "missing") -> Finding:
    """A finding from a message of the form "what is wrong: what to do"."""
    detail, _, fix = str(error).partition(": ")
    return Finding(name, status, detail, fix)


def _said(*argv: str | Path) -> str:
    """First line of what a program prints."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    return next(iter((done.stdout or done.stderr).strip().splitlines()), "")


def _python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}")


def _python_of_bots() -> Finding:
    try:
        python = interpreter()
    except PrerequisiteError as error:
        return _lacking("bot Python", error)
    return Finding("bot Python", "ok", f"{_said(python, '--version').removeprefix('Python ')} at {python}")


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", "missing", "git is not installed", "apt-get install git")
    version = _said(path, "--version")
    if not version.startswith("git version "):
        return Finding(
            "git", "broken", f"{path} does not say its version: {version}", "apt-get install --reinstall git"
        )
    return Finding("git", "ok", f"{version.removeprefix('git version ')} at {path}")


def _packages() -> Finding:
    """Names as general as these may be somebody else's."""
    root = Path(arena.__file__).parent.parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
        if not places:
            return Finding("packages", "missing", f"{name} is not beside arena in {root}", _OWN_PLACE)
        if foreign := [str(place) for place in places if place.resolve() != (root / name).resolve()]:
            return Finding("packages", "broken", f"{name} is somebody else's: {', '.join(foreign)}", _OWN_PLACE)
    return Finding("packages", "ok", f"{', '.join(PACKAGES)} in {root}")


def _config(path: Path) -> tuple[Finding, TournamentConfig | None]:
    try:
        config = load(path).config
    except ConfigError as error:
        return Finding("config", "broken", str(error), "correct the file"), None
    except PrerequisiteError as error:
        return _lacking("config", error), None
    return Finding("config", "ok", f"{path}: {config.game}, {len(config.players)} players"), config


def _game(name: str) -> Finding:
    called = f"game {name}"
    try:
        game = registry.game(name)
    except ConfigError as error:
        return Finding(called, "broken", str(error), "correct or reinstall the game")
    if lacks := list(game.prerequisites()):
        return _lacking(called, PrerequisiteError("; ".join(lacks)))
    tools = "".join(f", {tool} at {path}" for tool, path in game.tools().items())
    return Finding(called, "ok", f"version {game.version}{tools}")


def _sandbox(name: str, look: Callable[[], Finding]) -> Iterator[Finding]:
    """What `look` finds, and where that is fine, whether the sandbox keeps its promises."""
    found = look()
    yield found
    if found.status == "ok":
        yield from _tried(backend(name))


def _tried(made: Backend) -> Iterator[Finding]:
    probes = [
        (f"{made.name}: network cut", partial(promises.network_cut, made)),
        (f"{made.name}: memory limit", partial(bounds.memory_limit, made)),
        (f"{made.name}: process limit", partial(bounds.process_limit, made)),
    ]
    for check in perform(probes, blame=SandboxError):
        fix = "" if check.passed else f"do not use this sandbox; arena check sandbox {made.name} says more"
        yield Finding(check.name, "ok" if check.passed else "broken", check.detail, fix)


def _docker() -> Finding:
    try:
        path = docker.socket_path()
    except PrerequisiteError as error:
        return _lacking("docker", error)
    try:
        api = docker.connect()
        with docker.daemon_errors("tell its version"):
            version = api.version()["Version"]
    except (PrerequisiteError, SandboxError) as error:
        return Finding("docker", "broken", str(error), "systemctl start docker, or use bubblewrap")
    try:
        with docker.daemon_errors("look for an image"):
            image = images.find(api)
    except (PrerequisiteError, SandboxError) as error:
        return Finding("docker", "missing", f"server {version} at {path}: {error}", "arena images build")
    return _opens("docker", f"server {version} at {path}, image {image}")


def _bubblewrap() -> Finding:
    path = shutil.which("bwrap")
    if path is None:
        return Finding("bubblewrap", "missing", "bubblewrap is not installed", "apt-get install bubblewrap")
    return _opens("bubblewrap", f"{_said(path, '--version').removeprefix('bubblewrap ')} at {path}")


def _opens(name: str, detail: str) -> Finding:
    try:
        backend(name).check()
    except PrerequisiteError as error:
        text, _, fix = str(error).rpartition("; ")
        return Finding(name, "broken", f"{detail}: {text or fix}", fix)
    return Finding(name, "ok", detail)


def _choice(config: TournamentConfig) -> Finding:
    untrusted = [player.name for player in config.players if not player.trusted]
    try:
        chosen = choose(config.sandbox, untrusted)
    except (ConfigError, PrerequisiteError) as error:
        return _lacking("chosen sandbox", error)
    return Finding("chosen sandbox", "ok", f"{chosen.backend.name}, for sandbox: {config.sandbox}")


def _cgroups() -> Finding:
    version = cgroup.available()
    if version is None:
        return Finding("cgroups", "missing", "this user can't make control groups", _GROUPS)
    return Finding("cgroups", "ok", version)


def _room() -> Iterator[Finding]:
    for name, place, needed in (
        ("disk", Path.cwd(), RESULTS_BYTES),
        ("temporary files", Path(tempfile.gettempdir()), TEMPORARY_BYTES),
    ):
        free = shutil.disk_usage(place).free
        detail = f"{free / 1e9:.1f} GB free in {place}"
        enough = free >= needed
        yield Finding(name, "ok" if enough else "missing", detail, "" if enough else f"have {needed / 1e9:.1f} GB free")
