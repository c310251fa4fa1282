"""Which daemon answers an operation below `/api/v1`, where several share a database.

Owns: the one table; a test keeps every operation in it. Never: who owns a project (`daemon/ownership`), or
passing requests on (`project_owner`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

FROM_ROWS = frozenset(
    {
        *(
            "get_session",
            "export_session",
            "list_messages",
            "list_superseded",
            "get_message",
            "list_runs",
            "get_run",
        ),
        *("list_checkpoints", "list_rollbacks", "list_compactions", "get_compaction"),
        *("list_interactions", "get_interaction", "list_todo_proposals"),
        *("list_issues", "get_issue", "list_issue_updates", "list_issue_links", "list_issue_attachments"),
        *("list_todos", "get_upload", "get_workflow_run", "list_workspaces"),
        "list_attempts",
        "get_workspace_by_id",
    }
)
"""Reads of a project that need rows alone: every daemon answers them, and loads nothing of the project."""

BY_OWNER = frozenset(
    {
        # What the project is compiled to, and its files.
        *("get_project", "get_project_dsl", "get_synthesized_dsl", "get_capabilities", "list_agent_tools"),
        *("list_workflows", "list_hooks", "list_plugins", "list_mcp_servers", "list_project_permissions"),
        *("get_git_status", "get_git_diff", "list_git_branches"),
        *("list_session_permissions", "get_checkpoint", "get_checkpoint_prompt", "list_prompts"),
        "list_agents",
        # What the owner has in memory or in its data folder, or makes with its settings.
        *("list_commands", "get_command", "get_upload_content", "get_sent_request"),
        *("list_files", "get_file_content", "get_file_text", "get_file_problems"),
        *("search_files", "search_symbols"),
        # The owner knows the most secrets to redact.
        *("share_session", "preview_share"),
        # Everything that changes something in a project.
        *("reload_project", "trust_project", "distrust_project", "move_project"),
        *("update_session", "delete_session", "archive_session", "pause_session", "resume_session"),
        *("cancel_session", "continue_session", "post_message", "edit_message", "remove_message"),
        *("cancel_run", "retry_run", "edit_checkpoint_prompt", "remove_prompt_edit", "roll_back_session"),
        "see_warnings",
        *("fork_session", "undo_rollback", "compact_session", "preview_compaction", "flag_compaction"),
        *("approve_compaction", "edit_compaction", "reject_compaction", "answer_interaction"),
        *("upload_interaction_file", "create_issue", "edit_issue", "comment_on_issue", "transition_issue"),
        *("link_issue", "unlink_issue", "attach_files_to_issue", "detach_file_from_issue", "create_todo"),
        *("edit_todo", "delete_todo", "accept_todo_proposal", "reject_todo_proposal", "delete_upload"),
        *("invoke_workflow", "cancel_workflow_run", "stop_command", "call_tool"),
        *("create_project_permission", "delete_project_permission", "create_session_permission"),
        *("get_workspace", "merge_workspace", "keep_workspace", "discard_workspace", "undo_workspace"),
        *("merge_workspace_by_id", "keep_workspace_by_id", "discard_workspace_by_id"),
        *("undo_workspace_by_id", "retry_workspace", "retry_workspace_by_id"),
        *("list_changes", "get_change", "revert_change", "undo_revert", "list_reverts"),
        *("start_attempts", "get_attempts", "pick_attempt", "cancel_attempts"),
        "discard_attempts",
        *("delete_session_permission", "list_mcp_content", "enable_mcp_server", "enable_plugin", "test_hook"),
        *("stage_files", "unstage_files", "commit_files", "create_git_branch", "switch_git_branch"),
    }
)
"""Operations whose address names a project, or what belongs to one, and that only its owner can do."""

NAMED_OTHERWISE = frozenset(
    {"create_session", "load_project", "create_token", "upload_file", "validate_dsl", "import_session"}
)
"""Operations whose query or body may name a project. `import_session` is not passed on."""

BY_ANY = frozenset(
    {
        *("get_versions", "list_projects", "get_dsl_schema", "list_sessions", "list_modes", "list_tools"),
        *("list_machine_folders", "list_inbox"),
        *("list_workflow_runs", "list_models", "list_providers", "test_provider", "list_audit"),
        *("set_provider_key", "delete_provider_key"),
        *("sync_sessions", "get_metrics", "list_logs", "list_tokens", "revoke_token", "create_launch_link"),
    }
)
"""Operations of the whole database, or of the daemon that is asked."""


class ReadsFromRows:
    """Knows the addresses of `FROM_ROWS`."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._paths: list[re.Pattern[str]] = [
            route.path_regex
            for route in routes
            if isinstance(route, APIRoute) and route.operation_id in FROM_ROWS
        ]

    def have(self, method: str, path: str) -> bool:
        return method in ("GET", "HEAD") and any(one.fullmatch(path) for one in self._paths)
