"""A desk whose edits are followed by what language servers say, as those of agents are."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import Declarations, Declared, ServerLimits
from app.tools.after_edit.edit_feedback import EditFeedback, FeedbackLimits
from app.tools.contract.call import ModelStep, ToolEnvelope
from app.tools.dispatch.service import ToolService
from tests.driver.language_servers import ROOT
from tests.tools.code.conftest import CodeDesk, code_desk

HOSTILE = ROOT / "tests" / "fakes" / "hostile_language_server.py"
PATIENT = FeedbackLimits(before=30.0, before_beside=30.0, after=30.0, late=60.0)
"""For what is shown of servers that answer, on machines however slow."""
HASTY = FeedbackLimits(before=0.3, before_beside=0.1, after=0.5)
"""So that a server need not be slow for long to be late."""


@dataclass
class EditDesk(CodeDesk):
    """`log` is what the hostile server writes."""

    feedback: EditFeedback = field(kw_only=True)
    log: Path = field(kw_only=True)

    async def write(self, path: str, content: str) -> ToolEnvelope:
        return await self.call("file.write", path=path, content=content)

    async def known(self, path: str, content: str) -> None:
        """Put a file, and have the agent know it."""
        self.put(path, content)
        await self.ok("file.read", path=path)

    async def running(self, path: str) -> None:
        """Have the server of a file running, and the file known to it."""
        await self.lsp("diagnostics", path=path)

    async def note(self) -> str | None:
        return await self.feedback.note(self.context.session_id, self.context.agent_path)

    def received(self, method: str) -> list[dict[str, Any]]:
        whole = self.log.read_text().rpartition("\n")[0]  # it may be writing the next line
        events = [json.loads(line) for line in whole.splitlines()]
        messages = [one["message"] for one in events if one["event"] == "received"]
        return [one for one in messages if one.get("method") == method]

    def at_step(self, step: int) -> EditDesk:
        return replace(self, context=replace(self.context, step=ModelStep(step)))


@asynccontextmanager
async def edit_desk(
    base: Path, *behaviour: str, enabled: bool = True, wait: FeedbackLimits = PATIENT
) -> AsyncIterator[EditDesk]:
    """Open a desk where `.hos` files belong to the hostile server, with this behaviour."""
    log = base / "hostile.log"
    command = (sys.executable, str(HOSTILE), "--log", str(log), *behaviour)
    declared = Declared(language="hostile", command=command, extensions=(".hos",))
    limits = ServerLimits(back_off=(0.01, 0.01))
    async with code_desk(base, limits=limits, declarations=Declarations(project=(declared,))) as desk:
        feedback = EditFeedback(desk.languages, enabled=lambda _: enabled, limits=wait)
        service = ToolService(desk.service.registry, after_edit=feedback)
        values = {name: getattr(desk, name) for name in desk.__dataclass_fields__}
        try:
            yield EditDesk(**{**values, "service": service}, feedback=feedback, log=log)
        finally:
            await feedback.aclose()


def told(envelope: ToolEnvelope) -> dict[str, Any] | None:
    """Return what the answer says of the errors after the edit."""
    assert envelope.type == "output", envelope.model_text()
    found: dict[str, Any] | None = envelope.as_json()["metadata"].get("diagnostics_after_edit")
    return found
