"""Tests, language servers and locks in a workspace are those of its own files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.test_after_edit import shop
from tests.harness.workspaces.placing import called, committed, paired

pytestmark = pytest.mark.requirement("workspace.roots")

YAML = PROJECT_YAML + '    "shell.*": { enabled: true }\n'
PYTHON = {
    "src/greeting.py": "def greet(name):\n    return f'hello {name}'\n",
    "tests/test_greeting.py": "import unittest\nfrom greeting import greet\n\n\n"
    "class Greeting(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(greet('you'), 'hello you')\n",
}
NODE = {
    "package.json": '{"name": "shop", "private": true, "workspaces": ["packages/*"]}',
    "packages/greeting/package.json": '{"name": "greeting", "version": "1.0.0", "main": "index.js"}',
    "packages/greeting/index.js": "module.exports = (name) => `hello ${name}`;\n",
    "greeting.test.js": 'require("node:test")("it greets", () => require("assert").equal('
    'require("greeting")("you"), "hello you"));\n',
}
EDITABLE = (
    f"test -d .venv || {sys.executable} -m venv --without-pip .venv && "
    'echo "$KAGED_WORKSPACE/src" > $(echo .venv/lib/python*/site-packages)/shop.pth && '
    ".venv/bin/python -m unittest discover -q -s tests"
)
"""An editable install, without a package manager: a file that names the sources."""
LINKED = "mkdir -p node_modules && ln -sfn ../packages/greeting node_modules/greeting && node --test"
CASES = {
    "path": (PYTHON, "src/greeting.py", f"PYTHONPATH=src {sys.executable} -m unittest discover -q -s tests"),
    "editable": (PYTHON, "src/greeting.py", EDITABLE),
    "node": (NODE, "packages/greeting/index.js", LINKED),
}


@pytest.mark.parametrize("case", list(CASES))
async def test_a_function_broken_in_the_workspace_fails_its_tests_and_no_others(
    case: str, tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    files, broken, tests = CASES[case]
    if case == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    project = committed(write_project(tmp_path / "shop", YAML), files)
    async with paired(tmp_path / "data", project, **settings_overrides) as pair:
        for driver in (pair.own, pair.shared):
            await pair.says(driver, tests)
        await called(pair.own, "file.read", path=broken)
        await called(pair.own, "edit.text", path=broken, old_string="hello", new_string="goodbye")
        failed = await pair.shell(pair.own, tests)
        assert failed["exit_code"] != 0 and "goodbye you" in failed["stdout"]
        await pair.says(pair.shared, tests)


@pytest.mark.needs("cages")
async def test_language_servers_are_those_of_a_root_and_end_with_it(
    tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    project = committed(shop(tmp_path), {"a.hos": "good\n"})
    async with paired(tmp_path / "data", project, **settings_overrides) as pair:
        (pair.tree / "a.hos").write_text("good\nbad one\n")

        async def lines(one: Any) -> list[int]:
            found = await called(one, "code.lsp", action="diagnostics", path="a.hos")
            return [row["line"] for row in found["diagnostics"]]

        assert await lines(pair.own) == [2]
        assert await lines(pair.shared) == []
        languages = pair.own.daemon.services.decisions.languages
        assert languages.running() == {"hostile": 2}
        homes = pair.data / "cages" / pair.own.project_id / "lsp-of-workspaces"
        assert [one.name for one in homes.iterdir()] == [pair.tree.parent.name]
        await languages.close_root(pair.tree)
        assert languages.running() == {"hostile": 1}
        assert not list(homes.iterdir())
        assert await lines(pair.shared) == []
