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

from app.access.scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.access_rules import SAFE_METHODS
from app.api.error_handlers import REQUEST_ID_KEY
from app.api.idempotency import REPLAYED_HEADER
from app.ids import Prefix, is_id, now_ms
from app.storage.models import AuditEvent
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

_NOTED_ELSEWHERE = frozenset({"post_message", "call_tool", "validate_dsl", "sync_sessions"})
_SIGNS_IN = "launch"
_COLUMNS: dict[Prefix, str] = {"ses": "session_id", "prj": "project_id"}
"""The columns of an audit row for what has an id of a kind."""
NOTED = "noted"
"""The attribute of a request's state with ids that only the operation knows, by their names."""


async def note_operation(request: Request, operation: str, answer: Response) -> None:
    """Store that an operation was carried out, before its answer leaves; reads are not noted."""
    changes = request.method not in SAFE_METHODS and operation not in _NOTED_ELSEWHERE
    if not (changes or operation == _SIGNS_IN) or answer.status_code >= 400:
        return
    if REPLAYED_HEADER in answer.headers:
        return  # noted when it happened
    principal: Principal | None = request.scope.get(PRINCIPAL_KEY)
    named = {name: str(value) for name, value in request.path_params.items()}
    named |= getattr(request.state, NOTED, {})
    made = _made(answer)
    if isinstance(made.get("id"), str):
        column = next((name for kind, name in _COLUMNS.items() if is_id(made["id"], kind)), "id")
        named.setdefault(column, made["id"])
    if isinstance(made.get("project_id"), str):
        named.setdefault("project_id", made["project_id"])
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
    """Store one row `operator.<operation>`; ids that have a column of their own go there, and the project
    of a session beside it."""
    columns = {name: data.get(name) for name in ("project_id", "session_id", "run_id")}
    row = AuditEvent(
        created_at=now_ms(),
        event=f"operator.{operation}",
        actor=actor,
        request_id=request_id,
        data={name: value for name, value in data.items() if name not in columns},
        **columns,
    )

    def store(uow: UnitOfWork) -> None:
        session = uow.sessions.get(row.session_id) if row.session_id and not row.project_id else None
        if session is not None:
            row.project_id = session.project_id
        uow.audit.add_many([row])

    await storage.write(store)


def _made(answer: Response) -> dict[str, Any]:
    """Return a short JSON answer, which names what was made or changed; empty when it is something else."""
    body = getattr(answer, "body", b"")
    if not body or len(body) > 65_536 or "json" not in answer.headers.get("content-type", ""):
        return {}
    value = orjson.loads(body)
    return value if isinstance(value, dict) else {}
