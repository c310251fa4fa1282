"""The question of permission as an MCP client shows it to its user.

Owns: its text and its schema, and what an answer means. Never: when to ask, or how the client is reached.
"""

from __future__ import annotations

from typing import Any

from mcp_types import ClientCapabilities, ElicitResult

from app.observability import without_controls
from app.tools.contract.rules import ConsentAnswer, ConsentRequest

_MAX_SUBJECTS = 10
_MAX_SUBJECT_CHARACTERS = 2_000
_ALLOW = "allow"

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "Whether the call may run, this once.",
            "enum": [_ALLOW, "deny"],
        }
    },
    "required": ["decision"],
}


def question(agent_path: str, request: ConsentRequest) -> str:
    """Return what the user reads."""
    shown = [one[:_MAX_SUBJECT_CHARACTERS] for one in request.subjects[:_MAX_SUBJECTS]]
    more = len(request.subjects) - len(shown)
    lines = [
        f"kaged: {agent_path} wants to call {request.tool}.",
        request.reason,
        *shown,
        *([f"... and {more} more"] if more else ()),
    ]
    return "\n".join(without_controls(line) for line in lines)


def answer_of(result: ElicitResult) -> ConsentAnswer:
    """Return the answer. Whatever is not plainly a yes is a no."""
    agrees = result.action == "accept" and (result.content or {}).get("decision") == _ALLOW
    return "once" if agrees else "reject"


def can_ask(capabilities: ClientCapabilities | None) -> bool:
    """Tell whether a client shows forms to its user. One that says nothing of modes shows forms."""
    elicitation = None if capabilities is None else capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)
