"""Attacks that must come to nothing: the bot tries, says on stderr how each try went, and plays on.

`tried(what, function)` says "refused" when the function raises or returns None or False, else "DONE".
"""
# ruff: noqa: E501  programs of attackers, a try a line

TRIED = """
def tried(what, function, *arguments):
    try:
        got = function(*arguments)
    except BaseException as error:
        got, why = None, type(error).__name__
    else:
        why = "nothing"
    word = "refused" if got is None or got is False else "DONE"
    print(f"{word} {what} {why if word == 'refused' else repr(got)[:200]}", file=sys.stderr)
"""

READING = (
    TRIED
    + """
CANARIES = [os.environ.get("HOST_CANARY", "@CANARY@"), "@CANARY@"]

def holds_canary(path):
    with open(path, "rb") as file:
        return any(canary.encode() in file.read(1 << 20) for canary in CANARIES) and path

def search(root):
    for parent, _, names in os.walk(root):
        for name in names:
            path = os.path.join(parent, name)
            try:
                if os.path.isfile(path) and holds_canary(path):
                    return path
            except OSError:
                pass

def attack(state):
    for path in @PATHS@:
        tried(f"read {path}", lambda: open(path, "rb").read(64) or None)
        tried(f"list {path}", lambda: os.listdir(path) or None)
    for root in ("/arena", "/etc", "/home", "/root", "/tmp", "/var", "/run", "/mnt", "/opt", "/srv", "/work", "/dev/shm"):
        tried(f"search {root}", search, root)
    tried("environment", lambda: [key for key, value in os.environ.items() if "@CANARY@" in value] or None)
    own = {"1", "self", "thread-self", str(os.getpid())}
    others = [name for name in (os.listdir("/proc") if os.path.isdir("/proc") else []) if name.isdigit() and name not in own]
    tried("other processes", lambda: others or None)
    for name in ("environ", "maps", "mem", "root/etc/passwd", "fd/3", "cwd", "exe"):
        tried(f"first process {name}", lambda: open(f"/proc/1/{name}", "rb").read(16) or None)
    tried("list descriptors of the first process", lambda: os.listdir("/proc/1/fd") or None)
    tried("open devices", lambda: [name for name in os.listdir("/dev") if name.startswith(("sd", "vd", "mem", "kmsg", "fuse", "kvm"))] or None)
    return honest(state)
"""
)

WRITING = (
    TRIED
    + """
FOLDERS = ["/", "/tmp", "/var/tmp", "/run", "/dev", "/dev/shm", "/dev/mqueue", "/proc/sys/kernel", "/sys", "/work", "/bot",
           "/arena", "/arena/run", "/arena/inside", "/usr", "/usr/lib/python3.11", "/etc", "/home", "/root", "/opt", "/var/log",
           "/sys/fs/cgroup", "@HOST@"]
FILES = ["/bot/main.py", "/bot/honest.py", "/bot/bot.toml", "/arena/inside/host.py", "/arena/inside/bots.py",
         "/arena/run/control.sock", "/usr/lib/python3.11/json/__init__.py", "/etc/passwd", "/proc/sysrq-trigger",
         "/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/1/mem", "/sys/kernel/uevent_helper"]

def fill(folder):
    path = os.path.join(folder, "full")
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    return path

def inodes(folder):
    for number in range(100_000):
        os.mkdir(os.path.join(folder, f"d{number}"))
    return folder

def mark(path):
    with open(path, "r+b") as file:
        return file.write(b"#")

def attack(state):
    for folder in FOLDERS:
        tried(f"fill {folder}", fill, folder)
        tried(f"inodes {folder}", inodes, folder)
        tried(f"link {folder}", lambda: os.symlink("/etc/passwd", os.path.join(folder, "l")) or True)
        tried(f"fifo {folder}", lambda: os.mkfifo(os.path.join(folder, "f")) or True)
        tried(f"socket {folder}", lambda: socket.socket(socket.AF_UNIX).bind(os.path.join(folder, "s")) or True)
    for path in FILES:
        if path != "/proc/self/oom_score_adj":
            tried(f"write {path}", mark, path)
        tried(f"remove {path}", lambda: os.unlink(path) or True)
        tried(f"chmod {path}", lambda: os.chmod(path, 0o777) or True)
    import tempfile
    tried("temporary file", lambda: tempfile.TemporaryFile().write(b"x"))
    return honest(state)
"""
)

KILLING = (
    TRIED
    + """
import ctypes, resource
libc = ctypes.CDLL(None, use_errno=True)
HARMLESS = (0, signal.SIGCHLD)

def attack(state):
    own = os.getpid()
    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            pass
    for _ in range(2000):
        os.kill(1, signal.SIGINT)
    tried("kill everybody else", lambda: os.kill(-1, signal.SIGKILL) or True)
    for pid in (*range(2, own), *range(own + 1, own + 40)):
        tried(f"kill {pid}", lambda: os.kill(pid, signal.SIGKILL) or True)
    for what in ("RLIMIT_CPU", "RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_STACK"):
        tried(f"limit the first process {what}", lambda: resource.prlimit(1, getattr(resource, what), (0, 0)))
    for which, who in ((os.PRIO_PROCESS, 1), (os.PRIO_USER, 0), (os.PRIO_PGRP, 1)):
        tried(f"priority {which} {who}", lambda: os.setpriority(which, who, 19) or True)
    for policy in (os.SCHED_IDLE, os.SCHED_BATCH):
        tried(f"policy {policy}", lambda: os.sched_setscheduler(1, policy, os.sched_param(0)) or True)
    tried("affinity", lambda: os.sched_setaffinity(1, {0}) or True)
    for request in (16, 0x4206):
        tried(f"ptrace {request}", lambda: libc.ptrace(request, 1, 0, 0) == 0)
    tried("own group for the first process", lambda: os.setpgid(1, 0) or True)
    tried("hear of the first process", lambda: os.pidfd_open(1) and libc.syscall(438, os.pidfd_open(1), 0, 0) >= 0)
    return honest(state)
"""
)

NETWORK = (
    TRIED
    + """
def connect(family, kind, address):
    with socket.socket(family, kind) as plug:
        plug.settimeout(0.2)
        plug.connect(address)
        plug.send(b"hello from inside")
        return True

def attack(state):
    for address in ("127.0.0.1", "0.0.0.0"):
        tried(f"tcp {address}", connect, socket.AF_INET, socket.SOCK_STREAM, (address, @TCP@))
        tried(f"udp {address}", connect, socket.AF_INET, socket.SOCK_DGRAM, (address, @UDP@))
    tried("tcp6", connect, socket.AF_INET6, socket.SOCK_STREAM, ("::1", @TCP@))
    tried("udp6", connect, socket.AF_INET6, socket.SOCK_DGRAM, ("::1", @UDP@))
    tried("abstract socket", connect, socket.AF_UNIX, socket.SOCK_STREAM, "\\0@ABSTRACT@")
    tried("socket in the file system", connect, socket.AF_UNIX, socket.SOCK_STREAM, "@PATH@")
    tried("the arena's own socket", connect, socket.AF_UNIX, socket.SOCK_SEQPACKET, "/arena/run/control.sock")
    tried("docker", connect, socket.AF_UNIX, socket.SOCK_STREAM, "/var/run/docker.sock")
    for family in (16, 17, 38, 40, 21, 30, 31, 44):
        tried(f"family {family}", lambda: socket.socket(family, socket.SOCK_RAW if family in (16, 17) else socket.SOCK_STREAM))
    tried("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    tried("a pair of another family", lambda: socket.socketpair(30, socket.SOCK_STREAM))
    tried("a listener", lambda: socket.create_server(("127.0.0.1", 0)))
    return honest(state)
"""
)

HANDING_DESCRIPTORS = """
import array
def attack(state):
    plug = socket.socket(fileno=os.dup(PROTOCOL))
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
    data = json.dumps(honest(state)).encode() + b"\\n"
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
    plug.sendmsg([data[:5]], rights)
    plug.sendmsg([data[5:-1]], rights)
    os.write(PROTOCOL, data[-1:])
    global attack
    raise SystemExit(0)
"""
