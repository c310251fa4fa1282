"""A repository that belongs to another user: what the agent does in it can be undone as in one's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.driver.machine import need
from tests.driver.sessions import driven, write_project
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_files import YAML, create, read, repository, rolled_back, work, write

OTHER = 12345


@pytest.mark.requirement("image.any_user")
@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_files_in_a_repository_of_another_user_are_restored(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], mode: str
) -> None:
    need("root")
    root = repository(write_project(tmp_path / "repo", YAML))
    for path in (root, *root.rglob("*")):
        os.chown(path, OTHER, OTHER, follow_symlinks=False)
    async with driven(tmp_path / "data", root, **settings_overrides, sandbox={"mode": mode}) as driver:
        message = await work(
            driver,
            fake,
            "Change",
            (read("a.txt"),),
            (write("a.txt", "changed\n"), create("new.txt", "new\n")),
        )
        await rolled_back(driver, message)
    assert (root / "a.txt").read_text() == "a, first\n"
    assert not (root / "new.txt").exists()
