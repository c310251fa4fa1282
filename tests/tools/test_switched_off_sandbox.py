"""Where the operator has switched the sandbox off, a caged agent's tools keep to its cage all the same."""

from __future__ import annotations

import pytest

from app.bridges.sandbox.tier_search import SWITCHED_OFF
from tests.driver.caged_machine import caged_machine

pytestmark = pytest.mark.requirement("cages.kernel.off")


async def test_paths_and_capabilities_hold_without_the_sandbox(desk):
    (desk.base / "outside.txt").write_text("canary")
    for path in ("src/a.txt", "docs/b.txt", "secret/c.txt"):
        desk.put(path, "words\n")
    async with caged_machine(desk, SWITCHED_OFF) as machine:
        caged = machine.desk.caged(("rw", "src"), ("ro", "docs"))
        assert (await caged.ok("file.read", path="src/a.txt"))["content"] == "1: words"
        await caged.ok("file.write", path="src/new.txt", content="x")
        refused = [
            await caged.call("file.read", path="secret/c.txt"),
            await caged.call("file.read", path="../outside.txt"),
            await caged.call("file.read", path=str(desk.base / "outside.txt")),
            await caged.call("file.write", path="docs/b.txt", content="x", overwrite=True),
            await caged.call("file.write", path="src/.vscode/tasks.json", content="x"),
            await caged.call("shell.bash", command="echo ran"),
        ]
    assert all(envelope.is_error for envelope in refused)
    assert "canary" not in str(refused)
    assert refused[-1].code == "capability_denied"
    assert not (desk.root / "src" / ".vscode").exists()
    assert (desk.root / "docs" / "b.txt").read_text() == "words\n"


async def test_a_command_that_is_allowed_runs_with_the_daemons_rights(desk):
    async with caged_machine(desk, SWITCHED_OFF) as machine:
        caged = machine.desk.caged(("rw", "."), capabilities=["shell"])
        told = await caged.ok("shell.bash", command=f"echo x > {desk.base}/made && echo done")
    assert told["stdout"].strip() == "done"
    assert (desk.base / "made").read_text() == "x\n"
