"""The actions of `kaged.todo` on a checklist, and the words in which a refusal reaches the model.

Owns: which command does what, and its row in the audit trail. Never: storing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import RPC_INVALID_PARAMS, KagedError, ToolError, ValidationFailed
from app.events.issues import TodoChange
from app.harness.issues.checklist import Checklist
from app.harness.issues.matching import find
from app.storage.models import IssueTodo
from app.tools.planning.todo import TodoParams


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a change, for its event and its audit row."""

    change: TodoChange
    data: dict[str, Any]


def carry_out(checklist: Checklist, command: TodoParams, origins: Mapping[str, str]) -> Done:
    """Do what an agent's command says. `origins` maps folded texts to the subagents that proposed them.

    Raises ToolError when no entry is meant, `Conflict` or `ValidationFailed` for what is not possible."""
    if command.action in ("set", "add"):
        add = checklist.replace if command.action == "set" else checklist.add
        made = add(command.items or (), kind=command.kind, phase=command.phase, origins=origins)
        data = {"count": len(made), "kind": command.kind}
        return Done("set", data) if command.action == "set" else Done("added", data)
    row = find(checklist.rows, command.content or "")
    match command.action:
        case "start":
            return done_to("started", checklist.start(row))
        case "done":
            return done_to("completed", checklist.complete(row))
        case "drop":
            return done_to("dropped", checklist.abandon(row))
        case "note":
            return Done("noted", {"todo_id": checklist.note(row, command.text or "").id})
    raise ValueError(f"{command.action} changes nothing")


def done_to(change: TodoChange, row: IssueTodo) -> Done:
    """Return the change of one entry, for its event and its audit row."""
    return Done(change, {"todo_id": row.id, "content": row.content, "kind": row.kind})


def as_tool_error(problem: KagedError) -> ToolError:
    """Return an error of the daemon as the model gets it."""
    if isinstance(problem, ValidationFailed):
        return ToolError(
            str(problem.details.get("reason", "invalid_params")),
            problem.message,
            detail=problem.details,
            rpc_code=RPC_INVALID_PARAMS,
        )
    code = str(problem.details.get("reason", problem.code))
    # A route is for clients of the interface.
    detail = {name: value for name, value in problem.details.items() if name != "route"}
    return ToolError(code, problem.message, detail=detail)


def no_bound_issue(session_id: str) -> ToolError:
    """Return the error of an agent whose session works on no issue."""
    return ToolError(
        "no_bound_issue",
        "This session is not bound to an issue, so it has no checklist. kaged.issue shows and files issues; "
        "ask the operator to bind the session to one.",
        detail={"session_id": session_id},
    )
