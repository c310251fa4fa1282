"""A tool call of another program's model: who is asked for consent, and for how long.

Owns: the client of such a call, and the question to the operator when the client cannot ask its user. Never:
which calls need consent (`tools.authorisation`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from app.errors import ToolError
from app.harness.projects.permissions import PermissionRules
from app.harness.questions.consent_rows import rejected
from app.harness.questions.queue import Questions
from app.harness.run.journal import Journal
from app.harness.run.scope import Scope
from app.tools.contract.rules import ConsentAnswer, ConsentRequest, PermissionRule

CONSENT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RemoteClient:
    """Who calls. `consent` asks its user, and returns None when it cannot ask. `progress` reports to it.
    `link` is where the operator answers. A question waits at most `seconds`."""

    consent: Callable[[ConsentRequest], Awaitable[ConsentAnswer | None]]
    progress: Callable[[str], None]
    link: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CallOutsideRuns:
    """What the queue of questions needs of a call that no run makes."""

    scope: Scope
    journal: Journal
    manifest_rules: tuple[PermissionRule, ...]
    permissions: PermissionRules

    async def rules(self) -> tuple[PermissionRule, ...]:
        """Return the permission rules that hold for the call."""
        scope = self.scope
        return self.manifest_rules + await self.permissions.applying_to(scope.project_id, scope.session_id)


async def ask_operator(
    questions: Questions, call: CallOutsideRuns, call_id: str, request: ConsentRequest, client: RemoteClient
) -> ConsentAnswer:
    """Return the operator's answer to a question that is stored, published and withdrawn like a run's.

    Raises ToolError when the operator refuses, or does not answer in time."""
    try:
        async with asyncio.timeout(client.seconds):
            given = await questions.ask_permission(call, call_id, request)
    except TimeoutError:
        raise ToolError(
            "permission_denied",
            f"The operator did not answer within {client.seconds:.0f} s. {request.reason} "
            f"Ask the operator to open {client.link}, then call again.",
            detail={"needed": "the operator's consent", "link": client.link},
        ) from None
    if given.answer == "reject":
        raise rejected(request, given.comment)
    return given.answer
