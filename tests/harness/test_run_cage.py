"""The cage of a run: what it grants of the project's plugins and prompts, and of links to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cages.cage import Cage
from app.cages.file_grants import FileGrants
from app.harness.projects.run_cage import _links, cage_of
from tests.driver.project_files import compiled

pytestmark = pytest.mark.requirement("cages.where.plugins", "cages.policy.protected")
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


LINKED = """
version: 1
project: notes
primary:
  model: smart
  system_prompt: prompts/primary.md
  cage: disabled
  subagents:
    coder:
      description: Writes code.
      model: smart
      system_prompt: prompts/primary.md
      cage: {fs: [{mode: rw, path: .}, {mode: ro, path: shut}]}
"""


@pytest.mark.requirement("security.declared_files")
def test_links_on_the_way_to_a_prompt_are_guarded_and_what_else_they_lead_to_is_not(tmp_path: Path) -> None:
    root = tmp_path / "project"
    for folder in ("texts/v1", "shut"):
        (root / folder).mkdir(parents=True)
    (root / "prompts").symlink_to("shut/texts")
    (root / "shut" / "texts").symlink_to(root / "texts" / "newest")
    (root / "texts" / "newest").symlink_to("../texts/v1")
    project = compiled(root, LINKED).require()
    agent = project.agent("primary.subagents.coder")
    assert agent is not None
    cage = cage_of(project, agent, root)
    assert cage is not None
    assert (root / "texts/v1/primary.md").is_file()
    assert cage["guarded"] == ["prompts/primary.md", "texts/v1/primary.md"]
    assert cage["guarded_links"] == ["prompts", "texts/newest"]
    held = Cage.of_agent(cage, root, state_folder=tmp_path)
    assert {root / "prompts", root / "prompts/primary.md"} <= set(held.guarded)
    granted = FileGrants.of(cage["fs"], root)
    assert granted.mode(("texts", "v1", "primary.md")) == "ro"
    assert granted.mode(("texts", "v1", "new.md")) == granted.mode(("prompts", "new.md")) == "rw"


def test_a_link_that_leads_to_itself_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert set(_links(tmp_path, "a/prompt.md")) == {("a",), ("b",)}
