"""Many files: whatever is listed of them, the event loop goes on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.driver.loop_watch import watched_loop
from tests.driver.sessions import driven, write_project
from tests.driver.workspaces import git
from tests.harness.checkpoints.test_files import YAML, repository

FILES = 60_000
LINES = 100_000

pytestmark = pytest.mark.requirement("changes.list")


def crowded(root: Path) -> Path:
    """Let the last commit of a repository have many files, of which none is there."""
    oid = git(root, "hash-object", "-w", "README.md")
    lines = "".join(f"100644 {oid}\tpackage_{number // 1000}/module_{number}.py\n" for number in range(FILES))
    subprocess.run(["git", "update-index", "--index-info"], cwd=root, input=lines.encode(), check=True)
    git(root, "commit", "-qm", "many")
    return root


async def test_nothing_holds_up_the_loop_while_sixty_thousand_changed_files_are_listed(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = crowded(repository(write_project(tmp_path / "repo", YAML)))
    before = "".join(f"line {number}\n" for number in range(LINES))
    (root / "long.txt").write_text(before)
    git(root, "add", "long.txt"), git(root, "commit", "-qm", "long")
    (root / "long.txt").write_text(before.replace("\n", " changed\n"))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        project = f"/projects/{driver.project_id}/git"
        with watched_loop():
            page = await driver.session_call("GET", "/changes?since=head&limit=100")
            assert page["total"] > FILES
            status = await driver.call("GET", f"{project}/status?limit=100")
            assert status["counts"]["unstaged"] > FILES
            difference = await driver.call("GET", f"{project}/diff?path=long.txt")
            assert sum(len(hunk["lines"]) for hunk in difference["hunks"]) == 2 * LINES
            listing = f"/projects/{driver.project_id}/files?depth=9&limit=100"
            async with asyncio.timeout(60):
                # On a busy machine git answers later; each request waits for it.
                while (files := await driver.call("GET", listing))["git"]["state"] == "pending":
                    pass
            assert files["total"] > FILES


async def test_large_files_that_are_gone_are_not_in_memory_together(
    tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    size, number = 2 * 1024 * 1024, 20
    monkeypatch.setattr("app.harness.changes.counting.PORTION_BYTES", size)
    root = repository(write_project(tmp_path / "repo", YAML))
    for at in range(number):
        (root / f"large{at}.txt").write_bytes(b"%d\n" % at + b"." * (size - 100))
    git(root, "add", "."), git(root, "commit", "-qm", "large")
    for at in range(number):
        (root / f"large{at}.txt").unlink()
        (root / f"other{at}.txt").write_bytes(os.urandom(size))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        tracemalloc.start()
        try:
            page = await driver.session_call("GET", "/changes?since=head&limit=100")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    found = {one["path"]: one for one in page["items"]}
    assert [found["large7.txt"][key] for key in ("status", "additions", "deletions")] == ["deleted", 0, 2]
    assert found["other7.txt"]["binary"]
    assert peak < 10 * size, peak
