"""The cage of a run: what it grants of the folders of the project's plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cages.file_grants import FileGrants
from app.harness.projects.run_cage import cage_of
from tests.harness.dsl.projects import compiled

pytestmark = pytest.mark.requirement("R8.where.plugins", "R8.policy.protected")
PROJECT = """
version: 1
project: notes
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
  plugins:
    notes: {{package: ./plugins/notes}}
    linked: {{package: ./linked}}
    installed: {{package: installed}}
  subagents:
    coder:
      description: Writes code.
      model: smart
      system_prompt: prompts/primary.md
      cage:
        fs: [{fs}]
"""


def grants(tmp_path: Path, *fs: str) -> FileGrants:
    """Return what the coder's run may do with files, whose entries are `mode path`."""
    root = tmp_path / "project"
    for folder in ("plugins/notes/data", "elsewhere"):
        (root / folder).mkdir(parents=True)
    (root / "linked").symlink_to("elsewhere")
    entries = ", ".join("{{mode: {}, path: {}}}".format(*one.split()) for one in fs)
    project = compiled(root, PROJECT.format(fs=entries)).project
    assert project is not None
    assert cage_of(project, project.root, root) is None
    agent = project.agent("primary.subagents.coder")
    assert agent is not None
    cage: dict[str, Any] | None = cage_of(project, agent, root)
    assert cage is not None
    return FileGrants.of(cage["fs"], root)


def test_who_may_write_the_project_may_not_write_its_plugins(tmp_path: Path) -> None:
    granted = grants(tmp_path, "rw .", "rw ./plugins/notes/data")
    assert granted.mode(("src", "main.py")) == "rw"
    assert granted.mode(("plugins", "other")) == "rw"
    for frozen in (("plugins", "notes"), ("plugins", "notes", "data", "x"), ("linked",), ("elsewhere", "x")):
        assert granted.mode(frozen) == "ro", frozen


def test_nothing_is_granted_that_was_not(tmp_path: Path) -> None:
    granted = grants(tmp_path, "rw ./src", "deny ./plugins")
    assert granted.mode(("plugins", "notes")) == "deny"
    assert granted.mode(("elsewhere",)) is None
    assert granted.mode(("src", "a")) == "rw"
