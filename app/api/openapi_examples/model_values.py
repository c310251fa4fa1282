"""The values in the examples of the OpenAPI document that belong to one model, one error or one operation.

Owns: these values. Never: the shape of an example (`compose`).
"""

from __future__ import annotations

from typing import Any

from app.api.openapi_examples.values import DIGEST, reference

_PARAMETERS = {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}

FIELDS_OF_MODELS: dict[str, Any] = {
    "AgentToolAnswer.name": "file.read",
    "AgentToolAnswer.description": "Read a file of the project.",
    "AgentToolAnswer.parameters": _PARAMETERS,
    "AnswerMessage.content": "The total is right now.",
    "AnswerMessage.refusal": None,
    "AuditEntry.data": {"title": "Fix the failing test"},
    "AuditEntry.id": 42,
    "Capability.name": "pyright",
    "CapabilityRequirementAnswer.name": "signals",
    "ChatCompletion.id": f"chatcmpl-{reference('run')}",
    "ChecklistAnswer.markdown": "- [ ] Add a test for the total",
    "CheckpointAnswer.reason": "operator",
    "CheckpointDetail.proposal": None,
    "CheckpointDetail.reason": "operator",
    "Choice.logprobs": None,
    "CommandOutputAnswer.output": "12 passed\n",
    "CompactionAnswer.details": {},
    "CompactionAnswer.plugin_cost": None,
    "CreatedTokenAnswer.name": "ci",
    "CreatedTokenAnswer.agent_path": None,
    "CreatedTokenAnswer.project_id": None,
    "CreatedTokenAnswer.session_id": None,
    "CreatedTokenAnswer.token": "kgd_the-secret-of-the-token",
    "DslFile.path": ".kaged/project.yaml",
    "DslFile.content": "version: 1\nproject: shop\n",
    "FileChangeAnswer.diff": "-    return len(self._pieces)\n+    return sum(self._pieces.values())\n",
    "FileLeftAnswer.reason": "It was changed by somebody else.",
    "HookAnswer.name": "format",
    "HookFailureAnswer.reason": "It took more than 60 seconds.",
    "HookTestAnswer.context": "",
    "HookTestAnswer.name": "format",
    "HookTestAnswer.reason": "",
    "ImportedSessionDetail.kind": "chat",
    "ImportedSessionDetail.overrides": {},
    "ImportedSessionDetail.pending_interactions": 0,
    "ImportedSessionDetail.active_run": None,
    "InteractionAnswer.answer": None,
    "InteractionAnswer.kind": "permission",
    "InteractionAnswer.request": {"tool": "shell.bash", "command": "git push origin main"},
    "Invoker.id": "operator",
    "IssueUpdateAnswer.body": "Seen on two machines.",
    "IssueUpdateAnswer.metadata": None,
    "LaunchLink.url": "http://127.0.0.1:7777/launch?token=the-code-that-works-once",
    "ListedSession.kind": "chat",
    "ListedSession.pending_interactions": 0,
    "LogRecord.fields": {"port": 7777},
    "LogRecord.id": 42,
    "McpContentAnswer.prompts": [{"name": "review", "description": "Review a change."}],
    "McpContentAnswer.resources": [{"uri": "docs://style", "name": "Style"}],
    "McpServerAnswer.name": "issues",
    "McpToolAnswer.name": "search",
    "McpToolAnswer.title": "Search issues",
    "MessageAnswer.delivery": "direct",
    "MessageAnswer.details": {},
    "Model.id": "shop",
    "ModelAnswer.chain": ["anthropic:claude-sonnet"],
    "PluginAnswer.hooks": ["kaged.hook.on_session_start"],
    "PluginAnswer.name": "recall",
    "PluginAnswer.roles": ["memory"],
    "PluginAnswer.tools": ["search"],
    "PreviewedMessage.id": reference("msg"),
    "PromptAnswer.content": "You help with the shop.",
    "ProposalAnswer.content": "Add a test for the total",
    "ProviderAnswer.name": "anthropic",
    "ProviderTestAnswer.error": None,
    "ProviderTestAnswer.advice": None,
    "RestoredFilesAnswer.restored": ["bakery/basket.py"],
    "RollbackAnswer.messages": 2,
    "RunAnswer.error": None,
    "RunDetail.error": None,
    "SentRequestAnswer.body": {"model": "claude-sonnet", "messages": []},
    "SentRequestAnswer.path": "/v1/messages",
    "SessionDetail.active_run": None,
    "SessionDetail.kind": "chat",
    "SessionDetail.overrides": {},
    "SessionDetail.pending_interactions": 0,
    "StagedRollbackAnswer.plan": DIGEST,
    "StepAnswer.stats": {},
    "TodoAnswer.content": "Add a test for the total",
    "TokenAnswer.agent_path": None,
    "TokenAnswer.name": "ci",
    "TokenAnswer.project_id": None,
    "TokenAnswer.session_id": None,
    "ToolAnswer.description": "Read a file of the project.",
    "ToolAnswer.name": "file.read",
    "ToolAnswer.parameters": _PARAMETERS,
    "ToolAnswer.requires": [{"kind": "fs", "path": "caller", "mode": "ro"}],
    "ToolAnswer.result": {"type": "object", "properties": {"content": {"type": "string"}}},
    "ToolCallAnswer.state": "succeeded",
    "ToolCallAnswer.name": "file.read",
    "ToolEnvelopeAnswer.code": None,
    "ToolEnvelopeAnswer.data": {"content": "def percent_of(share, whole): ..."},
    "ToolEnvelopeAnswer.detail": None,
    "UploadAnswer.name": "screenshot.txt",
    "WorkflowAnswer.description": "Fix one issue.",
    "WorkflowAnswer.name": "fix",
    "WorkflowAnswer.tools": ["file.*", "edit.*"],
    "WorkflowInputAnswer.default": None,
    "WorkflowRunAnswer.inputs": {"issue": 7},
    "WorkflowRunAnswer.output": "The total is right now.",
    "WorkflowRunAnswer.pending_interactions": 0,
    "WorkflowRunSummary.pending_interactions": 0,
    "WorktreeAnswer.state": "kept",
    "WorktreeAnswer.tree": DIGEST[:40],
}
"""The value of a field of one model."""

ERRORS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "400": (
        "validation_failed",
        "1 field is not valid: titel.",
        {"fields": {"titel": "unknown field (known: title, body, attachments); did you mean title?"}},
    ),
    "401": (
        "unauthenticated",
        "Send `Authorization: Bearer <token>`, or open the launch link that the daemon printed.",
        {"reason": "token_missing"},
    ),
    "403": ("forbidden", "This token is read-only.", {"reason": "read_only"}),
    "404": ("not_found", f"There is no session {reference('ses')}.", None),
    "408": (
        "request_too_slow",
        "The body is too slow: 12 bytes arrived in 20 s.",
        {"reason": "body_too_slow"},
    ),
    "409": (
        "conflict",
        "A run is in progress.",
        {"reason": "run_in_progress", "state": "running"},
    ),
    "410": ("gone", "The content is no longer stored.", {"reason": "content_gone"}),
    "413": (
        "payload_too_large",
        "The body is larger than 10485760 bytes.",
        {"reason": "body_too_large", "max_bytes": 10_485_760},
    ),
    "422": (
        "dsl_invalid",
        "The project file has 1 error.",
        {
            "diagnostics": [
                {"file": ".kaged/project.yaml", "line": 4, "column": 3, "message": "unknown field"}
            ]
        },
    ),
    "429": ("rate_limited", "Too many requests.", {"reason": "too_many_requests"}),
    "500": (
        "internal",
        "The daemon failed to answer this request. Its log has the reason under the request id.",
        None,
    ),
    "502": ("provider_unreachable", "The provider of the agent's model failed.", None),
    "503": ("unavailable", "The database cannot be used now.", None),
    "507": ("insufficient_storage", "The disk is full; nothing of the file was stored.", None),
}
"""The code, message and details of an error by its status."""

OPERATIONS: dict[str, Any] = {
    "get_dsl_schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
    "get_synthesized_dsl": {"version": 1, "project": "shop", "primary": {"model": "smart"}},
}
"""The answers that have no model, by operation."""
