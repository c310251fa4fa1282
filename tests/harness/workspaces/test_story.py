"""Three sessions at once repair one repository, each in a workspace of its own, as `docs/workspaces.md` says.

One is merged, one conflicts, is resolved by its agent and merged, one is discarded.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import PROJECT_YAML, Driver, driven
from tests.driver.workspaces import PINS, Workplace, digest_of, git, new_workplace, write_repository
from tests.fakes.provider_script import Answer, RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("workspaces.merge")

BROKEN = """\
def add(a, b):
    return a - b


def label(name, price):
    return name


def total(prices):
    return max(prices)
"""
TESTS = """\
import unittest

from shop.prices import add, label, total


class Prices(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)

    def test_label(self):
        self.assertEqual(label("bread", 2), "bread: 2")

    def test_total(self):
        self.assertEqual(total([1, 2, 3]), 6)
"""
FIXES = {
    "add": [("return a - b", "return a + b")],
    "label": [("return name", 'return f"{name}: {price}"')],
    # It takes a wrong turn as well: the line that another session repairs.
    "total": [("return max(prices)", "return sum(prices)"), ("return a - b", "return sum((a, b))")],
}
KEEP_ONE_SIDE = "sed -i '/^<<<<<<< /d; /^=======$/,/^>>>>>>> /d' shop/prices.py"


def passing(root: Path) -> set[str]:
    """Return which tests pass in a checkout."""
    found = set()
    for name in FIXES:
        command = [sys.executable, "-m", "unittest", f"tests.test_prices.Prices.test_{name}"]
        if subprocess.run(command, cwd=root, capture_output=True, check=False).returncode == 0:
            found.add(name)
    return found


def steps(task: str) -> list[Reply]:
    """Return what the model answers, one step after the other, to a task or to conflicts."""
    if task not in FIXES:
        resolve = Reply((ToolCall("shell_bash", {"command": KEEP_ONE_SIDE}, id="c1"),))
        return [resolve, text_reply("Resolved.")]
    read = ToolCall("file_read", {"path": "shop/prices.py"}, id="c1")
    edits = [
        ToolCall("edit_text", {"path": "shop/prices.py", "old_string": old, "new_string": new}, id=f"e{at}")
        for at, (old, new) in enumerate(FIXES[task])
    ]
    tested = f"{sys.executable} -m unittest tests.test_prices.Prices.test_{task}"
    run = ToolCall("shell_bash", {"command": tested}, id="c2")
    return [Reply((read,)), *(Reply((one,)) for one in edits), Reply((run,)), text_reply("It passes.")]


def answer(request: RecordedRequest) -> Answer:
    messages: list[dict[str, Any]] = request.json["messages"]
    asked = max(at for at, one in enumerate(messages) if one["role"] == "user")
    words = str(messages[asked]["content"]).split()
    done = sum(one["role"] == "assistant" for one in messages[asked:])
    return steps(words[1] if words[0] == "Repair" else "conflicts")[done]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_repository(tmp_path / "shop")
    (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML + '    "shell.*": { enabled: true }\n')
    (root / "shop").mkdir(), (root / "tests").mkdir()
    (root / "shop" / "prices.py").write_text(BROKEN)
    (root / "tests" / "test_prices.py").write_text(TESTS)
    (root / ".gitignore").write_text("__pycache__/\n")
    git(root, "add", "-A"), git(root, "commit", "-qm", "the shop")
    return root


async def test_three_sessions_repair_one_repository_side_by_side(
    tmp_path: Path, project: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    fake.script(*[answer] * 40)
    checkout, repository = digest_of(project, without=(".git/",)), digest_of(project / ".git")
    async with driven(tmp_path / "data", project, **settings_overrides) as driver:
        places: dict[str, Workplace] = {}
        for task in FIXES:
            places[task] = await new_workplace(driver.client, driver.project_id, title=f"Repair {task}")
        await asyncio.gather(*(repaired(driver, task, place) for task, place in places.items()))
        for task, place in places.items():
            assert task in passing(place.root)
        # Nothing of it is in the user's checkout, and of the repository the pins alone.
        assert passing(project) == set()
        assert digest_of(project, without=(".git/", "shop/__pycache__", "tests/__pycache__")) == checkout
        assert digest_of(project / ".git", without=PINS) == repository

        changed = await driver.call("GET", f"/sessions/{places['total'].session_id}/changes")
        assert [(one["path"], one["additions"], one["deletions"]) for one in changed["items"]] == [
            ("shop/prices.py", 2, 2)
        ]
        await places["add"].merge()
        assert passing(project) == {"add"}
        git(project, "commit", "-qam", "add")

        refused = await places["total"].merge(409)
        assert refused["error"]["details"] == {"reason": "merge_conflicts", "paths": ["shop/prices.py"]}
        await places["total"].merge(conflicts="agent")
        await until_idle(driver, places["total"])
        await places["total"].merge()
        assert passing(project) == {"add", "total"}

        await places["label"].post("discard")
        assert (await places["label"].look())["state"] == "discarded"
        assert "label" not in passing(project)
        assert git(project, "status", "--porcelain") == "M shop/prices.py"
        assert git(project, "stash", "list") == ""


async def repaired(driver: Driver, task: str, place: Workplace) -> None:
    body = {"content": f"Repair {task}"}
    await driver.call("POST", f"/sessions/{place.session_id}/messages", body)
    await until_idle(driver, place)
    run = (await driver.call("GET", f"/sessions/{place.session_id}/runs"))["items"][0]
    assert (run["state"], run["reason"]) == ("succeeded", "stop"), run


async def until_idle(driver: Driver, place: Workplace) -> None:
    async with asyncio.timeout(WAIT_SECONDS * 2):
        while (await driver.call("GET", f"/sessions/{place.session_id}"))["state"] != "idle":  # noqa: ASYNC110 - a client has to ask
            await asyncio.sleep(0.05)
