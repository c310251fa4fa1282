"""What a token that is bound to an agent or a plugin may ask for: a short list, everything else refused.

Owns: the list, as method and path, and the look whether what is asked for belongs to what the token
is bound to. Never: verifying tokens (`access.tokens`). It stands before every route, so that a new
one is closed to these tokens until it is put on the list.
Keeps S14 of docs/security.md.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.requests import HTTPConnection

from app.access.scopes import Principal
from app.errors import Forbidden
from app.storage.storage import Storage

_SEGMENT = "[^/]+"
_SESSION = re.compile(rf"/api/v1/sessions/(?P<session>{_SEGMENT})(?P<rest>/.*)?")
_RUN = re.compile(rf"/api/v1/runs/(?P<run>{_SEGMENT})")
_SESSION_READS = re.compile(
    r"|/messages|/messages/[^/]+|/runs|/checkpoints|/compactions|/compactions/[^/]+"
    r"|/commands|/commands/[^/]+|/interactions|/interactions/[^/]+|/todo-proposals|/rollbacks"
)
"""Below a session: what was said and done in it. Not its export and permission rules, and not the
prompts of its agents, which a single checkpoint shows as well."""
_CALL = re.compile(rf"/tools/{_SEGMENT}")

_AGENT_MAY = "call that agent's tools and read its session"
_PLUGIN_MAY = "read the sessions of its project (the list with ?project_id=)"


async def check_scope(principal: Principal, connection: HTTPConnection, storage: Storage) -> None:
    """Raise `Forbidden` unless the token's scope covers this request.

    The answer is the same for what belongs to others and for what does not exist."""
    if not principal.is_bound:
        return
    scope = connection.scope
    method = "WS" if scope["type"] == "websocket" else scope["method"]
    allowed = _agent_may if principal.scope == "agent" else _plugin_may
    if not await allowed(principal, method, connection, storage):
        may = _AGENT_MAY if principal.scope == "agent" else _PLUGIN_MAY
        raise Forbidden(
            f"This token is bound to one {principal.scope}: it may {may}, and nothing else.",
            reason="out_of_scope",
        )


async def _agent_may(principal: Principal, method: str, connection: HTTPConnection, storage: Storage) -> bool:
    path, bound = connection.scope["path"], principal.bound
    if (session := _SESSION.fullmatch(path)) is not None:
        rest = session["rest"] or ""
        own = session["session"] == bound.session_id
        return own and (_reads(method, rest) or (method == "POST" and _CALL.fullmatch(rest) is not None))
    if method != "GET":
        return False
    if (run := _RUN.fullmatch(path)) is not None:
        return await _session_of_run(storage, run["run"]) == bound.session_id
    return path in (
        "/api/v1/tools",
        f"/api/v1/projects/{bound.project_id}/agents/{bound.agent_path}/tools",
    )


async def _plugin_may(
    principal: Principal, method: str, connection: HTTPConnection, storage: Storage
) -> bool:
    path, project = connection.scope["path"], principal.bound.project_id
    if path == "/api/v1/sessions":
        query = parse_qsl(connection.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return method == "GET" and [value for name, value in query if name == "project_id"] == [project]
    if (session := _SESSION.fullmatch(path)) is not None:
        readable = _reads(method, session["rest"] or "")
        return readable and await _project_of_session(storage, session["session"]) == project
    if method == "GET" and (run := _RUN.fullmatch(path)) is not None:
        session_id = await _session_of_run(storage, run["run"])
        return session_id is not None and await _project_of_session(storage, session_id) == project
    return False


def _reads(method: str, rest: str) -> bool:
    if method == "WS":
        return rest == "/ws"
    return method == "GET" and _SESSION_READS.fullmatch(rest) is not None


async def _project_of_session(storage: Storage, session_id: str) -> str | None:
    row = await storage.read(lambda uow: uow.sessions.get(session_id))
    return row.project_id if row is not None else None


async def _session_of_run(storage: Storage, run_id: str) -> str | None:
    row = await storage.read(lambda uow: uow.runs.get(run_id))
    return row.session_id if row is not None else None
