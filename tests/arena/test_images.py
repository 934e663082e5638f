import json
import tarfile
from pathlib import Path

import pytest

from arena import images
from arena.errors import PrerequisiteError
from arena.sandbox import docker
from arena.sandbox.base import ProcessSpec, SandboxSpec
from arena.sandbox.command import run
from arena.sandbox.docker import Docker


@pytest.fixture(scope="module")
def api():
    try:
        client = docker.connect()
        images.find(client)
    except PrerequisiteError as error:
        pytest.skip(f"docker image: {error}")
    return client


@pytest.fixture
def scratch(api, monkeypatch):
    """Builds of the test get a tag of their own, on the real image as base, and go afterwards."""
    base = images.tag().split(":")
    monkeypatch.setattr(images, "BASE", tuple(base))
    monkeypatch.setattr(images, "PACKAGES", ("bash",))
    unnamed = {"dangling": True}
    before = set(api.images(quiet=True, filters=unnamed))
    yield
    if api.images(name=images.tag()):
        api.remove_image(images.tag(), force=True)
    for layer in set(api.images(quiet=True, filters=unnamed)) - before:
        api.remove_image(layer)


@pytest.fixture
def nobody(tmp_path):
    """A client of a socket where nobody listens."""
    from docker import APIClient

    return APIClient(base_url=f"unix://{tmp_path}/nobody.sock", version="1.41")


def lines_of(command: str) -> list[str]:
    with Docker().open(SandboxSpec("work", "image")) as sandbox:
        spec = ProcessSpec("exec", "/", argv=("bash", "-c", command), fork=True)
        return run(sandbox, spec, 30, merge=True).stdout.decode().splitlines()


def test_the_image_has_the_tools_that_agents_and_builds_need(api):
    tools = "bash cat diff find gcc git grep less make patch ps python3 rg sed"
    assert lines_of(f"for tool in {tools}; do command -v $tool > /dev/null || echo $tool; done") == []
    assert lines_of("python3 -c 'import sys; print(sys.version_info >= (3, 11))'") == ["True"]


def test_nothing_in_the_image_raises_privileges_or_names_a_mirror(api):
    assert lines_of("find / -xdev -perm /6000 2> /dev/null") == []
    assert lines_of("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null") == []
    assert lines_of("grep -rliE '^ *Acquire::https?' /etc/apt 2> /dev/null") == []
    assert lines_of("id -un 1000") == ["player"]


def test_the_image_says_which_recipe_made_it(api):
    image = images.find(api)
    assert image.startswith("sha256:")
    labels = api.inspect_image(image)["Config"]["Labels"]
    assert labels[images.VERSION_LABEL] == images.version()
    assert isinstance(json.loads(labels[images.FILES_LABEL]), dict)


def test_ensure_builds_nothing_when_it_is_there(api):
    lines: list[str] = []
    assert images.ensure(api, lines.append) == images.find(api)
    assert lines == []


@pytest.mark.parametrize("name", ["SUITE", "PACKAGES", "FINISH", "BASE"])
def test_the_version_follows_the_recipe(monkeypatch, name):
    before = images.version()
    value = getattr(images, name)
    monkeypatch.setattr(images, name, value + "x" if isinstance(value, str) else (*value, "x"))
    assert images.version() != before


def test_a_missing_image_is_said_with_the_fix(api, monkeypatch):
    monkeypatch.setattr(images, "SUITE", "nonesuch")
    with pytest.raises(PrerequisiteError, match="run: arena images build"):
        images.find(api)
    with pytest.raises(PrerequisiteError, match="run: arena images build"):
        docker._image.__wrapped__(0)


def test_on_a_base_files_are_put_in_and_labelled(api, scratch, tmp_path):
    program = tmp_path / "a program"
    program.write_text("#!/bin/sh\necho put in\n")
    lines: list[str] = []
    images._build_on_base(api, lines.append, {"/usr/local/bin/put-in": program})
    image = images.find(api)
    labels = api.inspect_image(image)["Config"]["Labels"]
    assert list(json.loads(labels[images.FILES_LABEL])) == ["/usr/local/bin/put-in"]
    assert labels[images.VERSION_LABEL] == images.version()
    assert any("Step" in line for line in lines)

    class OfThat(Docker):
        def configuration(self, spec, image_, folder):
            return {**super().configuration(spec, image_, folder), "Image": image}

    with OfThat().open(SandboxSpec("work", "image")) as sandbox:
        spec = ProcessSpec("exec", "/", argv=("put-in",), fork=True)
        assert run(sandbox, spec, 10).stdout == b"put in\n"


def test_a_failing_build_is_said(api, scratch, monkeypatch):
    monkeypatch.setattr(images, "FINISH", "echo spoilt; exit 3\n")
    with pytest.raises(PrerequisiteError, match="can't be built"):
        images._build_on_base(api, lambda _: None, {})


def test_no_registry_is_no_error(api, monkeypatch):
    monkeypatch.setattr(images, "BASE", ("127.0.0.1:9/nothing", "none"))
    patience, lines = api.timeout, []
    assert not images.pull_base(api, lines.append)
    assert lines[-1].startswith("no registry: ")
    assert api.timeout == patience


def test_a_daemon_that_goes_away_is_said(nobody, tmp_path):
    (tmp_path / "root.tar").write_bytes(b"")
    with pytest.raises(PrerequisiteError, match="can't be built"):
        images._build_on_base(nobody, lambda _: None, {})
    with pytest.raises(PrerequisiteError, match="Docker refuses the image"):
        images._import(nobody, tmp_path / "root.tar", {})
    lines: list[str] = []
    assert not images.pull_base(nobody, lines.append)
    assert len(lines) == 2


def test_with_neither_registry_nor_mmdebstrap_the_way_out_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert images.apt_options() == ""
    with pytest.raises(PrerequisiteError, match="apt-get install mmdebstrap"):
        images.bootstrap(None, lambda _: None, {})


def test_a_mirror_that_does_not_answer_is_said(monkeypatch, tmp_path):
    if images.shutil.which("mmdebstrap") is None:
        pytest.skip("mmdebstrap: apt-get install mmdebstrap")
    source = tmp_path / "dead.list"
    source.write_text(f"deb http://127.0.0.1:9/debian {images.SUITE} main\n")
    monkeypatch.setattr(images, "apt_sources", lambda: [source])
    monkeypatch.setattr(images, "apt_options", lambda: 'Acquire::Retries "0";\n')
    lines: list[str] = []
    with pytest.raises(PrerequisiteError, match="mmdebstrap failed"):
        images.bootstrap(None, lines.append, {})
    assert len(lines) > 1


def test_an_archive_becomes_the_image(api, monkeypatch, tmp_path):
    monkeypatch.setattr(images, "SUITE", "imported")
    with tarfile.open(tmp_path / "root.tar", "w") as archive:
        archive.add(Path(__file__), "etc/test.py")
    images._import(api, tmp_path / "root.tar", {"/etc/test.py": Path(__file__)})
    try:
        labels = api.inspect_image(images.find(api))["Config"]["Labels"]
        assert labels == images.labels({"/etc/test.py": Path(__file__)})
    finally:
        api.remove_image(images.tag(), force=True)


def test_what_is_no_archive_is_refused(api, tmp_path):
    (tmp_path / "root.tar").write_bytes(b"no archive" * 1000)
    with pytest.raises(PrerequisiteError, match="Docker refuses the image"):
        images._import(api, tmp_path / "root.tar", {})


def test_only_sources_of_the_suite_are_used(tmp_path):
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text("deb http://example.org/debian bookworm main\n")
    (parts / "a.sources").write_text("Types: deb\nURIs: http://example.org\nSuites: bookworm\nComponents: main\n")
    (parts / "b.list").write_text("deb http://example.org/tool stable main\n# bookworm\n")
    (parts / "c.list.disabled").write_text("deb http://example.org/debian bookworm main\n")
    (parts / "d.list").write_text("deb http://example.org/tool bookworm stable\n")
    (parts / "e.list").symlink_to("nowhere")
    assert images.apt_sources(tmp_path) == [tmp_path / "sources.list", parts / "a.sources"]
