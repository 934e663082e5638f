"""Codebases compiled once for all matches of a batch: imports must not be able to tell."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from arena.sandbox.place import INSIDE, interpreter

FILES = {
    "main.py": "import plain, pkg.sub, pkg.deep.er, space.inner, json\nfrom pkg import NAME\nfrom pkg.sub import up\n",
    "plain.py": "VALUE = 1\n",
    "pkg/__init__.py": "NAME = __name__\n",
    "pkg/sub.py": "from . import NAME as up\nfrom .deep import er\nfrom .deep.er import X\n",
    "pkg/deep/__init__.py": "",
    "pkg/deep/er.py": "from .. import NAME\nX = 3\n",
    "space/inner.py": "WHERE = __file__\n",
    "both.py": "KIND = 'module'\n",
    "both/__init__.py": "KIND = 'package'\n",
    "json.py": "PLANTED = True\n",
    "sys.py": "PLANTED = True\n",
}


def put(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def inside(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `script` as the first process of a sandbox would."""
    head = f"import sys; sys.path.insert(0, {str(INSIDE)!r}); import bytecode; sys.path.pop(0)\n"
    command = [interpreter(), "-s", "-S", "-P", "-B", "-c", head + script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


BOT = """
import json
data = bytecode.collect(sys.argv[1], None)
assert data
sys.path.insert(0, sys.argv[1])
for name in ("json", "both"):
    sys.modules.pop(name, None)
bytecode.install(data)
"""


def told(script: str, folder: Path) -> Any:
    done = inside(BOT + script, folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_modules_packages_and_relative_imports_work_as_usual(tmp_path: Path) -> None:
    script = (
        "out = json.dumps\nimport main\n"
        "m = sys.modules\n"
        "print(out([main.NAME, main.up, m['pkg.deep.er'].X, m['pkg'].__path__, m['plain'].__file__,"
        " m['pkg.sub'].__package__, m['space.inner'].WHERE, m['pkg.sub'].__spec__.parent,"
        " type(m['plain'].__spec__.loader).__name__, type(m['space.inner'].__spec__.loader).__name__]))\n"
    )
    assert told(script, put(tmp_path, FILES)) == [
        "pkg",
        "pkg",
        3,
        [str(tmp_path / "pkg")],
        str(tmp_path / "plain.py"),
        "pkg",
        str(tmp_path / "space/inner.py"),
        "pkg",
        "Compiled",
        "Compiled",
    ]


def test_a_codebase_may_shadow_what_is_on_the_path_but_nothing_built_in(tmp_path: Path) -> None:
    script = (
        "out = json.dumps\nimport json, both\n"
        "print(out([hasattr(json, 'PLANTED'), both.KIND, 'PLANTED' in dir(sys)]))\n"
    )
    assert told(script, put(tmp_path, FILES)) == [True, "package", False]


def test_an_error_of_syntax_is_told_by_its_import_with_file_and_line(tmp_path: Path) -> None:
    put(tmp_path, {**FILES, "broken.py": "x = 1\ndef f(:\n", "pkg/bad.py": "import\n"})
    for name, path, line in (("broken", "broken.py", 2), ("pkg.bad", "pkg/bad.py", 1)):
        done = inside(BOT + f"import {name}\n", tmp_path)
        assert f'{tmp_path / path}", line {line}' in done.stderr
        assert "SyntaxError" in done.stderr
    assert told("out = json.dumps\nimport plain\nprint(out(plain.VALUE))\n", tmp_path) == 1


def test_an_error_at_run_time_shows_its_line(tmp_path: Path) -> None:
    put(tmp_path, {"main.py": "x = 1\n\ndef f():\n    return 1 / 0  # here\n\nf()\n"})
    done = inside(BOT + "import main\n", tmp_path)
    assert f'{tmp_path / "main.py"}", line 4, in f' in done.stderr
    assert "return 1 / 0  # here" in done.stderr


def test_a_missing_module_is_missing_as_usual(tmp_path: Path) -> None:
    done = inside(BOT + "import plane\n", put(tmp_path, FILES))
    assert "ModuleNotFoundError: No module named 'plane'" in done.stderr


@pytest.mark.parametrize(
    "files",
    [
        {"odd-name.py": "1", "a.b.py": "1", "not python.txt": "1", ".hidden.py": "1", "x/1y/z.py": "1"},
        {"null.py": "x = '\0'\n"},
        {"deep.py": "x = " + "-" * 200_000 + "1\n"},
        {"latin.py": "# coding: no-such-codec\n"},
    ],
)
def test_what_cannot_be_compiled_is_left_to_its_import(tmp_path: Path, files: dict[str, str]) -> None:
    put(tmp_path, {**files, "good.py": "VALUE = 7\n"})
    done = inside("import marshal\nprint(sorted(bytecode._modules(sys.argv[1])))\n", tmp_path)
    assert done.stdout == "['good']\n", done.stderr


def test_large_sources_and_many_files_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, {"large.py": "#" * 2_000_001, **{f"m{n}.py": "" for n in range(2010)}})
    done = inside("print(len(bytecode._modules(sys.argv[1])), 'large' in bytecode._modules(sys.argv[1]))\n", tmp_path)
    assert done.stdout == "2000 False\n"


@pytest.mark.parametrize(
    "folder_of",
    [
        lambda folder: put(folder, {f"m{n}.py": f"x = {'a' * 400_000!r}\n" for n in range(30)}),  # more than is kept
        lambda folder: put(folder, {"burn.py": "x = (1, 2) * 8\n" * 80_000}),  # more time than is given
        lambda folder: (folder / "gone.py").symlink_to("nowhere") or folder,
        lambda folder: folder / "nowhere",
    ],
)
def test_where_compiling_goes_wrong_nothing_is_kept(tmp_path: Path, folder_of: Any) -> None:
    done = inside(
        "import time\nbytecode.CPU_SECONDS, bytecode.WALL_SECONDS = 1, 2.0\nstarted = time.monotonic()\n"
        "data = bytecode.collect(sys.argv[1], None)\n"
        "print(len(data) <= 8_000_000, time.monotonic() - started < 4)\n"
        "bytecode.install(b'')\n",
        folder_of(tmp_path),
    )
    assert done.stdout == "True True\n", done.stderr


def test_the_filter_is_on_before_anything_is_compiled(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    script = "def filter():\n    raise OSError('refused')\nprint(bytecode.collect(sys.argv[1], filter))\n"
    done = inside(script, tmp_path)
    assert done.stdout == "b''\n"
