"""Trees in which some files are as changes make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.workspaces.trees import differences, with_sides
from tests.driver.workspaces import git
from tests.harness.workspaces.plain_git import PlainGit

pytestmark = pytest.mark.requirement("workspaces.subagents")


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
async def test_a_file_goes_from_a_tree_whatever_names_the_repository_gives(
    tmp_path: Path, hashes: str
) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    (tmp_path / "a").write_text("a\n"), (tmp_path / "b").write_text("b\n")
    git(tmp_path, "add", "-A"), git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "a").unlink(), (tmp_path / "b").write_text("changed\n")
    git(tmp_path, "add", "-A"), git(tmp_path, "commit", "-qm", "second")
    before, after = git(tmp_path, "rev-parse", "HEAD^^{tree}", "HEAD^{tree}").split()
    folder = PlainGit(tmp_path / ".git")
    changes = await differences(folder, before, after)
    assert [one.status for one in changes] == ["deleted", "modified"]
    assert await with_sides(folder, before, changes) == after
    assert await with_sides(folder, before, changes[:1]) not in (before, after)
