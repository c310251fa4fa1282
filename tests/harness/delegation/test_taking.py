"""Bounds of what subagents do in workspaces: what somebody saves stays, what a cage hides is not named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.harness.workspaces import children, taking
from tests.driver.family import Cast, agent, calling, enabled, write_family
from tests.driver.sessions import driven
from tests.driver.workspaces import git
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.test_workspaces import changes, child, edit, results, works, workspaces

pytestmark = [pytest.mark.requirement("workspaces.subagents"), pytest.mark.needs("cages")]


def write_project(root: Path, cage: dict[str, Any] | None = None, **files: str) -> Path:
    """Write a family of which `a` has a workspace of its own, in a repository with these files."""
    tools = enabled("file.*", "edit.*", "shell.bash")
    primary = agent(
        "primary",
        tools=enabled("file.*", "edit.*", "task", "kaged.changes"),
        subagents={"a": child("a", tools=tools)},
        **({} if cage is None else {"cage": cage}),
    )
    write_family(root, primary)
    for name, text in files.items():
        (root / f"{name}.txt").write_text(text)
    git(root, "init", "-q", "-b", "main"), git(root, "add", "-A"), git(root, "commit", "-qm", "first")
    return root


async def test_what_is_saved_while_git_merges_stays(
    cast: Cast, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "family", edited="one\n", gone="going\n", other="other\n")
    saved = {"edited.txt": "the operator's\n", "gone.txt": "still needed\n", "new.txt": "a note\n"}
    real, times = taking.join, 0

    async def join(*sides: Any) -> Any:
        nonlocal times
        times += 1
        if times == 1:
            for name, text in saved.items():
                (root / name).write_text(text)
        return await real(*sides)

    monkeypatch.setattr(taking, "join", join)
    works(
        cast,
        "a",
        *edit("one\n", "two\n", "edited.txt"),
        *edit("other\n", "another\n", "other.txt"),
        ("shell_bash", {"command": "rm gone.txt; echo new > new.txt"}),
    )
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"})),
        changes("apply", of="a"),
        changes("apply", of="a", paths=["other.txt"]),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Go")
        refused, applied = (await results(driver))[1:]
    assert "changes_not_taken" in refused and "apply again" in refused
    assert all(f"{name}: it was changed here" in refused for name in saved) and "other.txt:" not in refused
    assert {name: (root / name).read_text() for name in saved} == saved
    assert '"applied":["other.txt"]' in applied and (root / "other.txt").read_text() == "another\n"


async def test_what_the_cage_of_the_caller_hides_is_not_named(
    cast: Cast, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    cage = {"fs": [{"mode": "rw", "path": "."}, {"mode": "deny", "path": "secret"}]}
    root = write_project(tmp_path / "family", cage, shown="shown\n")
    works(cast, "a", *edit("shown\n", "two\n", "shown.txt"))
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"})),
        text_reply("It is done."),
        changes("list"),
        changes("diff", of="a"),
        changes("apply", of="a", paths=["secret"]),
        changes("apply", of="a"),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Go")
        (place,) = await workspaces(driver)
        hidden = Path(place["root"], "secret", "key.txt")
        hidden.parent.mkdir()
        hidden.write_text("k\n")
        await driver.run("Take it")
        listed, diff, unknown, applied = (await results(driver))[1:]
    assert "shown.txt" in listed and "+two" in diff and "changes_not_found" in unknown
    assert not any("key" in said for said in (listed, diff, unknown, applied))
    assert '"applied":["shown.txt"]' in applied and not (root / "secret").exists()


async def test_a_session_has_no_more_workspaces_than_it_may(
    cast: Cast, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "MAX_OF_SESSION", 1)
    root = write_project(tmp_path / "family")
    new = ("file_create", {"path": "new.txt", "content": "new\n"})
    cast.script("a", calling(new), text_reply("a is done."), calling(new), text_reply("a is done."))
    cast.script(
        "primary",
        calling(("agent-a", {"task": "x"})),
        calling(("agent-a", {"task": "x"})),
        changes("discard", of="a"),
        calling(("agent-a", {"task": "x"})),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Go")
        first, refused, _, third = await results(driver)
    assert '"changed":1' in first and '"changed":1' in third
    assert "have 1 workspaces, and may have no more: apply or discard" in refused
