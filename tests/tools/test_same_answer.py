"""No tool tells a caged caller whether something is there outside of its mounts."""

from __future__ import annotations

import os
from typing import Any

import pytest

from app.tools.contract.rules import PermissionRule

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("file.read", {}),
    ("file.write", {"content": "x"}),
    ("file.create", {"content": "x"}),
    ("edit.text", {"old_string": "canary", "new_string": "x"}),
    ("edit.ast", {"rewrites": {"canary": "x"}, "lang": "python"}),
    ("search.grep", {"pattern": "canary"}),
    ("search.glob", {"pattern": "**"}),
    ("search.ast", {"pattern": "canary", "lang": "python"}),
    ("shell.bash", {"command": "true"}),
]


async def _answers(desk, call: str, more: dict[str, Any]) -> list[str]:
    caged = desk.caged(("rw", "src"), outside="none", capabilities=["shell"])
    said = []
    for path in ("hidden/one", "hidden/two", "hidden/three", "src/link", "src/far/one", "hidden/one/below"):
        name = {"shell.bash": "cwd", "search.ast": "paths"}.get(call, "path")
        envelope = await caged.call(call, {name: [path] if name == "paths" else path, **more})
        said.append(f"{path}: {envelope.type} {envelope.code} {envelope.model_text()}")
    return said


@pytest.mark.requirement("cages.paths.same_answer")
@pytest.mark.parametrize(("call", "more"), CALLS, ids=[name for name, _ in CALLS])
async def test_what_is_hidden_answers_as_what_is_absent(desk, call, more):
    desk.put("src/a.py", "canary = 1\n")
    os.symlink("../hidden/one", desk.root / "src/link")
    os.symlink("../hidden", desk.root / "src/far")
    absent = await _answers(desk, call, more)
    desk.put("hidden/one", "canary = 2\n")
    desk.put("hidden/two/below", "canary = 3\n")
    os.symlink("/etc", desk.root / "hidden/three")
    assert await _answers(desk, call, more) == absent
    assert all(": error capability_denied " in one for one in absent), absent


@pytest.mark.requirement("cages.paths.same_answer")
async def test_rules_about_links_do_not_tell_where_hidden_ones_lead(desk):
    """A rule is about what a path really is; where that is hidden, the cage speaks first."""
    rule = PermissionRule("fs.read", "/etc/**", "deny", "project")
    caged = desk.caged(("rw", "src")).ruled(rule)
    desk.put("src/a.py", "x = 1\n")
    os.symlink("../hidden/one", desk.root / "src/link")
    absent = (await caged.call("file.read", path="src/link")).model_text()
    (desk.root / "hidden").mkdir()
    os.symlink("/etc/hostname", desk.root / "hidden/one")
    assert (await caged.call("file.read", path="src/link")).model_text() == absent
    assert "capability_denied" in absent and "etc" not in absent
    os.symlink("a.py", desk.root / "src/near")
    inside = caged.ruled(PermissionRule("fs.read", "src/a.py", "deny", "project"))
    assert await inside.code("file.read", path="src/near") == "permission_denied"
