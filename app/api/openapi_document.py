"""The OpenAPI document: generated from the routes, then completed with what all of them share.

Owns: security schemes, error answers and the WebSockets in the document, and its exact text. Never: routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.api.access_rules import PUBLIC_PATHS, SAFE_METHODS
from app.api.chat.wire import ProtocolErrorAnswer
from app.api.client_frames import CLIENT_FRAMES
from app.api.protocol_errors import speaks_protocol

_DESCRIPTION = """\
The HTTP interface of kaged, a self-hosted daemon for coding agents.

Send `Authorization: Bearer <token>`. Every answer has `X-Request-Id`. Every error has the same body. Lists
take `limit` and `cursor`. Operations that create something take an `Idempotency-Key`. Events come over
WebSockets, which `x-websockets` describes; `events.schema.json` has their frames.
"""

_TAGS = (
    ("Health", "Health, readiness and version of the daemon."),
    ("Access", "Tokens, and signing browsers in."),
    ("Projects", "Project folders and their project files."),
    ("Files", "The files of a project: a folder's entries, contents, and search by name."),
    ("Sessions", "Conversations with a project's agents."),
    ("Messages", "The messages of a session."),
    ("Runs", "Runs of agents: list, pause, resume, cancel and retry them."),
    ("Checkpoints", "Checkpoints, prompts, rollbacks and forks."),
    ("Changes", "What a session changed in the project's files, and reverting it."),
    ("Compactions", "Compactions of an agent's context, with their summaries."),
    ("Interactions", "Questions and permission requests to people, and their answers."),
    ("Issues", "Issues of a project, with history, links, files and checklists."),
    ("Uploads", "Files for forms, issues and workflows: upload them first, then name their ids."),
    ("Workspaces", "Clones and copies in which sessions work; merge, keep or discard their changes."),
    ("Attempts", "Several sessions at one task: compare them, merge one, discard the others."),
    ("Workflows", "Workflows of a project and their runs; each run has its own session."),
    ("Commands", "Shell commands of agents that run now or in the background."),
    ("Chat completions", "Agents as models of the chat-completions protocol."),
    ("Tools", "Tools of agents, and calling one directly."),
    ("Permissions", "Permission rules of a project or a session."),
    ("Git", "The repository of a project: status, staging, commits and branches."),
    ("Plugins", "Plugins of projects, with their hooks, tools and state."),
    ("MCP servers", "MCP servers that agents use, with their state and what they offer."),
    ("Hooks", "Hooks of the operator and of projects: commands around tool calls, prompts and run ends."),
    ("Providers", "Models and the services that run them."),
    ("Operations", "Audit trail, log, metrics, and missed events."),
)

_ERROR_TEXTS = {
    "400": "The request is malformed, or a field is not valid (`details.fields`).",
    "401": "The request has no valid token.",
    "403": "The token, the Host or the Origin does not allow this.",
    "404": "The resource does not exist.",
    "408": "The body did not arrive in time.",
    "409": "The present state does not allow this (`details.state`).",
    "410": "The resource existed and was removed.",
    "413": "The body is too large.",
    "416": "No byte of the file is in the range (`details.size`).",
    "422": "The project file has errors (`details.diagnostics`).",
    "429": "A limit is reached (`details.reason`); `Retry-After` says when to retry.",
    "500": "The daemon failed; its log has the request id.",
    "503": "The daemon cannot work now; `Retry-After` says when to retry.",
    "507": "The disk of the daemon's data folder is full.",
}

_PROTOCOL_ERROR_TEXTS = {
    "400": "The request is malformed, or asks for what an agent cannot serve (`param`).",
    "401": "The request has no valid token.",
    "403": "The token, the Host or the Origin does not allow this.",
    "404": "Chat completions are off, or there is no such model or session (`code`).",
    "408": "The body did not arrive in time.",
    "409": "The session is busy, or the run was cancelled or interrupted (`code`).",
    "413": "The body is too large.",
    "429": "A limit is reached; `Retry-After` says when to retry.",
    "500": "The run or the daemon failed.",
    "502": "The provider of the agent's model failed.",
    "503": "The daemon cannot work now; `Retry-After` says when to retry.",
}

_ERROR = "ErrorAnswer"
"""The schema of every other error. `Error`, with its field `error`, is one name twice in generated code."""

_ERROR_SCHEMA: dict[str, Any] = {
    "title": _ERROR,
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "request_id"],
            "properties": {
                "code": {"type": "string", "description": "Stable; see the list of codes in the guide."},
                "message": {"type": "string"},
                "details": {
                    "type": "object",
                    "properties": {
                        "reason": {"type": "string", "description": "A more specific code."},
                        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
                        "state": {"type": "string"},
                    },
                    "additionalProperties": True,
                },
                "request_id": {"type": "string"},
            },
        }
    },
    "example": {
        "error": {
            "code": "not_found",
            "message": "There is no session ses_01JZ0000000000000000000000.",
            "request_id": "req_01JZ0000000000000000000000",
        }
    },
}

_PROTOCOL_ERROR = "ProtocolErrorAnswer"
"""The model of errors at addresses of the chat-completions protocol."""

_SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "kaged_session",
        "description": "Set by the launch link; port and base path are in the name "
        "(`kaged_session_7777~shop`). Writes also need the `X-Kaged-CSRF` header with the value of the "
        "`kaged_csrf` cookie.",
    },
}

_NOT_CONFLICTING = frozenset({"validate_dsl", "create_launch_link", "test_provider"})
_NAMING_OTHERS = frozenset(
    {
        "create_chat_completion",
        "create_session",
        "list_chat_models",
        "load_project",
        "sync_sessions",
        "validate_dsl",
    }
)
"""Their query or body names a resource that may not exist."""
_READS_WITH_CONFLICTS = frozenset(
    {
        *("export_session", "list_changes", "get_change", "list_machine_folders"),
        *("list_files", "get_file_content", "get_file_text", "get_file_problems", "search_files"),
        *("search_symbols", "get_git_status", "get_git_diff", "list_git_branches"),
    }
)
_WAITING_FOR_RUNS = frozenset({"create_chat_completion"})
_TAKING_FILES = frozenset({"upload_file", "upload_interaction_file"})
_COMPILING = frozenset({"load_project", "reload_project"})


def document_of(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of `app`, made once."""
    if app.openapi_schema is None:
        document = get_openapi(
            title="kaged",
            version="v1",
            description=_DESCRIPTION,
            routes=app.routes,
            servers=app.servers or None,
            tags=[{"name": name, "description": text} for name, text in _TAGS],
        )
        _complete(document)
        app.openapi_schema = document
    return app.openapi_schema


def document_text(app: FastAPI) -> bytes:
    """Return the exact content of `openapi/openapi.json`."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(document_of(app), option=options)


def _complete(document: dict[str, Any]) -> None:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for framework in ("HTTPValidationError", "ValidationError"):
        schemas.pop(framework, None)
    schemas[_ERROR] = _ERROR_SCHEMA
    components["securitySchemes"] = _SECURITY_SCHEMES
    schemas |= _protocol_error_schemas()
    components["responses"] = _error_responses("Error", _ERROR, _ERROR_TEXTS) | _error_responses(
        "ProtocolError", _PROTOCOL_ERROR, _PROTOCOL_ERROR_TEXTS
    )
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete_operation(path, method.upper(), operation)
    document["x-websockets"] = _websockets()
    from app.api.openapi_examples.compose import add_examples  # loaded with the first document, not before

    add_examples(document)


def _error_responses(prefix: str, model: str, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the answers of errors by name, whose body is of a model."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    found: dict[str, Any] = {
        f"{prefix}{status}": {"description": text, "content": {"application/json": {"schema": schema}}}
        for status, text in texts.items()
    }
    found[f"{prefix}429"]["headers"] = {
        "Retry-After": {"description": "Seconds, when they are known.", "schema": {"type": "integer"}}
    }
    return found


def _protocol_error_schemas() -> dict[str, Any]:
    schema = ProtocolErrorAnswer.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs"), _PROTOCOL_ERROR: schema}


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    answers: dict[str, Any] = operation["responses"]
    answers.pop("422", None)
    kind = "ProtocolError" if speaks_protocol(path) else "Error"
    for status in _error_statuses(path, method, operation):
        answers.setdefault(status, {"$ref": f"#/components/responses/{kind}{status}"})
    operation["security"] = [] if path in PUBLIC_PATHS else [{"bearer": []}, {"cookie": []}]


def _error_statuses(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    statuses = ["400", "403", "429", "500"]
    if path not in PUBLIC_PATHS or path == "/launch":
        statuses.append("401")
    if "{" in path or operation["operationId"] in _NAMING_OTHERS:
        statuses.append("404")
    changes = method not in SAFE_METHODS and operation["operationId"] not in _NOT_CONFLICTING
    if changes or operation["operationId"] in _READS_WITH_CONFLICTS:
        statuses.append("409")
    if "requestBody" in operation:
        statuses += ["408", "413"]
    if operation["operationId"] in _COMPILING:
        statuses.append("422")
    if path not in PUBLIC_PATHS:
        statuses.append("503")
    if operation["operationId"] in _TAKING_FILES:
        statuses += ["404", "507"]
    if operation["operationId"] in _WAITING_FOR_RUNS:
        statuses.append("502")
    return sorted(set(statuses))


def _websockets() -> dict[str, Any]:
    """Return the description of the WebSockets, which OpenAPI cannot describe."""
    client = CLIENT_FRAMES.json_schema(ref_template="#/x-websockets/client_frames/$defs/{model}")
    return {
        "client_frames": client,
        "server_frames": {"$ref": "events.schema.json"},
        "subprotocols": ["kaged.v1", "kaged.bearer.<token>"],
        "close_codes": {
            "1008": "too many malformed frames, or a parameter that is not valid",
            "1012": "the daemon restarts; reconnect with after_seq",
            "4008": "too slow; reconnect with after_seq",
            "4401": "unauthenticated",
            "4403": "forbidden",
            "4404": "no such session",
            "4408": "idle",
            "4429": "too many frames or sockets; retry later",
        },
        "paths": {
            "/api/v1/sessions/{session_id}/ws": {
                "summary": "Follow one session",
                "parameters": {
                    "after_seq": {"type": "integer", "minimum": 0, "default": 0},
                    "snapshots": {"type": "string", "enum": ["missed", "all"], "default": "missed"},
                },
            },
            "/api/v1/ws": {"summary": "Follow the state changes of all sessions"},
        },
    }
