"""What `setup` installs in a workspace runs the files of that workspace: by pip, and by npm."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.driver.daemon import Daemon
from tests.driver.sessions import PROJECT_YAML, Driver, write_project
from tests.driver.workspaces import new_workplace
from tests.harness.workspaces.placing import called, committed

pytestmark = [pytest.mark.requirement("workspace.roots", "workspaces.outfit"), pytest.mark.needs("cages")]

BACKEND = '''"""Builds the editable install of `shop`, so that nothing is downloaded."""
import pathlib
import zipfile

INFO = "shop-1.0.dist-info"
FILES = {
    "shop.pth": f"{pathlib.Path('src').resolve()}\\n",
    f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: shop\\nVersion: 1.0\\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: shop\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}


def build_editable(folder, settings=None, metadata=None):
    name = "shop-1.0-py3-none-any.whl"
    record = "".join(f"{path},,\\n" for path in (*FILES, f"{INFO}/RECORD"))
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        for path, text in {**FILES, f"{INFO}/RECORD": record}.items():
            wheel.writestr(path, text)
    return name


build_wheel = build_editable
'''
PYTHON = {
    ".gitignore": ".venv/\n",
    "backend.py": BACKEND,
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "src/greeting.py": "def greet(name):\n    return f'hello {name}'\n",
    "tests/test_greeting.py": "import unittest\nfrom greeting import greet\n\n\n"
    "class Greeting(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(greet('you'), 'hello you')\n",
}
NODE = {
    ".gitignore": "node_modules/\n",
    "package.json": json.dumps(
        {"name": "shop", "private": True, "workspaces": ["packages/*"], "scripts": {"test": "node --test"}}
    ),
    "packages/greeting/package.json": '{"name": "greeting", "version": "1.0.0", "main": "index.js"}',
    "packages/greeting/index.js": "module.exports = (name) => `hello ${name}`;\n",
    "greeting.test.js": 'require("node:test")("it greets", () => require("assert").equal('
    'require("greeting")("you"), "hello you"));\n',
}
CASES = {
    "pip": (
        PYTHON,
        "src/greeting.py",
        f"{sys.executable} -m venv .venv && .venv/bin/pip install -q --no-index -e .",
        ".venv/bin/python -m unittest discover -q -s tests",
    ),
    "npm": (NODE, "packages/greeting/index.js", "npm install --offline --no-audit --no-fund", "npm test"),
}


@pytest.mark.parametrize("case", list(CASES))
async def test_a_function_broken_in_the_workspace_fails_the_tests_of_what_setup_installed(
    case: str, daemon: Daemon, tmp_path: Path
) -> None:
    if case == "npm" and shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    files, broken, setup, tests = CASES[case]
    yaml = PROJECT_YAML + f'    "shell.*": {{ enabled: true }}\nworkspace:\n  setup: {json.dumps(setup)}\n'
    root = committed(write_project(tmp_path / "shop", yaml), files)
    async with daemon.client() as client:
        driver = Driver(daemon, client)
        await driver.load(root)
        place = await new_workplace(client, driver.project_id)
        assert place.workspace["detail"] is None, place.workspace["setup_log"]
        driver.session_id = place.session_id
        (root / broken).write_text("broken, in the checkout alone\n")
        done = await called(driver, "shell.bash", command=tests)
        assert done["exit_code"] == 0, done["stdout"]
        text = (place.root / broken).read_text()
        (place.root / broken).write_text(text.replace("hello", "goodbye"))
        failed = await called(driver, "shell.bash", command=tests)
        assert failed["exit_code"] != 0 and "goodbye you" in failed["stdout"]
