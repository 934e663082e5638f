"""What the file systems and the memory of a sandbox may come to, whatever the backend."""

from arena.sandbox.base import SandboxSpec

INODES = 16_384  # on every writable file system: each costs memory that no process holds and no kill frees
SHARED_MB = 16  # of /dev/shm, which processes that work together need
_OVERHEAD_MB = 64  # the host program, and what the kernel holds for a sandbox


def disks_mb(spec: SandboxSpec) -> dict[str, int]:
    """Size in MB of every writable file system inside, by its folder."""
    if spec.purpose == "bot":
        return {}
    return {"/tmp": spec.disk_mb, "/work": spec.disk_mb, "/dev/shm": SHARED_MB}


def memory_mb(spec: SandboxSpec) -> int:
    """Most memory of the whole sandbox: full disks, which are memory, leave what is promised for processes."""
    return spec.memory_mb + sum(disks_mb(spec).values()) + _OVERHEAD_MB
