"""Putting a question to a person from within a tool.

Owns: the fixed refusal where nobody can be asked. Never: storing, showing or checking; the harness does.
"""

from __future__ import annotations

from typing import Any

from app.errors import ToolError
from app.tools.call import ToolCallContext
from app.tools.ports import HumanQuestion, QuestionKind

HEADLESS = (
    "Nobody can be asked in this session. Go on with your best guess, and say in your answer what you "
    "have assumed."
)


async def ask_human(context: ToolCallContext, kind: QuestionKind, request: dict[str, Any]) -> dict[str, Any]:
    """Return what a person answers, in the shape of the kind.

    Raises ToolError `nobody_to_ask` in a headless session, and `CallWaits` where the run does not wait
    for the answer."""
    if context.headless:
        raise ToolError("nobody_to_ask", HEADLESS)
    return await context.ports.ask(HumanQuestion(kind, request))
