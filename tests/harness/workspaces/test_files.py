"""Clients see the files of a session where it works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon import running_daemon
from tests.driver.file_reader import FileReader, reason
from tests.driver.sessions import driven
from tests.driver.workspaces import new_workplace

pytestmark = [pytest.mark.requirement("workspace.roots"), pytest.mark.requirement("http.files")]


async def test_the_files_of_a_session_are_those_of_its_workspace(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        files = FileReader(driver.client, driver.project_id)
        place = await new_workplace(driver.client, driver.project_id)
        own = {"session_id": place.session_id}
        assert await files.names("newword", **own) == await files.names("newword") == []
        before = await files.entries("src", **own)
        assert list(before) == list(await files.entries("src")) == ["src/shop.py"]
        assert before["src/shop.py"]["git"] is None

        (place.root / "src" / "new_word.py").write_text("new = 1\n")
        (place.root / "src" / "shop.py").write_text("changed\n")
        (project_root / "src" / "theirs.py").write_text("theirs = 1\n")

        found = await files.entries("src", **own)
        letters = {path: one["git"] for path, one in found.items()}
        assert letters == {"src/new_word.py": "untracked", "src/shop.py": "modified"}
        assert (await files.page("src", **own))["git"]["branch"] == place.workspace["branch"]
        shared = {path: one["git"] for path, one in (await files.entries("src")).items()}
        assert shared == {"src/shop.py": None, "src/theirs.py": "untracked"}
        assert (await files.page("src"))["git"]["branch"] == "main"

        await files.names_become("newword", ["src/new_word.py"], **own)
        await files.names_become("theirs", ["src/theirs.py"])
        assert await files.names("newword") == await files.names("theirs", **own) == []
        assert (await files.content("src/new_word.py", **own)).text == "new = 1\n"
        text = await driver.client.get(f"{files.at}/text", params={"path": "src/shop.py", **own})
        assert text.json()["lines"] == ["changed"]
        assert reason(await files.content("src/new_word.py")) == (404, "file_not_found")
        assert reason(await files.content("src/theirs.py", **own)) == (404, "file_not_found")

        await place.post("keep")
        await place.until_removed()
        assert reason(await files.content("src/shop.py", **own)) == (409, "workspace_removed")
        assert (await files.content("src/shop.py")).text.startswith("line 1\n")


async def test_changes_and_files_of_a_workspace_are_there_right_after_a_restart(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        place = await new_workplace(driver.client, driver.project_id)
        (place.root / "src" / "new_word.py").write_text("new = 1\n")
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        files = FileReader(client, place.workspace["project_id"])
        assert (await files.content("src/new_word.py", session_id=place.session_id)).text == "new = 1\n"
        changes = await client.get(f"/api/v1/sessions/{place.session_id}/changes?since=head")
        assert changes.status_code == 200, changes.text
        assert [one["path"] for one in changes.json()["items"]] == ["src/new_word.py"]
