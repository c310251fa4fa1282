"""The setup of a subagent's workspace: it runs what agents wrote, so it may do what the subagent may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.cages.cage import Cage, Mount
from app.harness.workspaces.running import CommandPlace, cage_at
from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.workspaces import git
from tests.fakes.provider_script import text_reply
from tests.harness.delegation.conftest import Drive

pytestmark = pytest.mark.requirement("workspaces.subagents")

SCRIPT = "cat secret.txt; echo no > kept.txt; echo sk-test-secret; echo ran > ran.txt\n"
CAGE = {
    "fs": [
        {"mode": "rw", "path": "."},
        {"mode": "deny", "path": "secret.txt"},
        {"mode": "ro", "path": "kept.txt"},
    ]
}
ASKS = [{"permission": "shell.bash", "pattern": "*", "action": "ask"}]


def child(name: str, tools: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return agent(name, workspace="worktree", tools=enabled(*tools, "file.write"), **more)


CHILDREN = {
    "caged": child("caged", ("shell.bash",), cage={**CAGE, "capabilities": ["shell"]}),
    "held": child("held", ("shell.bash",), cage=CAGE),
    "asks": child("asks", ("shell.bash",), permissions=ASKS),
    "plain": child("plain", ()),
    "free": child("free", ("shell.bash",)),
}


@pytest.mark.needs("cages")
async def test_the_setup_of_a_subagents_workspace_may_do_what_the_subagent_may(
    drive: Drive, cast: Cast, tmp_path: Path
) -> None:
    write = {"path": "setup.sh", "content": SCRIPT}
    cast.script(
        "primary",
        calling(("file_write", write)),
        calling(*((f"agent-{name}", {"task": "x"}) for name in CHILDREN)),
        text_reply("Done."),
    )
    for name in CHILDREN:  # so that its workspace stays
        cast.script(
            name, calling(("file_write", {"path": "done.txt", "content": "done\n"})), text_reply("Done.")
        )
    primary = agent("primary", tools=enabled("file.write"), subagents=CHILDREN)
    async with drive(primary, project={"workspace": {"setup": "sh setup.sh"}}) as driver:
        root = tmp_path / "family"
        (root / "secret.txt").write_text("hidden\n"), (root / "kept.txt").write_text("kept\n")
        git(root, "init", "-q"), git(root, "add", "-A"), git(root, "commit", "-qm", "first")
        await driver.run("Go")
        items = (await driver.call("GET", f"/projects/{driver.project_id}/workspaces"))["items"]
        found = {
            one["agent_path"].rpartition(".")[2]: await driver.call("GET", f"/workspaces/{one['id']}")
            for one in items
        }
    assert found.keys() == CHILDREN.keys()
    ran = {name for name, one in found.items() if Path(one["root"], "ran.txt").exists()}
    assert ran == {"caged", "free"}, {name: one["detail"] for name, one in found.items()}
    why = {"held": "capability shell", "asks": "shell.bash", "plain": "does not have the tool shell.bash"}
    for name, words in why.items():
        detail = found[name]["detail"]
        assert "`setup` was not run" in detail and words in detail and "can be run later" in detail, detail
        assert found[name]["setup_log"] is None
    assert "hidden" in found["free"]["setup_log"] and "hidden" not in found["caged"]["setup_log"]
    assert Path(found["caged"]["root"], "kept.txt").read_text() == "kept\n"
    assert Path(found["free"]["root"], "kept.txt").read_text() == "no\n"
    assert not any("sk-test-secret" in (one["setup_log"] or "") for one in found.values())


def test_a_command_that_is_held_to_a_cage_reaches_the_registries_that_this_one_allows(tmp_path: Path) -> None:
    held = Cage((Mount(tmp_path, "rw"),), net=("registry.npmjs.org:443", "*.example.org"), env={"A": "1"})
    registries = ("pypi.org:443", "registry.npmjs.org:443")
    place = CommandPlace("wks", tmp_path, tmp_path, (), {"B": "2"}, tmp_path, held)
    found = cage_at(place, [Path("/closed")], registries)
    assert (found.mounts, found.net) == (held.mounts, ("registry.npmjs.org:443",))
    assert found.env == {"A": "1", "B": "2"}
    own = cage_at(CommandPlace("wks", tmp_path, tmp_path, (), {}, tmp_path), [Path("/closed")], registries)
    assert own.net == registries and Mount(Path("/closed"), "deny") in own.mounts
