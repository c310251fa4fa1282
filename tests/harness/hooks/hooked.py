"""Projects with hooks: a project file with a `hooks` section, and scripts in the project's folder.

Owns: writing both, and reading what hooks were given and what became of them. Never: a hook's own behaviour.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.driver.sessions import Driver, Watch, write_project

READS = {"fs": [{"mode": "ro", "path": "."}]}
WRITES = {"fs": [{"mode": "rw", "path": "."}]}
PRIMARY: dict[str, Any] = {
    "model": "main",
    "system_prompt": "project:/prompts/primary.md",
    "cage": "disabled",
    "tools": {
        "file.*": {"enabled": True},
        "edit.*": {"enabled": True},
        "write": {"enabled": True},
        "shell.bash": {"enabled": True},
    },
}


def hook(name: str, command: str | list[str], **more: Any) -> dict[str, Any]:
    """A hook that has a minute: in a cage even `true` takes seconds on a busy machine."""
    return {"name": name, "command": command, "timeout_seconds": 60, **more}


def uncaged(name: str, command: str | list[str], **more: Any) -> dict[str, Any]:
    """A hook with the daemon's rights, which starts in a moment, where its cage is not the subject."""
    return hook(name, command, cage="disabled", **more)


def for_(permission: str, pattern: str = "*") -> list[dict[str, str]]:
    return [{"permission": permission, "pattern": pattern}]


def write_hooked(root: Path, primary: dict[str, Any] | None = None, **hooks: Any) -> Path:
    """Write a project with hooks by event and return its folder."""
    if not root.exists():
        write_project(root)
    document = {"version": 1, "project": "shop", "primary": primary or PRIMARY, "hooks": hooks}
    (root / ".kaged" / "project.yaml").write_text(json.dumps(document))
    return root


def ended(watch: Watch, name: str | None = None) -> list[dict[str, Any]]:
    """Return the events of hooks that ended, of all or of one."""
    found = [frame["payload"] for frame in watch.of("hook.ended")]
    return [one for one in found if name in (None, one["hook"])]


def result_of(watch: Watch, call_id: str = "c1") -> dict[str, Any]:
    frames = [f["payload"] for f in watch.of("message.tool_result")]
    (found,) = [one for one in frames if one["toolCallId"] == call_id]
    return found


async def audited(driver: Driver, event: str = "hook.ended") -> list[dict[str, Any]]:
    """Return the data of audit rows of an event, oldest first."""
    path = f"/audit?event={event}&session_id={driver.session_id}"
    return [row["data"] for row in (await driver.call("GET", path))["items"][::-1]]
