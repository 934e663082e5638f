import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import images
from arena.errors import PrerequisiteError
from arena.sandbox import docker
from arena.sandbox.reap import gone, owner, process_start, reap

OWNER = """
import sys, time
from arena.sandbox.base import SandboxSpec
from arena.sandbox.docker import Docker
sandbox = Docker().open(SandboxSpec("bot", "reaped"))
print(sandbox.container, sandbox._folder, flush=True)
time.sleep(60)
"""
DEAD_BOOT = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The reaper looks for folders in here alone, and finds no daemon."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    return tmp_path


@pytest.fixture
def api():
    try:
        client = docker.connect()
        images.find(client)
    except PrerequisiteError as error:
        pytest.skip(f"docker sandbox: {error}")
    return client


@pytest.fixture
def owning(api):
    """A process that owns a container, the container's id, and its folder."""
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    container, folder = process.stdout.readline().split()
    yield process, container, Path(folder)
    process.kill()
    process.wait()
    process.stdout.close()
    reap()


def folder_of(place: Path, mark: object, name: str = "code-arena-x") -> Path:
    folder = place / name
    folder.mkdir()
    (folder / "owner.json").write_text(mark if isinstance(mark, str) else json.dumps(mark))
    return folder


def test_we_are_alive():
    assert not gone(owner())


@given(st.sampled_from(["boot", "pid_start"]))
def test_another_boot_or_start_time_is_another_owner(key):
    changed = {"boot": DEAD_BOOT, "pid_start": owner()["pid_start"] - 1}
    assert gone({**owner(), key: changed[key]})


@given(st.integers(-(10**6), 10**6).filter(lambda left: abs(left) > 60))
def test_an_owner_of_another_process_space_lives_until_it_expires(left):
    mark = {**owner(), "pid_space": 1, "expires": time.time() + left}
    assert gone(mark) == (left < 0)


def test_a_live_owner_that_expired_is_still_alive():
    assert not gone({**owner(), "expires": 0})


def test_a_mark_read_back_as_text_counts_the_same():
    assert not gone({key: str(value) for key, value in owner().items()})


def test_the_dead_are_gone_before_they_are_buried():
    process = subprocess.Popen(["sleep", "60"])
    assert process_start(process.pid) is not None
    process.kill()
    deadline = time.monotonic() + 5
    while process_start(process.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_start(process.pid) is None
    process.wait()
    assert process_start(process.pid) is None


def test_folders_of_dead_owners_go_and_others_stay(here):
    dead = folder_of(here, {**owner(), "boot": DEAD_BOOT}, "code-arena-dead")
    kept = [
        folder_of(here, owner(), "code-arena-live"),
        folder_of(here, {**owner(), "boot": DEAD_BOOT}, "somebody-else"),
        folder_of(here, {"boot": owner()["boot"]}, "code-arena-half-a-mark"),
        folder_of(here, {**owner(), "pid": "many"}, "code-arena-no-number"),
        folder_of(here, [], "code-arena-a-list"),
    ]
    (here / "code-arena-link").symlink_to(kept[1])
    lines = reap()
    assert f"folder {dead}" in lines
    assert not dead.exists()
    assert all(folder.exists() for folder in kept)
    assert kept[1].exists()


@pytest.mark.parametrize("mark", ["", "{"], ids=["no mark", "half a mark"])
def test_a_folder_without_a_mark_goes_when_it_is_old(here, mark):
    folder = folder_of(here, mark)
    if not mark:
        (folder / "owner.json").unlink()
    reap()
    assert folder.exists()
    os.utime(folder, (time.time() - 7200,) * 2)
    reap()
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a folder to another user: run as root")
def test_folders_of_other_users_stay(here):
    folder = folder_of(here, {**owner(), "boot": DEAD_BOOT})
    os.chown(folder, 65534, 65534)
    reap()
    assert folder.exists()


def test_a_folder_nested_thousands_deep_goes_too(here):
    folder = folder_of(here, {**owner(), "boot": DEAD_BOOT})
    code = "import os\nfor _ in range(4000): os.mkdir('d'); os.chdir('d')"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=folder, check=True)
    reap()
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting: run as root")
def test_a_folder_that_can_not_be_removed_is_named(here):
    folder = folder_of(here, {**owner(), "boot": DEAD_BOOT})
    (folder / "mounted").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", folder / "mounted"], check=True)
    try:
        assert any(line.startswith("not removed:") and str(folder) in line for line in reap())
    finally:
        subprocess.run(["umount", folder / "mounted"], check=True)


def test_a_killed_owner_leaves_nothing(owning, api):
    from docker.errors import NotFound

    process, container, folder = owning
    process.send_signal(signal.SIGKILL)
    process.wait()
    lines = reap()
    assert f"container {container[:12]} of reaped" in lines
    assert f"folder {folder}" in lines
    assert not folder.exists()
    with pytest.raises(NotFound):
        api.inspect_container(container)


def test_what_ran_inside_ends_with_its_owner_before_anybody_reaps(owning, api):
    process, container, _ = owning
    process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while api.inspect_container(container)["State"]["Running"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not api.inspect_container(container)["State"]["Running"]


def test_a_live_owner_is_left_alone(owning, api):
    _, container, folder = owning
    lines = reap()
    assert not any(container[:12] in line for line in lines)
    assert api.inspect_container(container)["State"]["Running"]
    assert folder.exists()


def test_a_container_that_only_bears_our_label_is_left_alone(api):
    config = {"Image": images.find(api), "Cmd": ["true"], "Labels": {"arena": "1"}}
    container = api.create_container_from_config(config)["Id"]
    try:
        reap()
        assert api.inspect_container(container)["State"]["Status"] == "created"
    finally:
        docker.remove(api, container)
