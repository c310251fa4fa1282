"""Projects with plugins: real packages in the project's folder, real processes.

Owns: writing the packages and the project file, and reading what the plugins were told. Never: a plugin's
own behaviour (`tests/fakes`).
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.driver.sessions import WAIT_SECONDS, Driver, write_project

FAKES = Path(__file__).parents[2] / "fakes"
TOOL: dict[str, Any] = {
    "description": "Does something.",
    "parameters_schema": {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "additionalProperties": False,
    },
}

AUDITED = tuple[str, str, str]


class PluggedProject:
    """A project whose agents declare plugins. Call `write` when all are added."""

    def __init__(self, root: Path) -> None:
        self.root = write_project(root)
        self.primary: dict[str, Any] = {
            "model": "main",
            "system_prompt": "project:/prompts/primary.md",
            "cage": "disabled",
            "tools": {"file.*": {"enabled": True}},
            "tools_loading": "eager",
            "plugins": {},
        }

    def recording(
        self,
        name: str,
        *,
        hooks: str = "",
        tools: str = "",
        config: dict[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Write a recording plugin and return its declaration. `more` is for the manifest."""
        folder = self.root / "plugins" / name
        folder.mkdir(parents=True)
        shutil.copy(FAKES / "recording_plugin.py", folder / "plugin.py")
        listed = hooks.split(",") if hooks else []
        own = [{"name": tool, **TOOL} for tool in tools.split(",") if tool]
        command = [sys.executable, "plugin.py", name, ",".join(listed) or "none", *([tools] if tools else [])]
        self.manifest(name, command=command, hooks=listed, tools=own, **more)
        return self.declared(name, config)

    def script(self, name: str, source: str, **more: Any) -> dict[str, Any]:
        """Write a plugin of a few lines with the SDK and return its declaration."""
        folder = self.root / "plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.py").write_text(source)
        self.manifest(name, command=[sys.executable, "-m", "app.plugins.sdk", "plugin.py"], **more)
        return self.declared(name)

    def hostile(self, name: str, *arguments: str, **more: Any) -> dict[str, Any]:
        """Write a plugin that misbehaves as the arguments say, and return its declaration."""
        folder = self.root / "plugins" / name
        folder.mkdir(parents=True)
        shutil.copy(FAKES / "hostile_plugin.py", folder / "plugin.py")
        said: dict[str, Any] = {
            "command": [sys.executable, "-I", "-S", "plugin.py", str(folder / "log"), *arguments],
            "hooks": ["on_session_start", "pre_compact"],
            "tools": [{"name": "harm", "description": "x", "parameters_schema": {"type": "object"}}],
            "shutdown_timeout_sec": 1,
        }
        self.manifest(name, **{**said, **more})
        return self.declared(name)

    def manifest(self, name: str, **said: Any) -> None:
        whole = {
            "name": name,
            "version": "1.0.0",
            "kaged_api": 1,
            "description": "A plugin for tests",
            "config_schema": {"type": "object"},
            "hook_timeout_sec": 60,  # to begin is part of the first hook, and slow on a busy machine
            **said,
        }
        # What it has seen it writes down beside its program, where tests find it.
        own = f"write:fs:{self.root / 'plugins' / name}"
        whole["capabilities"] = [*whole.get("capabilities", ()), own]
        (self.root / "plugins" / name / "kaged-plugin.yaml").write_text(json.dumps(whole, ensure_ascii=False))

    def edit_manifest(self, name: str, **said: Any) -> None:
        """Say something else in a manifest that is there."""
        file = self.root / "plugins" / name / "kaged-plugin.yaml"
        file.write_text(json.dumps({**json.loads(file.read_text()), **said}, ensure_ascii=False))

    def declared(self, name: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"package": f"./plugins/{name}", "config": config or {}}

    def write(self) -> Path:
        """Write the project file and return the project's folder."""
        document = {"version": 1, "project": "shop", "primary": self.primary}
        (self.root / ".kaged" / "project.yaml").write_text(json.dumps(document, ensure_ascii=False))
        return self.root

    def calls(self, name: str, hook: str | None = None) -> list[dict[str, Any]]:
        """Return what a recording plugin was told, all of it or of one hook or tool."""
        file = self.root / "plugins" / name / "calls.jsonl"
        written = file.read_text() if file.exists() else ""
        lines = written[: written.rfind("\n") + 1].splitlines()  # the last one may just be being written
        return [call for call in map(json.loads, lines) if hook in (None, call["name"])]


async def until(condition: Callable[[], Any], seconds: float = WAIT_SECONDS) -> None:
    """Wait until a condition holds that nothing tells of."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def audited(driver: Driver, event: str, count: int = 1) -> list[dict[str, Any]]:
    """Return the audit rows of the session with that event, oldest first, once there are so many."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            page = await driver.call("GET", f"/audit?event={event}&session_id={driver.session_id}&limit=100")
            if len(page["items"]) >= count:
                return list(reversed(page["items"]))
            await asyncio.sleep(0.02)


def system_of(body: dict[str, Any]) -> str:
    """Return the system prompt in a request on OpenAI's wire, without the environment, which ends it."""
    message = body["messages"][0]
    assert message["role"] == "system"
    text, _, environment = str(message["content"]).partition("\n\n<environment>")
    assert environment.endswith("</environment>")
    return text
