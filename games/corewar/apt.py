"""Fetches a Debian source package over the machine's own apt sources, leaving the system's apt state alone.

Everything apt writes goes into a private folder: an entry list made of the machine's configured sources with their
types turned to deb-src, its own package lists and its own cache. It works as any user. apt checks what it downloads
against the signed index of the archive.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from arena.errors import PrerequisiteError

ETC = Path("/etc/apt")
_SECONDS = 600


def download_source(package: str, folder: Path) -> Path:
    """Download the source package into `folder`; the path of its .dsc.

    Raises PrerequisiteError where apt is missing, has no sources, or can't get the package.
    """
    if shutil.which("apt-get") is None:
        raise PrerequisiteError(f"no apt-get here: give the sources of {package} by hand, as a folder, tarball or .dsc")
    entries = source_entries(ETC)
    if not entries:
        raise PrerequisiteError(f"{ETC} configures no package source, so the source package {package} can't be found")
    options = _private(folder, entries)
    downloads = folder / "downloads"
    downloads.mkdir()
    updated = run(["apt-get", *options, "update"])
    fetched = run(["apt-get", *options, "--download-only", "--only-source", "source", package], downloads, note=updated)
    found = sorted(downloads.glob("*.dsc"))
    if not found:
        raise PrerequisiteError(f"apt-get fetched no .dsc of {package}: {fetched[-400:]}")
    return found[0]


def unpack_dsc(dsc: Path, target: Path) -> Path:
    """Unpack a source package, its checksums verified and its patches applied. Raises PrerequisiteError."""
    if shutil.which("dpkg-source") is None:
        raise PrerequisiteError("no dpkg-source here: apt-get install dpkg-dev")
    run(["dpkg-source", "--extract", str(dsc.resolve()), str(target)])
    return target


def source_entries(etc: Path) -> dict[str, str]:
    """File name to content of a sources folder that has the deb-src twin of every source configured under `etc`."""
    entries = {}
    lists = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.list"))]
    if lines := [twin for path in lists if path.is_file() for twin in _list_twins(_text(path))]:
        entries["arena.list"] = "\n".join(lines) + "\n"
    stanzas = [
        twin for path in sorted((etc / "sources.list.d").glob("*.sources")) for twin in _stanza_twins(_text(path))
    ]
    if stanzas:
        entries["arena.sources"] = "\n\n".join(stanzas) + "\n"
    return entries


def run(argv: list[str], cwd: Path | None = None, note: str = "") -> str:
    """Run a program of this machine; all it printed. Raises PrerequisiteError with that (and `note`) when it fails."""
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PrerequisiteError(f"{argv[0]} did not finish within {_SECONDS} s") from error
    if done.returncode:
        raise PrerequisiteError(f"{argv[0]} failed: {(note + done.stdout).strip()[-600:]}")
    return done.stdout


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _list_twins(text: str) -> Iterator[str]:
    """Of every one-line entry "deb ..." or "deb-src ...", the deb-src form."""
    for line in text.splitlines():
        kind, _, rest = line.partition("#")[0].strip().partition(" ")
        if kind in {"deb", "deb-src"}:
            yield f"deb-src {rest.strip()}"


def _stanza_twins(text: str) -> Iterator[str]:
    """Of every enabled stanza of a .sources file, the deb-src form."""
    kept = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in "\n".join(kept).split("\n\n"):
        lines = stanza.strip("\n").splitlines()
        disabled = any(line.lower().replace(" ", "") == "enabled:no" for line in lines)
        if lines and not disabled:
            yield "\n".join(["Types: deb-src", *(line for line in lines if not line.lower().startswith("types:"))])


def _private(folder: Path, entries: dict[str, str]) -> list[str]:
    """Options that keep apt inside `folder`, with `entries` as its only sources."""
    parts = folder / "sources.list.d"
    for path in (parts, folder / "state" / "lists" / "partial", folder / "cache" / "archives" / "partial"):
        path.mkdir(parents=True)
    for name, content in entries.items():
        (parts / name).write_text(content, encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": str(parts),
        "Dir::State": str(folder / "state"),
        "Dir::State::status": "/var/lib/dpkg/status",
        "Dir::Cache": str(folder / "cache"),
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",  # the folder is ours alone; without root it means nothing
    }
    return [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]
