"""A project with workflows, and a driver that starts them and waits for what becomes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.driver.sessions import WAIT_SECONDS, Driver, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall

WORKFLOWS_YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools:
    "file.*": { enabled: true }
    "lab.*": { enabled: true }
    task: { enabled: true }
  subagents:
    helper:
      model: main
      description: Helps.
      system_prompt: project:/prompts/primary.md
      cage: disabled
      tools: { file.read: { enabled: true } }
workflows:
  repair:
    description: Repair what is broken.
    system_prompt: project:/prompts/repair.md
    inputs:
      area: { type: enum, options: [ui, api], required: true, description: Where it is broken. }
      note: { type: text, max_length: 200 }
      tries: { type: integer, default: 3 }
      share: { type: number }
      dry_run: { type: boolean, default: false }
      page: { type: url }
      title: { type: string }
      log: { type: file }
    tools: [file.read, lab.wait]
    invokable_by: [operator, guest]
  nap:
    description: Wait for a while.
    system_prompt: project:/prompts/repair.md
    tools: [lab.wait, task, "kaged.workflow.*", kaged.issue.get, kaged.ask]
    timeout_seconds: 600
    concurrency: 2
  photo:
    description: Look at a picture.
    system_prompt: project:/prompts/repair.md
    inputs:
      picture: { type: file, required: true }
"""


def write_shop(root: Path, yaml: str = WORKFLOWS_YAML) -> Path:
    write_project(root, yaml)
    (root / "prompts" / "repair.md").write_text("You repair things.\n")
    return root


def waits(name: str) -> Reply:
    """The model calls the tool that waits until the test lets it go."""
    return Reply((ToolCall("lab_wait", {"name": name}, id=f"call_{name}"),))


def says(text: str) -> Reply:
    return Reply((Text(text),))


class Shop(Driver):
    """Drives workflows."""

    async def invoke(
        self, workflow: str, inputs: dict[str, Any] | None = None, *, status: int = 201, **values: Any
    ) -> Any:
        path = f"/projects/{self.project_id}/workflows/{workflow}/invoke"
        return await self.call("POST", path, {"inputs": inputs or {}, **values}, status=status)

    async def run_of(self, run_id: str) -> Any:
        return await self.call("GET", f"/workflow-runs/{run_id}", status=200)

    async def until(self, run_id: str, *states: str, seconds: float = WAIT_SECONDS) -> Any:
        """Return the run once it is in one of the states."""
        async with asyncio.timeout(seconds):
            while (run := await self.run_of(run_id))["state"] not in states:  # noqa: ASYNC110 - over HTTP
                await asyncio.sleep(0.02)
        return run

    async def until_session(self, run_id: str, *states: str, seconds: float = WAIT_SECONDS) -> Any:
        """Return the session of a run once it is in one of the states."""
        async with asyncio.timeout(seconds):
            while True:
                session_id = (await self.run_of(run_id))["session_id"]
                if session_id is not None:
                    session = await self.call("GET", f"/sessions/{session_id}", status=200)
                    if session["state"] in states:
                        return session
                await asyncio.sleep(0.02)

    async def questions(self, session_id: str) -> list[dict[str, Any]]:
        found = await self.call("GET", f"/sessions/{session_id}/interactions")
        items: list[dict[str, Any]] = found["items"]
        return items

    async def audit(self, event: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.call("GET", f"/audit?event={event}"))["items"]
        return found
