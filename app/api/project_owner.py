"""Which daemon a request is for, where several share a database.

Owns: finding the project that a request names, and deciding who answers. Never: who owns a project
(`daemon/ownership`), passing a request on (`passage`), or which reads every daemon answers (`owner_rules`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from app.access.scopes import Principal
from app.api.owner_rules import ReadsFromRows
from app.api.passage import Passage, is_forwarded
from app.api.protocol_errors import PREFIX as CHAT_PREFIX
from app.daemon.services import Services
from app.errors import KagedError
from app.harness.projects.loaded_project import project_root
from app.storage.models import AttemptGroup, Upload, WorkflowRun, Workspace
from app.storage.unit_of_work import UnitOfWork

_NOUNS = re.compile(
    r"/api/v1/(projects|sessions|runs|workflow-runs|uploads|attempts|workspaces)/([a-z]+_[0-9A-Z]+)(?:/|$)"
)
_IN_QUERY = frozenset({"/api/v1/uploads", "/api/v1/dsl/validate"})
"""Paths of operations whose query has the `project_id`."""
_IN_BODY = frozenset({"/api/v1/sessions", "/api/v1/projects/load", "/api/v1/tokens", "/v1/chat/completions"})
"""Paths of operations whose body, a JSON object, names the project: by id, folder, session or model."""
_CHAT_MODELS = f"{CHAT_PREFIX}models"
_MCP = "/mcp"


def names_project(path: str) -> bool:
    """Tell whether an address names a project, or something that belongs to one."""
    return _NOUNS.match(path) is not None


@dataclass(frozen=True, slots=True)
class Owners:
    """Passes requests about projects of other daemons on. One for each application."""

    reads: ReadsFromRows

    async def take(
        self, services: Services, principal: Principal, scope: Scope, receive: Receive, send: Send
    ) -> Receive | None:
        """Return where the body is received from when this daemon answers; None when the owner has answered.

        Raises `Unavailable` when no daemon owns the project, the owner cannot be reached, or the request was
        passed on already. A WebSocket is never passed on."""
        forwarding = services.decisions.forwarding
        if forwarding is None or scope["type"] != "http":
            return receive  # streams come from the database, wherever the owner is
        if self.reads.have(scope["method"], scope["path"]):
            return receive
        body: bytes | None = None
        if scope["method"] == "POST" and scope["path"] in _IN_BODY:
            body = await Request(scope, receive).body()
            receive = _again(body, receive)
        project_id = await _project_of(services, principal, scope, body)
        if project_id is None:
            return receive
        url = await forwarding.owner_of(project_id, may_forward=not is_forwarded(scope))
        if url is None:
            return receive
        await Passage(services, project_id, url, scope, receive, send).carry()
        return None


def _again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and afterwards what comes from the client."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again


async def _project_of(
    services: Services, principal: Principal, scope: Scope, body: bytes | None
) -> str | None:
    """Return the id of the project that a request names; None when it names none."""
    path: str = scope["path"]
    found = _NOUNS.match(path)
    if found is not None:
        noun, key = found.groups()
        return (
            key if noun == "projects" else await services.storage.read(lambda uow: _of_noun(uow, noun, key))
        )
    query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
    if path in _IN_QUERY:
        return query.get("project_id")
    if path == _MCP:
        return await _of_name(services, principal, query.get("project"))
    if path.startswith(_CHAT_MODELS):
        model = path.removeprefix(_CHAT_MODELS).strip("/")
        return await _of_name(services, principal, model.partition("/")[0])
    return await _of_body(services, principal, path, _object(body)) if body is not None else None


async def _of_body(services: Services, principal: Principal, path: str, named: dict[str, Any]) -> str | None:
    if path.startswith(CHAT_PREFIX):
        return await _of_name(services, principal, _text(named, "model").partition("/")[0])
    if path.endswith("/load"):
        try:
            root = str(await asyncio.to_thread(project_root, _text(named, "path")))
        except KagedError:
            return None  # the operation says what is wrong
        row = await services.storage.read(lambda uow: uow.projects.by_root(root))
        return None if row is None else row.id
    session_id = _text(named, "session_id")
    if session_id:
        return await services.storage.read(lambda uow: _of_noun(uow, "sessions", session_id))
    return _text(named, "project_id") or None


async def _of_name(services: Services, principal: Principal, name: str | None) -> str | None:
    """Return the id of a project by id or name, when it is not loaded here; for a token of one project that
    one."""
    if principal.bound.project_id is not None:
        return principal.bound.project_id
    if not name or any(name in (one.id, one.slug) for one in services.projects.all()):
        return None
    return await services.storage.read(lambda uow: uow.projects.named(name))


def _of_noun(uow: UnitOfWork, noun: str, key: str) -> str | None:
    if noun in ("workflow-runs", "uploads", "attempts", "workspaces"):
        found: dict[str, Callable[[], WorkflowRun | Upload | AttemptGroup | Workspace | None]] = {
            "workflow-runs": lambda: uow.workflow_runs.get(key),
            "uploads": lambda: uow.uploads.get(key),
            "attempts": lambda: uow.attempt_groups.get(key),
            "workspaces": lambda: uow.workspaces.get(key),
        }
        row = found[noun]()
        return None if row is None else row.project_id
    if noun == "runs":
        run = uow.runs.get(key)
        key = "" if run is None else run.session_id
    session = uow.sessions.get(key)
    return None if session is None else session.project_id


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; an empty one for what the operation refuses."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(named: dict[str, Any], field: str) -> str:
    value = named.get(field)
    return value if isinstance(value, str) else ""
