"""Gets pMARS, the reference simulator of Core War, and builds it without a display into the user's cache.

Where it comes from: Debian's source package, over this machine's own apt sources (`games.corewar.apt`), or a folder,
tarball or .dsc given by hand. Three programs are built from the unmodified sources:

- `pmars`, the tournament ("server") build of pMARS itself, for agents to test with;
- `arena-mars`, the same objects with `driver/mars.c` in place of pMARS's command line: assembles a warrior to plain
  numbers, and plays a list of battles in one process, one line of numbers a battle;
- `arena-mars-trace`, the same again with the simulator's own display hooks compiled in and `driver/trace.c` behind
  them: it also prints who owns which part of the core over time.

Why a driver. The simulation of a battle takes 0.3 to 2 ms, so a process a battle would spend most of its time on
starting, and `pmars -r N` prints only totals. `pmars -r 1 -F position` is exactly reproducible: `-F` is both the place
of the second warrior and the seed of pMARS's own generator, from which three and more warriors are placed; the first
warrior sits at 0 and moves first. The driver sets what `-F` sets and calls pMARS's `simulator1()` for one round, with
fresh P-spaces, so each of its battles is the battle of a new `pmars -r 1 -F position` process (the tests compare them).
Seats are swapped by giving the warriors in another order under the same position.

It also keeps hostile text away from results: pMARS's assembler is C of the 1990s that reads text written by players,
and prints names unescaped. Each warrior is therefore assembled by a process of its own, whose numbers are checked
before the simulating process, which reads no text of a player at all, gets to see them.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.errors import ConfigError, PrerequisiteError
from games.corewar import apt

FIX = "arena games setup corewar"
OVERRIDE = "CODE_ARENA_PMARS"
PROGRAMS = ("pmars", "arena-mars", "arena-mars-trace")
PACKAGED_WARRIORS = Path("/usr/share/doc/pmars/examples")

_DRIVER = Path(__file__).parent / "driver"
_SHARED = ("asm", "eval", "disasm", "cdb", "pos", "clparse", "global", "token", "str_eng")
_DEFINES = ("-DEXT94", "-DPERMUTATE", "-DSERVER")
_HARDENED = ("-O2", "-fPIE", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2")
_OLD_C = ("-std=gnu89", "-fcommon", "-w")  # as old as the sources; their warnings are not ours to fix


@dataclass(frozen=True, slots=True)
class Engine:
    """A built pMARS: a folder with its programs, the sources they were built from, and the warriors that came along."""

    folder: Path
    version: str

    @property
    def pmars(self) -> Path:
        """pMARS itself."""
        return self.folder / "pmars"

    @property
    def warriors(self) -> Path:
        """Human-written warriors: of the sources built here, else of the installed Debian package."""
        own = self.folder / "warriors"
        return own if own.is_dir() else PACKAGED_WARRIORS


def cache() -> Path:
    """Folder that holds one built pMARS a version."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "code-arena" / "pmars"


def engine() -> Engine | None:
    """The pMARS to play with: next to `$CODE_ARENA_PMARS` if that is set, else the newest in the cache, else None."""
    chosen = os.environ.get(OVERRIDE)
    if chosen:
        return _read(Path(chosen).parent)
    built = [found for path in cache().glob("*/engine.json") if (found := _read(path.parent)) is not None]
    return max(built, key=lambda found: _version_key(found.version), default=None)


def locate() -> Path | None:
    """The `pmars` program, or None where it is not built."""
    found = engine()
    return found.pmars if found else None


def require() -> Engine:
    """The pMARS to play with. Raises PrerequisiteError with the way to get it."""
    found = engine()
    if found is None:
        raise PrerequisiteError(next(iter(prerequisites())))
    return found


def prerequisites() -> Iterable[str]:
    """What is missing to play, with the way to get it: one line, or nothing."""
    if engine() is not None:
        return ()
    chosen = os.environ.get(OVERRIDE)
    if chosen:
        return (f"{OVERRIDE}={chosen} is not the pmars of a build of this version: unset it, then {FIX}",)
    return (f"pMARS is not built: {FIX} (needs a C compiler; on Debian: apt-get install gcc libc6-dev dpkg-dev)",)


def setup(source: Path | None = None) -> Path:
    """Get and build pMARS; the path of its `pmars` program.

    `source`: a folder with the sources, a tarball, or a .dsc with its files beside it; None: Debian's source package.
    Raises PrerequisiteError where compiler, apt or package are missing, ConfigError for a `source` that is none.
    """
    with tempfile.TemporaryDirectory(prefix="code-arena-pmars-") as temporary:
        work = Path(temporary)
        work.chmod(0o755)
        tree = (
            apt.unpack_dsc(apt.download_source("pmars", work / "apt"), work / "source")
            if source is None
            else _unpack(source, work)
        )
        code = _find_code(tree, source)
        version = _version(tree, code)
        built = work / "built"
        _build(code, built, work / "objects")
        _copy(sorted(tree.rglob("warriors/*.red")), built / "warriors")
        _copy(sorted(path for path in code.iterdir() if path.suffix in {".c", ".h"}), built / "source")
        _write_facts(built, version, "apt:pmars" if source is None else source.name)
        return _install(built, cache() / version) / "pmars"


def _read(folder: Path) -> Engine | None:
    """The engine in `folder`, unless a program is missing or another version of this game built it."""
    facts = folder / "engine.json"
    if not facts.is_file() or not all((folder / name).is_file() for name in PROGRAMS):
        return None
    stored = json.loads(facts.read_text(encoding="utf-8"))
    return Engine(folder, stored["version"]) if stored["driver"] == driver_hash() else None


def driver_hash() -> str:
    """SHA-256 of our own C sources: an engine built from others must be built again."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_DRIVER.glob("*.c")))).hexdigest()


def _version_key(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _unpack(source: Path, work: Path) -> Path:
    if source.is_dir():
        return source
    if not source.is_file():
        raise ConfigError(f"{source} is no file or folder; give a folder, a tarball or a .dsc of pMARS's sources")
    if source.suffix == ".dsc":
        return apt.unpack_dsc(source, work / "source")
    target = work / "source"
    target.mkdir()
    apt.run(["tar", "--extract", "--no-same-owner", "--file", str(source.resolve()), "--directory", str(target)])
    return target


def _find_code(tree: Path, source: Path | None) -> Path:
    for path in sorted(tree.rglob("pmars.c")):
        if (path.parent / "sim.c").is_file():
            return path.parent
    raise ConfigError(f"{source or 'the source package'} holds no pMARS sources (no pmars.c beside sim.c)")


def _version(tree: Path, code: Path) -> str:
    """Debian's version where there is a changelog, else the one in the header; fit for a folder name."""
    for changelog in tree.rglob("debian/changelog"):
        if match := re.match(r"pmars \(([0-9A-Za-z.+~-]+)\)", changelog.read_text(encoding="utf-8", errors="replace")):
            return match[1]
    match = re.search(r"#define\s+PMARSVER\s+(\d+)", (code / "global.h").read_text(encoding="latin-1"))
    if match is None:
        raise ConfigError(f"{code / 'global.h'} names no version (PMARSVER)")
    number = int(match[1])
    return f"{number // 100}.{number // 10 % 10}.{number % 10}"


def _build(code: Path, built: Path, objects: Path) -> None:
    """Compile the three programs from the sources in `code` into `built`."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise PrerequisiteError("no C compiler: apt-get install gcc libc6-dev")
    built.mkdir()
    objects.mkdir()
    traced = ("-DTRACEGRAPHX", f"-I{_DRIVER}")

    def made(unit: str, source: Path, *flags: str) -> str:
        target = str(objects / f"{unit}.o")
        named = f"-ffile-prefix-map={source.parent}=."  # __FILE__ is in messages
        _compile([compiler, *_HARDENED, *_DEFINES, named, *flags, "-c", str(source), "-o", target])
        return target

    shared = [made(unit, code / f"{unit}.c", *_OLD_C) for unit in _SHARED]
    plain = made("sim", code / "sim.c", *_OLD_C)
    tracing = made("sim-trace", code / "sim.c", *_OLD_C, *traced)
    own_main = made("pmars", code / "pmars.c", *_OLD_C)
    without_main = made("pmars-library", code / "pmars.c", *_OLD_C, "-Dmain=pmars_main")
    driver = made("mars", _DRIVER / "mars.c", "-w", f"-I{code}")
    trace_driver = made("mars-trace", _DRIVER / "mars.c", "-w", f"-I{code}", *traced)
    _link(compiler, [*shared, plain, own_main], built / "pmars")
    _link(compiler, [*shared, plain, without_main, driver], built / "arena-mars")
    _link(compiler, [*shared, tracing, without_main, trace_driver], built / "arena-mars-trace")


def _link(compiler: str, objects: list[str], program: Path) -> None:
    """Static, so that the program runs in whatever image a sandbox has."""
    _compile([compiler, "-static-pie", *objects, "-o", str(program)])
    program.chmod(0o755)


def _compile(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise PrerequisiteError(
            f"pMARS can't be built here (apt-get install gcc libc6-dev): {done.stderr.strip()[-400:]}"
        )


def _copy(files: Sequence[Path], target: Path) -> None:
    if files:
        target.mkdir()
    for path in files:
        shutil.copyfile(path, target / path.name)


def _write_facts(built: Path, version: str, source: str) -> None:
    digests = {name: hashlib.sha256((built / name).read_bytes()).hexdigest() for name in PROGRAMS}
    facts = {"version": version, "source": source, "driver": driver_hash(), "sha256": digests}
    (built / "engine.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _install(built: Path, target: Path) -> Path:
    """Move what was built into the cache in one step, in place of an older build of the same version."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
    shutil.copytree(built, fresh / "engine")
    if target.exists():
        target.replace(fresh / "old")
    (fresh / "engine").replace(target)
    shutil.rmtree(fresh)
    return target
