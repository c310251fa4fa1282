"""What a token of an agent, a plugin or a chat client may do: operations with a mark, and no other.

Owns: the marks, and the check before every route that a request concerns what the token is bound to. Never:
verifying tokens (`access.tokens`).
Keeps S14 of docs/security.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import parse_qsl

from fastapi import Depends
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute

from app.access.scopes import Principal
from app.errors import Forbidden
from app.storage.storage import Storage

_BOUND_TO = {"agent": "agent", "plugin": "plugin", "chat": "project's agents"}
_MAY = {
    "agent": "call that agent's tools and read its session",
    "plugin": "read the sessions of its project (the list with ?project_id=)",
    "chat": "list and talk to the agents that it names, at /v1 and /mcp",
}


async def _for_agents() -> None:
    """Marks an operation; the check is in `BoundOperations`."""


async def _for_plugins() -> None:
    """As above."""


async def _for_chats() -> None:
    """As above."""


FOR_AGENTS = Depends(_for_agents)
"""For an operation that agents' tokens may call: on their session or agent, or on nothing of a project."""
FOR_PLUGINS = Depends(_for_plugins)
"""For an operation that plugins' tokens may call: on a session of their project."""
FOR_CHATS = Depends(_for_chats)
"""For an operation that chat clients' tokens may call: it checks the agent that is asked for by itself."""
READS_SESSION = [FOR_AGENTS, FOR_PLUGINS]
"""For operations that read messages, runs and events of a session. Exports, permission rules and prompts of
agents (which a single checkpoint shows too) do not have these marks."""


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: re.Pattern[str]
    scopes: frozenset[str]


class BoundOperations:
    """The operations with a mark, of all routes of an application."""

    def __init__(self, routes: Iterable[BaseRoute], for_chats: Iterable[str] = ()) -> None:
        """`for_chats` are paths without a mark that chat clients' tokens may ask for: they check the agent by
        themselves."""
        self._operations = list(_marked(routes))
        self._operations += [
            _Operation(method, re.compile(re.escape(path)), frozenset({"chat"}))
            for path in for_chats
            for method in ("GET", "POST", "DELETE")
        ]

    async def check(self, principal: Principal, connection: HTTPConnection, storage: Storage) -> None:
        """Raise `Forbidden` unless the token's scope covers this request.

        The answer is the same for what belongs to others and for what does not exist."""
        if not principal.is_bound:
            return
        asked = self._parameters(principal.scope, connection)
        if asked is None or not await _is_own(principal, asked, connection, storage):
            raise Forbidden(
                f"This token is bound to one {_BOUND_TO[principal.scope]}: it may {_MAY[principal.scope]}, "
                "and nothing else.",
                reason="out_of_scope",
            )

    def _parameters(self, scope: str, connection: HTTPConnection) -> dict[str, str] | None:
        """Return the parameters in the path of a request; None when no operation with a mark takes it."""
        request = connection.scope
        method = "WS" if request["type"] == "websocket" else request["method"]
        for operation in self._operations:
            if operation.method == method and scope in operation.scopes:
                found = operation.path.fullmatch(request["path"])
                if found is not None:
                    return found.groupdict()
        return None


def _marked(routes: Iterable[BaseRoute]) -> Iterator[_Operation]:
    for route in routes:
        if not isinstance(route, APIRoute | APIWebSocketRoute):
            continue
        marks = {"agent": FOR_AGENTS, "plugin": FOR_PLUGINS, "chat": FOR_CHATS}
        scopes = frozenset(scope for scope, mark in marks.items() if mark in route.dependencies)
        methods = (route.methods or ()) if isinstance(route, APIRoute) else ("WS",)
        for method in methods if scopes else ():
            yield _Operation(method, route.path_regex, scopes)


async def _is_own(
    principal: Principal, asked: dict[str, str], connection: HTTPConnection, storage: Storage
) -> bool:
    """Tell whether a request concerns what the token is bound to, by the ids in its path."""
    bound = principal.bound
    if principal.scope == "chat":
        return True
    session_id = asked.get("session_id")
    if "run_id" in asked:
        run = await storage.read(lambda uow: uow.runs.get(asked["run_id"]))
        if run is None:
            return False
        session_id = run.session_id
    if principal.scope == "agent":
        own = {"session_id": bound.session_id, "project_id": bound.project_id, "agent_path": bound.agent_path}
        named = asked if session_id is None else {**asked, "session_id": session_id}
        return all(named[name] == value for name, value in own.items() if name in named)
    if session_id is None:
        query = parse_qsl(connection.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return [value for name, value in query if name == "project_id"] == [bound.project_id]
    session = await storage.read(lambda uow: uow.sessions.get(session_id))
    return session is not None and session.project_id == bound.project_id
