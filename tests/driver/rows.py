"""Rows for the storage tests, with every column that matters given and the rest by default."""

from __future__ import annotations

from typing import Any

from app.storage.models import (
    Attempt,
    AttemptGroup,
    AuditEvent,
    Checkpoint,
    Compaction,
    Event,
    Interaction,
    Issue,
    IssueLink,
    IssueTodo,
    IssueUpdate,
    LogEntry,
    Message,
    Notification,
    PermissionRuleRow,
    Project,
    ProjectLease,
    PromptEdit,
    Revert,
    Rollback,
    Run,
    Session,
    Step,
    TodoProposal,
    ToolCall,
    Upload,
    WorkflowRun,
    Workspace,
    Worktree,
)
from app.storage.repositories.permissions import identity_of
from app.storage.unit_of_work import UnitOfWork


def project(number: int = 1, **values: Any) -> Project:
    given = {"root": f"/projects/{number}", "slug": f"project-{number}", "created_at": number, "loaded_at": 1}
    return Project(id=f"prj_{number:05}", **{**given, **values})


def session(number: int = 1, **values: Any) -> Session:
    given = {"project_id": "prj_00001", "created_at": number, "updated_at": number}
    return Session(id=f"ses_{number:05}", **{**given, **values})


def message(number: int, **values: Any) -> Message:
    given = {
        "session_id": "ses_00001",
        "position": number,
        "role": "user",
        "content": f"message {number}",
        "created_at": number,
    }
    return Message(id=f"msg_{number:05}", **{**given, **values})


def run(number: int, **values: Any) -> Run:
    return Run(id=f"run_{number:05}", **{"session_id": "ses_00001", "created_at": number, **values})


def step(run_id: str, number: int, **values: Any) -> Step:
    given = {"message_id": "msg_00001", "provider": "replay", "model": "m", "started_at": number}
    return Step(run_id=run_id, number=number, **{**given, **values})


def tool_call(number: int, **values: Any) -> ToolCall:
    given = {"session_id": "ses_00001", "call_id": f"call_{number}", "name": "file.read"}
    return ToolCall(id=f"tcl_{number:05}", **{**given, **values})


def checkpoint(number: int, **values: Any) -> Checkpoint:
    given = {"session_id": "ses_00001", "created_at": number, "created_by": "operator", "reason": "asked"}
    return Checkpoint(id=f"ckp_{number:05}", **{**given, **values})


def interaction(number: int, **values: Any) -> Interaction:
    given = {"session_id": "ses_00001", "kind": "permission", "created_at": number}
    return Interaction(id=f"itx_{number:05}", **{**given, **values})


def compaction(number: int, **values: Any) -> Compaction:
    given = {"trigger": "threshold_crossed", "strategy": "drop", "window_upper": 0.85, "window_lower": 0.6}
    return Compaction(
        **{"id": f"cmp_{number:05}", "session_id": "ses_00001", "created_at": number, **given, **values}
    )


def rollback(number: int, **values: Any) -> Rollback:
    given = {"session_id": "ses_00001", "created_at": number, "created_by": "operator"}
    return Rollback(**{"id": f"rbk_{number:05}", **given, **values})


def revert(number: int, **values: Any) -> Revert:
    given = {"session_id": "ses_00001", "created_at": number, "created_by": "operator", "tree": "4b825dc"}
    return Revert(**{"id": f"rvt_{number:05}", "under_way": False, **given, **values})


def prompt_edit(number: int, **values: Any) -> PromptEdit:
    given = {"checkpoint_id": "ckp_00001", "target": "primary", "old_hash": "a", "new_hash": "b"}
    given |= {"new_content": "new", "edited_by": "operator"}
    return PromptEdit(
        **{"id": f"ped_{number:05}", "session_id": "ses_00001", "edited_at": number, **given, **values}
    )


def worktree(number: int, **values: Any) -> Worktree:
    given = {"session_id": "ses_00001", "created_at": number, "state": "taken"}
    return Worktree(**{"id": f"wtr_{number:05}", **given, **values})


def issue(number: int, **values: Any) -> Issue:
    given = {"project_id": "prj_00001", "number": number, "title": f"issue {number}", "body": "text"}
    given |= {"created_by": "operator", "created_at": number, "updated_at": number}
    return Issue(**{"id": f"iss_{number:05}", **given, **values})


def issue_update(number: int, **values: Any) -> IssueUpdate:
    given = {"issue_id": "iss_00001", "author": "operator", "kind": "comment", "created_at": number}
    return IssueUpdate(**{"id": f"isu_{number:05}", **given, **values})


def issue_link(number: int, **values: Any) -> IssueLink:
    given = {"issue_id": "iss_00001", "target_id": "iss_00001", "kind": "relates", "created_by": "operator"}
    return IssueLink(**{"id": f"isl_{number:05}", "created_at": number, **given, **values})


def issue_todo(number: int, **values: Any) -> IssueTodo:
    given = {"issue_id": "iss_00001", "content": f"step {number}", "position": number}
    given |= {"created_by": "agent:primary", "created_at": number, "updated_at": number}
    return IssueTodo(**{"id": f"todo_{number:05}", **given, **values})


def todo_proposal(number: int, **values: Any) -> TodoProposal:
    given = {"session_id": "ses_00001", "agent_path": "primary.subagents.coder", "content": f"step {number}"}
    return TodoProposal(**{"id": f"tpr_{number:05}", "created_at": number, **given, **values})


def upload(number: int, **values: Any) -> Upload:
    given = {"project_id": "prj_00001", "name": f"file {number}", "media_type": "text/plain"}
    given |= {"size_bytes": 1, "sha256": "00", "created_by": "operator", "created_at": number}
    return Upload(**{"id": f"upl_{number:05}", **given, **values})


def workflow_run(number: int, **values: Any) -> WorkflowRun:
    given = {"project_id": "prj_00001", "workflow": "repair", "cause": "operator", "timeout_seconds": 600}
    return WorkflowRun(**{"id": f"wfr_{number:05}", "created_at": number, **given, **values})


def plugin_value(key: str, **values: Any) -> dict[str, Any]:
    return {"project_id": "prj_00001", "plugin": "memory", "key": key, "updated_at": 1, **values}


def permission(number: int, **values: Any) -> PermissionRuleRow:
    given = {
        "project_id": "prj_00001",
        "permission": "shell.bash",
        "pattern": f"git {number} *",
        "action": "allow",
        "created_by": "operator",
        "created_at": number,
        **values,
    }
    identity = identity_of(str(given["permission"]), str(given["pattern"]))
    return PermissionRuleRow(id=f"rul_{number:05}", identity=identity, **given)


def event(seq: int, **values: Any) -> Event:
    given = {
        "session_id": "ses_00001",
        "type": "run.started",
        "created_at": seq,
        "frame": b'{"seq":%d}' % seq,
    }
    return Event(seq=seq, **{**given, **values})


def audit(number: int, **values: Any) -> AuditEvent:
    return AuditEvent(**{"created_at": number, "event": "tool.call", "actor": "operator", **values})


def log_entry(number: int, **values: Any) -> LogEntry:
    given = {"created_at": number, "severity": 20, "logger": "kaged.agent", "event": "agent.generation"}
    return LogEntry(**{**given, **values})


def lease(number: int = 1, **values: Any) -> ProjectLease:
    given = {"owner_id": "dmn_1", "owner_url": "http://127.0.0.1:1", "fence": 1, "expires_at": number}
    return ProjectLease(project_id=f"prj_{number:05}", **{**given, "marker": "", **values})


def workspace(number: int = 1, **values: Any) -> Workspace:
    given = {"project_id": "prj_00001", "session_id": "ses_00001", "kind": "worktree", "root": f"/w/{number}"}
    return Workspace(id=f"wks_{number:05}", created_at=number, updated_at=number, **{**given, **values})


def attempt_group(number: int = 1, **values: Any) -> AttemptGroup:
    given = {"project_id": "prj_00001", "base": "head"}
    return AttemptGroup(id=f"att_{number:05}", created_at=number, **{**given, **values})


def attempt(number: int = 1, **values: Any) -> Attempt:
    given = {"group_id": "att_00001", "number": number}
    return Attempt(session_id=f"ses_{number:05}", **{**given, **values})


def notification(number: int = 1, **values: Any) -> Notification:
    given = {
        "session_id": "ses_00001",
        "project_id": "prj_00001",
        "agent_path": "primary",
        "channel": "webhook",
        "kind": "finish",
        "due_at": number,
    }
    return Notification(id=f"ntf_{number:05}", created_at=number, **{**given, **values})


def family(unit: UnitOfWork) -> None:
    """Store one project with one session, which most other rows belong to."""
    unit.projects.add(project())
    unit.sessions.add(session())
