"""The audit rows of what operators do: one for each operation that changed something.

Owns: which operations are noted, and what of them. Never: bodies, because they may hold secrets
and long texts; a message and a tool call say more in their own audit rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from app.access_scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.access_rules import SAFE_METHODS
from app.api.error_handlers import REQUEST_ID_KEY
from app.api.idempotency import REPLAYED_HEADER
from app.ids import is_id, now_ms
from app.storage.models import AuditEvent
from app.storage.storage import Storage

_NOTED_ELSEWHERE = frozenset({"post_message", "call_tool", "validate_dsl", "sync_sessions"})
_SIGNS_IN = "launch"


async def note_operation(request: Request, operation: str, answer: Response) -> None:
    """Store that an operation was carried out, before its answer leaves; reads are not noted."""
    changes = request.method not in SAFE_METHODS and operation not in _NOTED_ELSEWHERE
    if not (changes or operation == _SIGNS_IN) or answer.status_code >= 400:
        return
    if REPLAYED_HEADER in answer.headers:
        return  # noted when it happened
    principal: Principal | None = request.scope.get(PRINCIPAL_KEY)
    named = {name: str(value) for name, value in request.path_params.items()}
    made = _made(answer)
    if made is not None:
        named.setdefault("session_id" if is_id(made, "ses") else "id", made)
    await note(
        request.app.state.services.storage,
        principal.actor if principal is not None else "launch link",
        operation,
        named | {"status": answer.status_code},
        request_id=request.scope.get(REQUEST_ID_KEY),
    )


async def note(
    storage: Storage,
    actor: str,
    operation: str,
    data: Mapping[str, Any],
    *,
    request_id: str | None = None,
) -> None:
    """Store one row `operator.<operation>`; ids that have a column of their own go there."""
    columns = {name: data.get(name) for name in ("project_id", "session_id", "run_id")}
    row = AuditEvent(
        created_at=now_ms(),
        event=f"operator.{operation}",
        actor=actor,
        request_id=request_id,
        data={name: value for name, value in data.items() if name not in columns},
        **columns,
    )
    await storage.write(lambda uow: uow.audit.add_many([row]))


def _made(answer: Response) -> str | None:
    """Return the id in a short JSON answer: of what was made, or of what was changed."""
    body = getattr(answer, "body", b"")
    if not body or len(body) > 65_536 or "json" not in answer.headers.get("content-type", ""):
        return None
    value = orjson.loads(body)
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
