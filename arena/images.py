"""The image that Docker sandboxes start from: made once a machine by `arena images build`, found by its recipe.

Nothing of the arena is in it: the in-sandbox program is mounted, so an image outlives changes of the code and its
digest says which system the bots ran on and nothing else.
"""

import hashlib
import io
import json
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.errors import PrerequisiteError

if TYPE_CHECKING:
    from docker import APIClient

NAME = "code-arena"
VERSION_LABEL, FILES_LABEL = "arena.image.version", "arena.image.files"
SUITE = "bookworm"
BASE = ("debian", "12-slim")
PACKAGES = (
    "bash", "coreutils", "diffutils", "findutils", "gcc", "git", "grep", "less", "libc6-dev", "make", "patch",
    "procps", "python3", "ripgrep", "sed",
)  # fmt: skip
# The last step of both ways. Arguments: the paths of the files put in besides. Where packages came from, and how this
# machine reaches them, is nobody's business inside.
FINISH = """set -eu
getent group player || groupadd --gid 1000 player
getent passwd player || useradd --uid 1000 --gid 1000 --no-create-home --home-dir /work --shell /bin/bash player
mkdir -p /work /arena/inside /arena/run
for file in "$@"; do chown root:root "$file"; chmod 0755 "$file"; done
find / -xdev '(' -type f -o -type d ')' -perm /6000 -exec chmod ug-s {} +
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/apt.conf.d/99mmdebstrap /etc/apt/auth.conf.d/*
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/*
"""
_REGISTRY_SECONDS = 20
_ACQUIRE = ("Acquire::http", "Acquire::ftp", "Acquire::Check-", "Acquire::Retries", "Acquire::ForceIPv")

Progress = Callable[[str], None]


def version() -> str:
    """16 hex digits that change with the recipe."""
    recipe = json.dumps([SUITE, BASE, PACKAGES, FINISH])
    return hashlib.sha256(recipe.encode()).hexdigest()[:16]


def tag() -> str:
    """Name and tag of the image of this recipe."""
    return f"{NAME}:{version()}"


def find(api: "APIClient") -> str:
    """Id ("sha256:…") of the image. Raises PrerequisiteError when this machine has none of this recipe."""
    from docker.errors import ImageNotFound

    try:
        return str(api.inspect_image(tag())["Id"])  # type: ignore[no-untyped-call]  # the stubs leave it bare
    except ImageNotFound as error:
        raise PrerequisiteError(f"no Docker image {tag()} on this machine: run: arena images build") from error


def ensure(api: "APIClient", progress: Progress, files: Mapping[str, Path] | None = None) -> str:
    """Id of the image, built if it isn't there. See `build`."""
    try:
        return find(api)
    except PrerequisiteError:
        return build(api, progress, files)


def build(api: "APIClient", progress: Progress, files: Mapping[str, Path] | None = None) -> str:
    """Build the image and give its id.

    `files`: programs to put in, by their path inside. The base is pulled where a registry answers within seconds, and
    made from this machine's own Debian mirror where none does. `progress` takes one line at a time.
    Raises PrerequisiteError when it can't be built.
    """
    extra = dict(sorted((files or {}).items()))
    if pull_base(api, progress):
        _build_on_base(api, progress, extra)
    else:
        bootstrap(api, progress, extra)
    api.tag(tag(), NAME, "latest")
    return find(api)


def labels(files: Mapping[str, Path]) -> dict[str, str]:
    """What the image says of itself: the recipe's version, and a SHA-256 for every file put in."""
    digests = {target: hashlib.sha256(source.read_bytes()).hexdigest() for target, source in files.items()}
    return {VERSION_LABEL: version(), FILES_LABEL: json.dumps(digests)}


def pull_base(api: "APIClient", progress: Progress) -> bool:
    """Whether the base could be had from a registry."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    repository, base_tag = BASE
    progress(f"pulling {repository}:{base_tag}")
    patience, api.timeout = api.timeout, _REGISTRY_SECONDS
    try:
        for event in api.pull(repository, tag=base_tag, stream=True, decode=True):
            if "error" in event:
                progress(f"no registry: {event['error']}")
                return False
    except (DockerException, RequestException) as error:
        progress(f"no registry: {error}")
        return False
    finally:
        api.timeout = patience
    return True


def _build_on_base(api: "APIClient", progress: Progress, files: Mapping[str, Path]) -> None:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    context = _context(files)
    progress("installing packages on the base")
    try:
        for event in api.build(fileobj=context, custom_context=True, tag=tag(), rm=True, forcerm=True, decode=True):
            if "error" in event:
                raise PrerequisiteError(f"the image can't be built: {event['error'].strip()}")
            for line in event.get("stream", "").splitlines():
                progress(line)
    except (DockerException, RequestException) as error:
        raise PrerequisiteError(f"the image can't be built: {error}") from error


def dockerfile(files: Mapping[str, Path]) -> str:
    """The recipe as Docker's builder reads it; the build context holds `files` under their number."""
    copies = "".join(f"COPY {json.dumps([f'files/{i}', target])}\n" for i, target in enumerate(files))
    said = " ".join(f"{key}={json.dumps(value)}" for key, value in labels(files).items())
    return (
        f"FROM {':'.join(BASE)}\n"
        "RUN apt-get update && DEBIAN_FRONTEND=noninteractive "
        f"apt-get install -y --no-install-recommends {' '.join(PACKAGES)}\n"
        f"{copies}COPY finish.sh /finish.sh\n"
        f"RUN {json.dumps(['sh', '/finish.sh', *files])}\n"
        f"RUN rm /finish.sh\nLABEL {said}\n"
    )


def _context(files: Mapping[str, Path]) -> io.BytesIO:
    contents = {"Dockerfile": dockerfile(files).encode(), "finish.sh": FINISH.encode()}
    contents |= {f"files/{i}": source.read_bytes() for i, source in enumerate(files.values())}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    stream.seek(0)
    return stream


def bootstrap(api: "APIClient", progress: Progress, files: Mapping[str, Path]) -> None:
    """Make the image from this machine's own Debian mirror. Raises PrerequisiteError."""
    if shutil.which("mmdebstrap") is None:
        raise PrerequisiteError(
            f"no registry gives {':'.join(BASE)}, and mmdebstrap, which could do without, is missing: "
            "apt-get install mmdebstrap, or docker load an image and try again"
        )
    progress(f"making {SUITE} with mmdebstrap")
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-image-") as name:
        folder = Path(name)
        (folder / "finish.sh").write_text(FINISH)
        (folder / "apt.conf").write_text(apt_options())  # may hold a proxy's password: the folder is ours alone
        _run_mmdebstrap(folder, progress, files)
        progress("importing into Docker")
        _import(api, folder / "root.tar", files)


def _run_mmdebstrap(folder: Path, progress: Progress, files: Mapping[str, Path]) -> None:
    hooks = [f"upload {shlex.quote(str(source.resolve()))} {shlex.quote(target)}" for target, source in files.items()]
    hooks += [f"upload {folder}/finish.sh /finish.sh", f'chroot "$1" {shlex.join(["sh", "/finish.sh", *files])}']
    hooks += ['rm "$1/finish.sh"']
    command = ["mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", f"--aptopt={folder}/apt.conf"]
    command += [f"--customize-hook={hook}" for hook in hooks]
    command += [SUITE, str(folder / "root.tar"), *map(str, apt_sources())]
    last = ""
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        for line in process.stderr or ():
            last = line.strip() or last
            progress(line.rstrip())
    if process.returncode != 0:
        raise PrerequisiteError(f"mmdebstrap failed, so there is no image: {last}")


def apt_sources(folder: Path = Path("/etc/apt")) -> list[Path]:
    """Source lists of this machine that offer the main component of the suite; with none, mmdebstrap knows a mirror."""
    candidates = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    return [path for path in candidates if path.suffix in (".list", ".sources") and _offers_suite(path)]


def _offers_suite(path: Path) -> bool:
    if not path.is_file():
        return False
    words = {word for line in path.read_text().splitlines() if not line.startswith("#") for word in line.split()}
    return {SUITE, "main"} <= words


def apt_options() -> str:
    """How this machine's apt reaches its mirrors: proxies, certificates, clock checks."""
    if shutil.which("apt-config") is None:
        return ""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    return "".join(f"{line}\n" for line in dump.splitlines() if line.startswith(_ACQUIRE))


def _import(api: "APIClient", archive: Path, files: Mapping[str, Path]) -> None:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    name, image_tag = tag().split(":")
    changes = [f"LABEL {key}={json.dumps(value)}" for key, value in labels(files).items()]
    try:
        answer = api.import_image_from_file(str(archive), repository=name, tag=image_tag, changes=changes)
    except (DockerException, RequestException) as error:
        raise PrerequisiteError(f"Docker refuses the image: {error}") from error
    for event in _events(answer):
        if "error" in event:
            raise PrerequisiteError(f"Docker refuses the image: {event['error']}")


def _events(answer: str) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in answer.splitlines() if line.strip())
