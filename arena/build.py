"""The build step of a submission: `build` of bot.toml, run once in a sandbox; what it leaves is what plays."""

from arena import tree
from arena.bot import manifest
from arena.errors import LimitExceeded, SubmissionError
from arena.sandbox.base import Backend, SandboxSpec
from arena.types import Code
from arena.workspace import Allowance, SandboxWorkspace

BUILD_SECONDS = 120.0
MAX_BYTES = 50_000_000
MAX_FILES = 5_000
_ALLOWANCE = Allowance(
    memory_mb=2048,
    processes=128,
    disk_mb=256,
    output_bytes=8_192,
    codebase_bytes=MAX_BYTES,
    codebase_files=MAX_FILES,
    step_seconds=BUILD_SECONDS,
)


def built(code: Code, backend: Backend, *, trusted: bool) -> Code:
    """`code` after its build step, or as it is if it has none. Raises SubmissionError, SandboxError."""
    command = manifest(code).build
    if command is None:
        return code
    spec = SandboxSpec("work", "build", memory_mb=_ALLOWANCE.memory_mb, disk_mb=_ALLOWANCE.disk_mb, trusted=trusted)
    with backend.open(spec) as sandbox:
        workspace = SandboxWorkspace(sandbox, _ALLOWANCE)
        try:
            workspace.load(code.files)
            result = workspace.run(command)
            if result.exit_code != 0:
                last = [line for line in result.output.strip().splitlines() if line.strip()][-1:]
                raise SubmissionError(
                    f"bot.toml: build failed with exit code {result.exit_code}: {''.join(last)[:300]}"
                )
            files = workspace.snapshot(changed_only=False)
        except LimitExceeded as error:
            raise SubmissionError(f"bot.toml: build: {error}") from error
    return tree.code_of(files or ())
