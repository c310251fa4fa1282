"""Everything of a session takes its files from its root: the project's folder, or that of a workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_files import rolled_back, staged, work, write
from tests.harness.hooks.hooked import hook, uncaged, write_hooked
from tests.harness.workspaces.placing import BRANCH, PORT, Pair, called, committed, paired, refused, whole

pytestmark = pytest.mark.requirement("workspace.roots")

YAML = (
    PROJECT_YAML
    + """\
    "search.*": { enabled: true }
    "shell.*": { enabled: true }
    "project.recipe": { enabled: true }
  subagents:
    helper:
      model: main
      description: Helps.
      system_prompt: project:/prompts/helper.md
      cage: disabled
      tools:
        "file.*": { enabled: true }
"""
)
FILES = {
    "prompts/helper.md": "You help in the shop.\n",
    "AGENTS.md": "The rules of the shop.\n",
    "price.txt": "price 1\n",
    "Makefile": "where:\n\t@pwd\n",
}


@pytest.fixture
async def pair(tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider) -> AsyncIterator[Pair]:
    project = committed(write_project(tmp_path / "shop", YAML), FILES)
    async with paired(tmp_path / "data", project, **settings_overrides) as found:
        yield found


async def test_two_sessions_edit_one_file_and_neither_sees_the_others_content(pair: Pair) -> None:
    for driver, text in ((pair.own, "price 2\n"), (pair.shared, "price 3\n")):
        # What the other session has read counts for its own root only.
        assert await refused(driver, "file.write", path="price.txt", content="unread") == "file_not_read"
        assert (await called(driver, "file.read", path="price.txt"))["content"] == "1: price 1"
        await called(driver, "file.write", path="price.txt", content=text)
    assert (pair.project / "price.txt").read_text() == "price 3\n"
    assert (pair.tree / "price.txt").read_text() == "price 2\n"
    await called(pair.own, "file.create", path="new.txt", content="of the workspace\n")
    assert await refused(pair.shared, "file.read", path="new.txt") == "file_not_found"
    found = await called(pair.own, "search.grep", pattern="price [0-9]", output_mode="content")
    assert [match["content"] for match in found["matches"]] == ["price 2"]
    found = await called(pair.shared, "search.grep", pattern="price [0-9]", output_mode="content")
    assert [match["content"] for match in found["matches"]] == ["price 3"]
    for _ in range(2):  # the second time from a kept list
        assert "./new.txt" in (await called(pair.own, "search.glob", pattern="*.txt"))["files"]
        assert "./new.txt" not in (await called(pair.shared, "search.glob", pattern="*.txt"))["files"]


async def test_no_tool_of_a_session_takes_a_path_of_the_other_root(pair: Pair) -> None:
    for driver, other in ((pair.own, pair.project), (pair.shared, pair.tree)):
        before = whole(other)
        for tool, params in (
            ("file.read", {"path": str(other / "price.txt")}),
            ("file.create", {"path": str(other / "made.txt"), "content": "x"}),
            ("search.grep", {"pattern": "price", "path": str(other)}),
        ):
            assert await refused(driver, tool, **params) == "invalid_path", (tool, params)
        link = (pair.tree if driver is pair.own else pair.project) / "link.txt"
        link.symlink_to(other / "price.txt")
        assert await refused(driver, "file.read", path="link.txt") == "invalid_path"
        link.unlink()
        assert whole(other) == before
    # The rest of the daemon's folder is closed, although the workspace lies in it.
    assert await refused(pair.own, "file.read", path="../../../../token") == "invalid_path"
    (pair.tree / "out").symlink_to(pair.data)
    assert await refused(pair.own, "file.read", path="out/token") == "invalid_path"
    assert await refused(pair.own, "shell.bash", command="cat ../../../../token") == "watchdog_denied"
    assert await refused(pair.shared, "shell.bash", command=f"ls {pair.tree}") == "watchdog_denied"


async def test_commands_run_in_the_workspace_and_know_it(pair: Pair) -> None:
    said = await pair.says(pair.own, 'pwd; echo "$KAGED_WORKSPACE $KAGED_WORKSPACE_PORT"')
    assert said.split() == [str(pair.tree), str(pair.tree), str(PORT)]
    said = await pair.says(pair.shared, 'pwd; echo "$KAGED_WORKSPACE [$KAGED_WORKSPACE_PORT]"')
    assert said.split() == [str(pair.project), str(pair.project), "[]"]
    assert (await called(pair.own, "project.recipe", op="where"))["stdout"].strip() == str(pair.tree)
    assert (await called(pair.shared, "project.recipe", op="where"))["stdout"].strip() == str(pair.project)
    said = await pair.says(
        pair.own, "mkdir -p a/b && cd a/b && cat ../../price.txt && git -C . status -s ../.."
    )
    assert said.splitlines()[0] == "price 1"
    assert await refused(pair.own, "shell.bash", command="cd a/b && ls ../../..") == "watchdog_denied"
    await pair.says(pair.own, "(sleep 0.1; pwd > background.txt) & wait")
    assert (pair.tree / "background.txt").read_text().strip() == str(pair.tree)
    assert not (pair.project / "background.txt").exists()


async def test_agents_read_the_workspace_and_are_steered_by_the_project(
    pair: Pair, fake: FakeProvider
) -> None:
    (pair.tree / "AGENTS.md").write_text("The rules of the branch.\n")
    (pair.tree / "prompts" / "primary.md").write_text("You own the shop.\n")
    steering = pair.tree / ".kaged" / "project.yaml"
    steering.write_text(steering.read_text().replace("cage: disabled", "cage: {}"))
    fake.script(
        Reply((ToolCall("agent-helper", {"task": "Write."}, id="c1"),)),
        Reply((ToolCall("file_create", {"path": "helped.txt", "content": "by the helper\n"}, id="c2"),)),
        text_reply("Written."),
        text_reply("Done."),
    )
    watch = await pair.own.run("Go")
    assert [f["payload"]["isError"] for f in watch.of("message.tool_result")] == [False, False]
    assert (pair.tree / "helped.txt").read_text() == "by the helper\n"
    assert not (pair.project / "helped.txt").exists()
    system = json.dumps([one.json["messages"][0] for one in fake.requests])
    assert "You keep the shop." in system and "You own the shop." not in system
    assert "The rules of the branch." in system and "The rules of the shop." not in system
    first, helpers = (fake.requests[at].json["messages"][0]["content"] for at in (0, 1))
    for text in (first, helpers):
        assert f"Working directory: {pair.tree}\n" in text and "Project: shop\n" in text
        (line,) = [one for one in text.splitlines() if one.startswith("Workspace: ")]
        assert f"branch {BRANCH}" in line and "the newest commit" in line and "the operator merges" in line
    fake.script(text_reply("Hello."))
    await pair.shared.run("Go")
    assert "Workspace: " not in json.dumps(fake.requests[-1].json["messages"][0])


async def test_a_rollback_restores_the_workspace_and_leaves_the_project_alone(
    pair: Pair, fake: FakeProvider
) -> None:
    before = whole(pair.project)
    await work(pair.own, fake, "First", (ToolCall("file_read", {"path": "price.txt"}, id="r"),))
    second = await work(pair.own, fake, "Second", (write("price.txt", "price 9\n"),))
    (pair.project / "price.txt").write_text("of the operator\n")
    plan = await staged(pair.own, second)
    assert [one["path"] for one in plan["restored"]] == ["price.txt"]
    await rolled_back(pair.own, second)
    assert (pair.tree / "price.txt").read_text() == "price 1\n"
    assert (pair.project / "price.txt").read_text() == "of the operator\n"
    (pair.project / "price.txt").write_text("price 1\n")
    assert whole(pair.project) == before


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(hook("caged", 'sh "$KAGED_PROJECT_DIR/check.sh"'), marks=pytest.mark.needs("cages")),
        uncaged("named", ["./check.sh"]),
    ],
    ids=lambda one: one["name"],
)
async def test_a_hook_runs_in_the_workspace_with_the_script_of_the_project(
    one: dict[str, Any], tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    project = write_hooked(tmp_path / "shop", before_tool=[one])
    script = '#!/bin/sh\ngrep -q "price 2" price.txt && test "$PWD" = "$KAGED_WORKSPACE" && exit 2\nexit 0\n'
    committed(project, {"price.txt": "price 1\n", "check.sh": script})
    (project / "check.sh").chmod(0o755)
    async with paired(tmp_path / "data", project, **settings_overrides) as pair:
        (pair.tree / "price.txt").write_text("price 2\n")
        (pair.tree / "check.sh").write_text("#!/bin/sh\nexit 0\n")  # what an agent writes decides nothing
        (pair.tree / "check.sh").chmod(0o755)
        assert await refused(pair.own, "file.read", path="price.txt") == "hook_denied"
        assert (await called(pair.shared, "file.read", path="price.txt"))["content"] == "1: price 1"
