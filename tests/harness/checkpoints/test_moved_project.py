"""A project whose folder was moved takes back its files as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.sessions import Driver
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_files import at as at
from tests.harness.checkpoints.test_files import read, root, work, write

__all__ = ["at", "root"]


@pytest.mark.requirement("operations.move")
async def test_files_are_taken_back_to_what_was_noted_before_the_project_was_moved(
    at: Driver, fake: FakeProvider, root: Path, tmp_path: Path
) -> None:
    message = await work(at, fake, "Change it", (read("a.txt"),), (write("a.txt", "changed\n"),))
    (root / "loose.txt").write_text("changed, and nowhere else\n")
    later = await work(at, fake, "Change it more", (read("loose.txt"),), (write("loose.txt", "lost\n"),))
    moved = tmp_path / "moved"
    root.rename(moved)
    answer = await at.call("POST", f"/projects/{at.project_id}/move", {"path": str(moved)})
    assert (answer["root"], answer["trust"]["state"]) == (str(moved), "trusted")
    await at.session_call("POST", "/rollback", {"message_id": later, "files": True})
    assert (moved / "loose.txt").read_text() == "changed, and nowhere else\n"
    await at.session_call("POST", "/rollback", {"message_id": message, "files": True})
    assert (moved / "a.txt").read_text() == "a, first\n"
    assert not root.exists()
