"""The operations. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kaged_client._call import Call, given, part
from kaged_client._generated import models
from kaged_client._model import OMIT, Omit
from kaged_client._pages import Items
from kaged_client._sync import Transport

if TYPE_CHECKING:
    from kaged_client.session import Session


class Access:
    """Operations: access."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_launch_link(self) -> models.LaunchLink:
        """Create a link that signs in a browser.

        The link that the daemon prints at its start works once. This link signs in another browser.
        """
        return self._transport.model(Call("POST", "/api/v1/tokens/launch-link"), models.LaunchLink)

    def create_token(
        self,
        *,
        name: str,
        agent_path: str | None | Omit = OMIT,
        expires_at: str | datetime | None | Omit = OMIT,
        plugin: str | None | Omit = OMIT,
        project_id: str | None | Omit = OMIT,
        scope: Literal["operator", "read-only", "agent", "plugin", "chat"] | Omit = OMIT,
        session_id: str | None | Omit = OMIT,
    ) -> models.CreatedTokenAnswer:
        """Create an access token.

        A token of the scope `agent` calls one agent's tools in one session and reads that session. A token of
        the scope `plugin` reads the sessions of one project. A token of the scope `chat` talks to the agents of
        one project at `/v1/chat/completions` and `/mcp`. None of them approves requests, creates tokens, loads
        projects or changes rules.
        """
        return self._transport.model(
            Call(
                "POST",
                "/api/v1/tokens",
                body=given(
                    {
                        "agent_path": agent_path,
                        "expires_at": expires_at,
                        "name": name,
                        "plugin": plugin,
                        "project_id": project_id,
                        "scope": scope,
                        "session_id": session_id,
                    }
                ),
            ),
            models.CreatedTokenAnswer,
        )

    def list_tokens(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.TokenAnswer]:
        """List access tokens.

        The oldest first, including revoked and expired tokens.
        """
        return self._transport.items(
            Call("GET", "/api/v1/tokens", query={"limit": limit, "cursor": cursor}), models.TokenAnswer
        )

    def revoke_token(self, token_id: str) -> models.TokenAnswer:
        """Revoke an access token."""
        return self._transport.model(Call("DELETE", f"/api/v1/tokens/{part(token_id)}"), models.TokenAnswer)


class Attempts:
    """Operations: attempts."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def cancel(self, attempt_group_id: str) -> models.AttemptGroupAnswer:
        """Cancel attempts.

        Cancels the runs and checks that are in progress or queued. The workspaces stay: each attempt can be
        picked, or continue with another message.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/attempts/{part(attempt_group_id)}/cancel"), models.AttemptGroupAnswer
        )

    def discard(self, attempt_group_id: str) -> models.AttemptGroupAnswer:
        """Discard attempts.

        Cancels all attempts and discards their workspaces, which `undo` restores. None can be picked any more.
        Repeating it changes nothing. A group of which one is picked is a `conflict` (`already_picked`).
        """
        return self._transport.model(
            Call("POST", f"/api/v1/attempts/{part(attempt_group_id)}/discard"), models.AttemptGroupAnswer
        )

    def get(self, attempt_group_id: str) -> models.AttemptGroupAnswer:
        """Compare attempts.

        Shows the state of each attempt, its changes, check, tokens, cost and duration.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/attempts/{part(attempt_group_id)}"), models.AttemptGroupAnswer
        )

    def list(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.AttemptGroupAnswer]:
        """List a project's attempts, newest first.

        The items have no `changes` and no output of checks.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/attempts",
                query={"limit": limit, "cursor": cursor},
            ),
            models.AttemptGroupAnswer,
        )

    def pick(
        self,
        attempt_group_id: str,
        *,
        session_id: str,
        conflicts: Literal["refuse", "agent"] | Omit = OMIT,
        create: bool | Omit = OMIT,
        dry_run: bool | Omit = OMIT,
        hooks: bool | Omit = OMIT,
        into: str | Omit = OMIT,
        message: str | None | Omit = OMIT,
        strategy: Literal["squash", "merge"] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.PickAnswer:
        """Merge one attempt and discard the others.

        Merges the attempt, cancels the others and discards their workspaces, which `undo` restores. Refused
        for the reasons of a merge; a refused pick discards nothing. With `dry_run` conflicts and blocked files
        are no error: the answer is 200 with both. Picking the same attempt again changes nothing. Picking
        another one is a `conflict` (`already_picked`), and so is any pick while one is in progress
        (`pick_in_progress`).
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/attempts/{part(attempt_group_id)}/pick",
                body=given(
                    {
                        "conflicts": conflicts,
                        "create": create,
                        "dry_run": dry_run,
                        "hooks": hooks,
                        "into": into,
                        "message": message,
                        "session_id": session_id,
                        "strategy": strategy,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            models.PickAnswer,
        )

    def start(
        self,
        project_id: str,
        *,
        attempts: models.AskAttempts | Mapping[str, Any],
        content: str,
        title: str | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.AttemptGroupAnswer:
        """Start attempts at a task.

        Opens `n` sessions with the message, each in a workspace, all from the same commit. To start attempts
        as forks of a session, post a message with `attempts`; as runs of a workflow, invoke it with
        `attempts`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/attempts",
                body=given({"attempts": attempts, "content": content, "title": title}),
                keyed=True,
                key=idempotency_key,
            ),
            models.AttemptGroupAnswer,
        )


class Changes:
    """Operations: changes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(
        self,
        session_id: str,
        path: str,
        *,
        since: str | None = None,
        context: int | None = None,
        content: bool | None = None,
    ) -> models.ChangeDiffAnswer:
        """Show what changed in a file.

        Lines are Unicode, whatever the encoding of the file. A CR before the newline is part of the line. A
        read-only token does not get files that usually hold credentials (403, `secret_file`).
        """
        return self._transport.model(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/changes/{part(path)}",
                query={"since": since, "context": context, "content": content},
            ),
            models.ChangeDiffAnswer,
        )

    def list(
        self,
        session_id: str,
        *,
        since: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.ChangeAnswer]:
        """List the files that a session changed.

        The files that differ from the baseline, whoever changed them: agents, commands or people. Files that
        git ignores are left out. Uncommitted changes from before the session are part of the baseline `start`.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/changes",
                query={"since": since, "limit": limit, "cursor": cursor},
            ),
            models.ChangeAnswer,
        )

    def list_reverts(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.RevertAnswer]:
        """List a session's reverts, newest first.

        Includes undone reverts (`undone_at`). A read-only token does not get `lines`: a file may hold
        credentials.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/reverts",
                query={"limit": limit, "cursor": cursor},
            ),
            models.RevertAnswer,
        )

    def revert(
        self,
        session_id: str,
        *,
        path: str,
        digest: str | None | Omit = OMIT,
        hunks: Sequence[str] | None | Omit = OMIT,
        since: str | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.RevertAnswer:
        """Revert a file, or hunks of it.

        Conflict with the reason `changed_since` when the file has changed since the diff.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/reverts",
                body=given({"digest": digest, "hunks": hunks, "path": path, "since": since}),
                keyed=True,
                key=idempotency_key,
            ),
            models.RevertAnswer,
        )

    def undo_revert(
        self, session_id: str, revert_id: str, *, idempotency_key: str | None = None
    ) -> models.RevertAnswer:
        """Undo a revert.

        Conflict with the reason `changed_since` when a file has changed since the revert.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/reverts/{part(revert_id)}/undo",
                keyed=True,
                key=idempotency_key,
            ),
            models.RevertAnswer,
        )


class Checkpoints:
    """Operations: checkpoints."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def edit_checkpoint_prompt(
        self,
        session_id: str,
        checkpoint_id: str,
        agent_path: str,
        *,
        content: str,
        base_hash: str | None | Omit = OMIT,
        write: bool | Omit = OMIT,
    ) -> models.PromptAnswer:
        """Edit an agent's prompt at a checkpoint.

        The edit applies to this session from the end of the pause until it is removed, across restarts and
        changes of the file. No file changes unless `write` is true.
        """
        return self._transport.model(
            Call(
                "PUT",
                f"/api/v1/sessions/{part(session_id)}/checkpoints/{part(checkpoint_id)}/prompts/{part(agent_path)}",
                body=given({"base_hash": base_hash, "content": content, "write": write}),
            ),
            models.PromptAnswer,
        )

    def fork_session(
        self, session_id: str, *, message_id: str, idempotency_key: str | None = None
    ) -> Session:
        """Fork a session at a message.

        The fork has the conversation at that message, including messages superseded since, with the same
        overrides, compiled project and edited prompts. The original session does not change.
        """
        return self._transport.session(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/fork",
                body=given({"message_id": message_id}),
                keyed=True,
                key=idempotency_key,
            )
        )

    def get(self, session_id: str, checkpoint_id: str) -> models.CheckpointDetail:
        """Show a checkpoint with its conversation and prompts.

        Includes messages that were compacted or rolled back since. `prompts` are those of the next call, each
        with the system prompt that was last sent before the checkpoint.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/checkpoints/{part(checkpoint_id)}"),
            models.CheckpointDetail,
        )

    def get_checkpoint_prompt(
        self, session_id: str, checkpoint_id: str, agent_path: str
    ) -> models.PromptAnswer:
        """Show one agent's prompt at a checkpoint."""
        return self._transport.model(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/checkpoints/{part(checkpoint_id)}/prompts/{part(agent_path)}",
            ),
            models.PromptAnswer,
        )

    def list(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.CheckpointAnswer]:
        """List a session's checkpoints, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/checkpoints",
                query={"limit": limit, "cursor": cursor},
            ),
            models.CheckpointAnswer,
        )

    def list_prompts(self, session_id: str) -> Items[models.PromptAnswer]:
        """Show the system prompts of the agents.

        The text of each agent's prompt, and the whole system prompt that was last sent.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/prompts"), models.PromptAnswer
        )

    def list_rollbacks(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.RollbackAnswer]:
        """List a session's rollbacks, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/rollbacks",
                query={"limit": limit, "cursor": cursor},
            ),
            models.RollbackAnswer,
        )

    def remove_prompt_edit(self, session_id: str, agent_path: str) -> None:
        """Remove the edit of an agent's prompt.

        A running agent uses the text of the file from its next message boundary on.
        """
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/sessions/{part(session_id)}/prompts/{part(agent_path)}")
        )

    def roll_back_session(
        self,
        session_id: str,
        *,
        before: bool | Omit = OMIT,
        checkpoint_id: str | None | Omit = OMIT,
        files: bool | Omit = OMIT,
        force: bool | Omit = OMIT,
        message_id: str | None | Omit = OMIT,
        plan: str | None | Omit = OMIT,
        stage: bool | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.StagedRollbackAnswer | models.RollbackAnswer:
        """Rewind a session to a checkpoint or a message.

        Later messages are superseded, never deleted. The session becomes idle; `continue` runs a last message
        that has no answer. Later compactions are undone. Queued messages are held. With `files`, files are
        restored as well; `stage` previews that.
        """
        made: models.StagedRollbackAnswer | models.RollbackAnswer = self._transport.either(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/rollback",
                body=given(
                    {
                        "before": before,
                        "checkpoint_id": checkpoint_id,
                        "files": files,
                        "force": force,
                        "message_id": message_id,
                        "plan": plan,
                        "stage": stage,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            {200: models.StagedRollbackAnswer, 201: models.RollbackAnswer},
        )
        return made

    def undo_rollback(
        self,
        session_id: str,
        rollback_id: str,
        *,
        force: bool | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.RollbackAnswer:
        """Undo a rollback.

        Possible until something is posted or compacted; the newest rollback is undone first. Files that it
        restored are put back as well, unless they changed since.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/rollbacks/{part(rollback_id)}/undo",
                body=given({"force": force}),
                keyed=True,
                key=idempotency_key,
            ),
            models.RollbackAnswer,
        )


class Commands:
    """Operations: commands."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, session_id: str, command_id: str) -> models.CommandOutputAnswer:
        """Show a shell command with the end of its output."""
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/commands/{part(command_id)}"),
            models.CommandOutputAnswer,
        )

    def list(self, session_id: str) -> Items[models.CommandAnswer]:
        """List the shell commands of a session, oldest first.

        Running commands, commands that outlived their call, and the newest ended ones of these.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/commands"), models.CommandAnswer
        )

    def stop(self, session_id: str, command_id: str) -> models.CommandOutputAnswer:
        """Stop a shell command and its processes.

        Answers once all processes have ended, after at most a few seconds of grace.
        """
        return self._transport.model(
            Call("DELETE", f"/api/v1/sessions/{part(session_id)}/commands/{part(command_id)}"),
            models.CommandOutputAnswer,
        )


class Compactions:
    """Operations: compactions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def approve(
        self, session_id: str, compaction_id: str, *, idempotency_key: str | None = None
    ) -> models.CompactionAnswer:
        """Approve a proposed compaction.

        The session stays paused. After a resume the model gets the shorter conversation.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/compactions/{part(compaction_id)}/approve",
                keyed=True,
                key=idempotency_key,
            ),
            models.CompactionAnswer,
        )

    def compact_session(
        self,
        session_id: str,
        *,
        agent_path: str | Omit = OMIT,
        strategy: Literal["drop", "summarize", "delegate", "checkpoint"] | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.CompactAnswer:
        """Compact an agent's context now.

        While the agent runs, the compaction waits for the next boundary between two model calls, at most a
        minute. Superseded messages stay readable.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/compact",
                body=given({"agent_path": agent_path, "strategy": strategy}),
                keyed=True,
                key=idempotency_key,
            ),
            models.CompactAnswer,
        )

    def edit(
        self,
        session_id: str,
        compaction_id: str,
        *,
        summary: str | None | Omit = OMIT,
        superseded_message_ids: Sequence[str] | None | Omit = OMIT,
    ) -> models.CompactionAnswer:
        """Edit a proposed compaction.

        The compaction stays proposed until you approve or reject it.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/compactions/{part(compaction_id)}/edit",
                body=given({"summary": summary, "superseded_message_ids": superseded_message_ids}),
            ),
            models.CompactionAnswer,
        )

    def flag(
        self,
        session_id: str,
        compaction_id: str,
        *,
        flag: Literal["good", "bad", "neutral"] | None,
        notes: str | None | Omit = OMIT,
    ) -> models.CompactionAnswer:
        """Flag a compaction."""
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/compactions/{part(compaction_id)}/flag",
                body=given({"flag": flag, "notes": notes}),
            ),
            models.CompactionAnswer,
        )

    def get(self, session_id: str, compaction_id: str) -> models.CompactionAnswer:
        """Show a compaction."""
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/compactions/{part(compaction_id)}"),
            models.CompactionAnswer,
        )

    def list(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.CompactionAnswer]:
        """List a session's compactions, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/compactions",
                query={"limit": limit, "cursor": cursor},
            ),
            models.CompactionAnswer,
        )

    def preview(
        self,
        session_id: str,
        *,
        agent_path: str | Omit = OMIT,
        strategy: Literal["drop", "summarize", "delegate", "checkpoint"] | None | Omit = OMIT,
    ) -> models.CompactionPreview:
        """Preview a compaction.

        Nothing is stored. The summary is generated by a model call; `record.plugin_cost` has its cost, which
        is not part of the session's totals.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/compactions/dry-run",
                body=given({"agent_path": agent_path, "strategy": strategy}),
            ),
            models.CompactionPreview,
        )

    def reject(self, session_id: str, compaction_id: str) -> models.CompactionAnswer:
        """Reject a proposed compaction.

        A resumed run continues with the conversation as it is. It proposes a compaction again once the
        conversation has grown by a tenth.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/compactions/{part(compaction_id)}/reject"),
            models.CompactionAnswer,
        )


class Files:
    """Operations: files."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get_file_content(
        self, project_id: str, *, path: str | None = None, session_id: str | None = None
    ) -> bytes:
        """Download a file of a project.

        The bytes as they are. `Range` may request one range, `If-None-Match` and `If-Range` take the `ETag`.
        The connection breaks when the file changes during the download, unless it only grows. A read-only token
        does not get files that usually hold credentials (403, `secret_file`).
        """
        return self._transport.data(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/files/content",
                query={"path": path, "session_id": session_id},
            )
        )

    def get_file_problems(
        self,
        project_id: str,
        *,
        wait: float | None = None,
        path: str | None = None,
        session_id: str | None = None,
    ) -> Items[models.FileProblem]:
        """Read what language servers find in a file.

        Starts the language server of the file if it does not run, as the tools of agents do. At most 500
        problems, the most serious ones, by position; `total` counts all. For read-only tokens the rules of the
        content hold, and the server's words are withheld.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/files/problems",
                query={"wait": wait, "path": path, "session_id": session_id},
            ),
            models.FileProblem,
        )

    def get_file_text(
        self,
        project_id: str,
        *,
        line: int | None = None,
        limit: int | None = None,
        path: str | None = None,
        session_id: str | None = None,
    ) -> models.FileText:
        """Read lines of a text file of a project.

        At most 256 KiB of lines. The encoding is detected. A file that is not text is a conflict
        (`binary_file`). For read-only tokens the rules of the content hold.
        """
        return self._transport.model(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/files/text",
                query={"line": line, "limit": limit, "path": path, "session_id": session_id},
            ),
            models.FileText,
        )

    def list(
        self,
        project_id: str,
        *,
        depth: int | None = None,
        ignored: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        path: str | None = None,
        session_id: str | None = None,
    ) -> Items[models.FileEntry]:
        """List a folder of a project.

        Symbolic links are listed and not followed. Sizes and times are current. An ignored folder is listed
        with all its content when `path` names it.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/files",
                query={
                    "depth": depth,
                    "ignored": ignored,
                    "limit": limit,
                    "cursor": cursor,
                    "path": path,
                    "session_id": session_id,
                },
            ),
            models.FileEntry,
        )

    def search(
        self,
        project_id: str,
        *,
        q: str | None = None,
        kind: Literal["any", "file", "folder"] | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> Items[models.FileHit]:
        """Search files of a project by name.

        Ignored files are not found. Consecutive letters, and letters at word starts and in the file's own
        name, score higher. Among equal scores the shorter path is first, then the file changed last. The first
        search of a project takes longer, because it lists the files.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/files/search",
                query={"q": q, "kind": kind, "limit": limit, "session_id": session_id},
            ),
            models.FileHit,
        )

    def search_symbols(
        self,
        project_id: str,
        *,
        q: str | None = None,
        limit: int | None = None,
        session_id: str | None = None,
    ) -> Items[models.SymbolHit]:
        """Search what the files of a project declare.

        Classes, functions and the like, by the syntax of the files: no language server is needed, and nothing
        of the project runs. Ignored files are not searched. The first search of a project reads its source
        files, later ones what has changed; an answer waits 1.5 seconds for it at most.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/symbols",
                query={"q": q, "limit": limit, "session_id": session_id},
            ),
            models.SymbolHit,
        )


class Git:
    """Operations: git."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def commit_files(
        self,
        project_id: str,
        *,
        allow_empty: bool | Omit = OMIT,
        amend: bool | Omit = OMIT,
        hooks: bool | Omit = OMIT,
        message: str | None | Omit = OMIT,
        paths: Sequence[str] | None | Omit = OMIT,
        unsigned: bool | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.GitCommitAnswer:
        """Commit.

        The author comes from git's settings. Hooks run only with `hooks`. 409: `nothing_to_commit`,
        `index_locked`, `operation_in_progress`, `identity_missing`, `signing_required`, `conflicts`,
        `daemon_file`, `filtered`, `hook_failed` (with `output`), `git_failed`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/git/commit",
                body=given(
                    {
                        "allow_empty": allow_empty,
                        "amend": amend,
                        "hooks": hooks,
                        "message": message,
                        "paths": paths,
                        "unsigned": unsigned,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            models.GitCommitAnswer,
        )

    def create_git_branch(
        self,
        project_id: str,
        *,
        name: str,
        from_: str | None | Omit = OMIT,
        switch: bool | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.GitHeadAnswer:
        """Create a branch.

        With `switch` the branch is created and checked out, or neither. It gets no upstream. 409:
        `branch_exists`, `no_commits`, and the reasons of a switch.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/git/branches",
                body=given({"from": from_, "name": name, "switch": switch}),
                keyed=True,
                key=idempotency_key,
            ),
            models.GitHeadAnswer,
        )

    def get_git_diff(self, project_id: str, *, path: str, staged: bool | None = None) -> models.GitDiffAnswer:
        """Show the difference of one file.

        From the index to the working tree; with `staged` from the last commit to the index.
        """
        return self._transport.model(
            Call(
                "GET", f"/api/v1/projects/{part(project_id)}/git/diff", query={"path": path, "staged": staged}
            ),
            models.GitDiffAnswer,
        )

    def get_git_status(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.GitFileAnswer]:
        """Show what has changed since the last commit.

        Shows the branch, an operation in progress, and the files that differ, sorted by path. Ignored files
        are left out.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/git/status",
                query={"limit": limit, "cursor": cursor},
            ),
            models.GitFileAnswer,
        )

    def list_git_branches(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.GitBranchAnswer]:
        """List the branches.

        Lists local branches by name, then remote-tracking branches.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/git/branches",
                query={"limit": limit, "cursor": cursor},
            ),
            models.GitBranchAnswer,
        )

    def stage_files(
        self,
        project_id: str,
        *,
        hunks: Sequence[str] | None | Omit = OMIT,
        path: str | None | Omit = OMIT,
        paths: Sequence[str] | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.GitStagingAnswer:
        """Stage files or hunks.

        Stages all of it or nothing. A missing file is staged as deleted. 409: `index_locked`,
        `changed_since`, `conflicts`, `daemon_file`, `filtered`, `git_failed`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/git/stage",
                body=given({"hunks": hunks, "path": path, "paths": paths}),
                keyed=True,
                key=idempotency_key,
            ),
            models.GitStagingAnswer,
        )

    def switch_git_branch(
        self, project_id: str, *, name: str, idempotency_key: str | None = None
    ) -> models.GitHeadAnswer:
        """Switch to a branch.

        Uncommitted changes stay if the switch does not touch their files. 409: `would_overwrite` (with
        `paths`), `index_locked`, `operation_in_progress`, `filtered`, `git_failed`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/git/switch",
                body=given({"name": name}),
                keyed=True,
                key=idempotency_key,
            ),
            models.GitHeadAnswer,
        )

    def unstage_files(
        self,
        project_id: str,
        *,
        hunks: Sequence[str] | None | Omit = OMIT,
        path: str | None | Omit = OMIT,
        paths: Sequence[str] | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.GitStagingAnswer:
        """Unstage files or hunks.

        Files of the working tree stay as they are. 409: `index_locked`, `changed_since`, `git_failed`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/git/unstage",
                body=given({"hunks": hunks, "path": path, "paths": paths}),
                keyed=True,
                key=idempotency_key,
            ),
            models.GitStagingAnswer,
        )


class Health:
    """Operations: health."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self) -> models.Health:
        """Check that the process is up."""
        return self._transport.model(Call("GET", "/healthz"), models.Health)

    def get_readiness(self) -> models.Readiness:
        """Check that the daemon is ready.

        Checks the database, its schema, the free disk space, the sandbox and whether projects can be written,
        at most once per second. The status is 503 when a required check failed. The answer comes within two
        seconds.
        """
        return self._transport.model(Call("GET", "/readyz"), models.Readiness)

    def get_versions(self) -> models.Versions:
        """Get the versions of the daemon and its API."""
        return self._transport.model(Call("GET", "/api/v1/versions"), models.Versions)


class Hooks:
    """Operations: hooks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, project_id: str) -> Items[models.HookAnswer]:
        """List the hooks of a project.

        The operator's hooks first, which run in every project, then those of the project file.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/hooks"), models.HookAnswer
        )

    def test(
        self,
        project_id: str,
        name: str,
        *,
        agent_path: str | Omit = OMIT,
        answer: str | Omit = OMIT,
        arguments: Mapping[str, Any] | Omit = OMIT,
        is_error: bool | Omit = OMIT,
        prompt: str | Omit = OMIT,
        result: Any = OMIT,
        stop_reason: str | Omit = OMIT,
        tool: str | Omit = OMIT,
    ) -> models.HookTestAnswer:
        """Run a hook on an example.

        Runs the command in its cage with the JSON that it would get, and answers what would follow. `match`
        and `agents` do not count here. A project's hook goes before the operator's of the same name.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/hooks/{part(name)}/test",
                body=given(
                    {
                        "agent_path": agent_path,
                        "answer": answer,
                        "arguments": arguments,
                        "is_error": is_error,
                        "prompt": prompt,
                        "result": result,
                        "stop_reason": stop_reason,
                        "tool": tool,
                    }
                ),
            ),
            models.HookTestAnswer,
        )


class Interactions:
    """Operations: interactions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def answer(
        self,
        session_id: str,
        interaction_id: str,
        *,
        answer: Literal["once", "always", "reject"] | None | Omit = OMIT,
        answers: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None | Omit = OMIT,
        comment: str | None | Omit = OMIT,
        decision: Literal["accept", "edit", "reject"] | None | Omit = OMIT,
        mode: Literal["plan", "ask", "edits", "full"] | None | Omit = OMIT,
        plan: str | None | Omit = OMIT,
        rule: int | str | None | Omit = OMIT,
        scope: Literal["session", "project"] | None | Omit = OMIT,
        values: Mapping[str, str | bool | float | None] | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.InteractionAnswer:
        """Answer a question.

        Only the first answer counts. A later one is a conflict that names the first answer and its author. A
        session that paused for questions continues once the last of them is answered. `always` also answers other
        open requests of running runs that its new rules allow.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/interactions/{part(interaction_id)}/answer",
                body=given(
                    {
                        "answer": answer,
                        "answers": answers,
                        "comment": comment,
                        "decision": decision,
                        "mode": mode,
                        "plan": plan,
                        "rule": rule,
                        "scope": scope,
                        "values": values,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            models.InteractionAnswer,
        )

    def get(self, session_id: str, interaction_id: str) -> models.InteractionAnswer:
        """Show a question with its answer."""
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/interactions/{part(interaction_id)}"),
            models.InteractionAnswer,
        )

    def list_inbox(
        self,
        *,
        project_id: str | None = None,
        kind: Sequence[
            Literal[
                "question",
                "todo_proposal",
                "compaction",
                "budget",
                "budget_warning",
                "failed_run",
                "finished_run",
            ]
        ]
        | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.InboxItem]:
        """List what waits for a person, oldest first.

        Open questions, proposals for the checklist, compactions that wait for approval, the runs that a limit
        has paused, those that have used 80 % of one, and the newest run of each idle session that failed, or that
        succeeded, while nobody has seen its end. Runs that ended stay for 14 days.
        Sessions without people (`headless`) and those of workflows are not listed when they succeed.
        """
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/inbox",
                query={"project_id": project_id, "kind": kind, "limit": limit, "cursor": cursor},
            ),
            models.InboxItem,
        )

    def list(
        self,
        session_id: str,
        *,
        state: Literal["pending", "answered", "cancelled", "expired"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.InteractionAnswer]:
        """List a session's questions, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/interactions",
                query={"state": state, "limit": limit, "cursor": cursor},
            ),
            models.InteractionAnswer,
        )

    def upload_interaction_file(
        self,
        session_id: str,
        interaction_id: str,
        content: bytes | Path,
        *,
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.UploadAnswer:
        """Upload a file for a form.

        Send the id of the upload as the value of a `file` field. Works like `POST /uploads` for the project of
        the session. A file that no answer names is removed after a day.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/interactions/{part(interaction_id)}/files",
                query={"name": name},
                content=content,
                content_type="application/octet-stream",
                keyed=True,
                key=idempotency_key,
            ),
            models.UploadAnswer,
        )


class Issues:
    """Operations: issues."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def accept_todo_proposal(self, session_id: str, proposal_id: str) -> models.ProposalAnswer:
        """Accept a proposal for the checklist of the session's issue.

        `conflict` with the reason `no_bound_issue` while the session is bound to no issue.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/todo-proposals/{part(proposal_id)}/accept"),
            models.ProposalAnswer,
        )

    def attach_files_to_issue(
        self, project_id: str, number: int, *, upload_ids: Sequence[str], idempotency_key: str | None = None
    ) -> models.IssueAttachments:
        """Attach uploaded files to an issue.

        Upload them first with `POST /uploads`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/attachments",
                body=given({"upload_ids": upload_ids}),
                keyed=True,
                key=idempotency_key,
            ),
            models.IssueAttachments,
        )

    def comment_on_issue(
        self,
        project_id: str,
        number: int,
        *,
        body: str,
        visibility: Literal["all", "operator_only"] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.IssueUpdateAnswer:
        """Add a comment to an issue."""
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/comments",
                body=given({"body": body, "visibility": visibility}),
                keyed=True,
                key=idempotency_key,
            ),
            models.IssueUpdateAnswer,
        )

    def create(
        self,
        project_id: str,
        *,
        title: str,
        attachments: Sequence[str] | Omit = OMIT,
        body: str | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.IssueAnswer:
        """File an issue."""
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues",
                body=given({"attachments": attachments, "body": body, "title": title}),
                keyed=True,
                key=idempotency_key,
            ),
            models.IssueAnswer,
        )

    def create_todo(
        self,
        project_id: str,
        number: int,
        *,
        content: str,
        kind: Literal["step", "criterion"] | Omit = OMIT,
        phase: str | None | Omit = OMIT,
        position: int | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.TodoAnswer:
        """Add an entry to the checklist of an issue.

        `conflict` with the reason `todo_exists` when an open entry has the same text.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/todos",
                body=given({"content": content, "kind": kind, "phase": phase, "position": position}),
                keyed=True,
                key=idempotency_key,
            ),
            models.TodoAnswer,
        )

    def delete_todo(self, project_id: str, number: int, todo_id: str) -> None:
        """Drop a checklist entry.

        The entry is abandoned and stays in the history.
        """
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/todos/{part(todo_id)}")
        )

    def detach_file_from_issue(self, project_id: str, number: int, upload_id: str) -> None:
        """Remove a file from an issue.

        The file is deleted later, because nothing uses it any more.
        """
        return self._transport.nothing(
            Call(
                "DELETE",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/attachments/{part(upload_id)}",
            )
        )

    def edit(
        self,
        project_id: str,
        number: int,
        *,
        assignment: str | None | Omit = OMIT,
        body: str | None | Omit = OMIT,
        title: str | None | Omit = OMIT,
    ) -> models.EditedIssue:
        """Change title, text or assignment of an issue.

        An assignment starts the work: `primary` starts a session, `workflow:<name>` starts a run of the
        workflow, `session:<id>` binds that session. The issue becomes `assigned`, unless it is in progress.
        """
        return self._transport.model(
            Call(
                "PATCH",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}",
                body=given({"assignment": assignment, "body": body, "title": title}),
            ),
            models.EditedIssue,
        )

    def edit_todo(
        self,
        project_id: str,
        number: int,
        todo_id: str,
        *,
        accept: Literal[True] | None | Omit = OMIT,
        content: str | None | Omit = OMIT,
        note: str | None | Omit = OMIT,
        phase: str | None | Omit = OMIT,
        position: int | None | Omit = OMIT,
        reject: models.RejectClaim | Mapping[str, Any] | None | Omit = OMIT,
        resolve: models.ResolveIssue | Mapping[str, Any] | None | Omit = OMIT,
        status: Literal["pending", "in_progress", "completed", "abandoned"] | None | Omit = OMIT,
    ) -> models.TodoAnswer:
        """Update a checklist entry; accept or reject a criterion.

        `conflict` with the reason `invalid_transition`, `not_a_criterion` (accept, reject), or
        `criteria_open` (resolve while others are not accepted).
        """
        return self._transport.model(
            Call(
                "PATCH",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/todos/{part(todo_id)}",
                body=given(
                    {
                        "accept": accept,
                        "content": content,
                        "note": note,
                        "phase": phase,
                        "position": position,
                        "reject": reject,
                        "resolve": resolve,
                        "status": status,
                    }
                ),
            ),
            models.TodoAnswer,
        )

    def get(self, project_id: str, number: int) -> models.IssueDetailAnswer:
        """Show an issue with its history, links, files and checklist counts.

        Comments for operators only are shown to operators.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/projects/{part(project_id)}/issues/{part(number)}"),
            models.IssueDetailAnswer,
        )

    def link(
        self,
        project_id: str,
        number: int,
        *,
        kind: Literal["blocks", "relates", "duplicates"],
        target: int,
        idempotency_key: str | None = None,
    ) -> models.IssueLinkAnswer:
        """Link an issue to another issue.

        Two issues have at most one link of a kind in each direction.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/links",
                body=given({"kind": kind, "target": target}),
                keyed=True,
                key=idempotency_key,
            ),
            models.IssueLinkAnswer,
        )

    def list_issue_attachments(self, project_id: str, number: int) -> Items[models.UploadAnswer]:
        """List the files of an issue.

        Their contents are at `/uploads/{id}/content`.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/attachments"),
            models.UploadAnswer,
        )

    def list_issue_links(self, project_id: str, number: int) -> Items[models.IssueLinkAnswer]:
        """List the links from and to an issue."""
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/links"),
            models.IssueLinkAnswer,
        )

    def list_issue_updates(
        self, project_id: str, number: int, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.IssueUpdateAnswer]:
        """List the history of an issue, newest first.

        Comments for operators only are shown to operators.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/updates",
                query={"limit": limit, "cursor": cursor},
            ),
            models.IssueUpdateAnswer,
        )

    def list(
        self,
        project_id: str,
        *,
        status: Sequence[
            Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"]
        ]
        | None = None,
        assignment: str | None = None,
        search: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.IssueSummary]:
        """List the issues of a project, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/issues",
                query={
                    "status": status,
                    "assignment": assignment,
                    "search": search,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.IssueSummary,
        )

    def list_todo_proposals(
        self,
        session_id: str,
        *,
        state: Literal["proposed", "accepted", "rejected"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.ProposalAnswer]:
        """List the checklist proposals of a session's subagents, newest first.

        The root agent or an operator decides about entries that are `proposed`.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/todo-proposals",
                query={"state": state, "limit": limit, "cursor": cursor},
            ),
            models.ProposalAnswer,
        )

    def list_todos(
        self, project_id: str, number: int, *, include_abandoned: bool | None = None
    ) -> Items[models.TodoAnswer]:
        """Show the checklist of an issue.

        The whole checklist in one answer: it has at most 200 entries that are not abandoned.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/todos",
                query={"include_abandoned": include_abandoned},
            ),
            models.TodoAnswer,
        )

    def reject_todo_proposal(self, session_id: str, proposal_id: str) -> models.ProposalAnswer:
        """Reject a proposal."""
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/todo-proposals/{part(proposal_id)}/reject"),
            models.ProposalAnswer,
        )

    def transition(
        self,
        project_id: str,
        number: int,
        *,
        to: Literal["open", "triaged", "assigned", "in_progress", "resolved", "rejected", "reopened"],
        comment: str | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.TransitionedIssue:
        """Move an issue to another status.

        An illegal transition is a conflict with `details.legal`. Resolving an issue accepts the remaining
        criteria of its checklist.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/transition",
                body=given({"comment": comment, "to": to}),
                keyed=True,
                key=idempotency_key,
            ),
            models.TransitionedIssue,
        )

    def unlink(self, project_id: str, number: int, link_id: str) -> None:
        """Remove a link from or to an issue."""
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/projects/{part(project_id)}/issues/{part(number)}/links/{part(link_id)}")
        )


class McpServers:
    """Operations: mcp_servers."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enable(self, project_id: str, name: str) -> models.EnabledAnswer:
        """Enable a disabled MCP server.

        A server that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
        starts it.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/projects/{part(project_id)}/mcp/{part(name)}/enable"), models.EnabledAnswer
        )

    def list_mcp_content(self, project_id: str, name: str) -> models.McpContentAnswer:
        """List the resources and prompts of an MCP server.

        The server is asked, and started if need be.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/projects/{part(project_id)}/mcp/{part(name)}/content"),
            models.McpContentAnswer,
        )

    def list(self, project_id: str) -> Items[models.McpServerAnswer]:
        """List the MCP servers of a project.

        The operator's servers and those of the trusted project file, by name. Nothing is started: a server
        that no session has used yet is `stopped`, and has no tools here.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/mcp"), models.McpServerAnswer
        )


class Messages:
    """Operations: messages."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def edit(
        self,
        session_id: str,
        message_id: str,
        *,
        content: str | None | Omit = OMIT,
        mode: Literal["queue", "steer"] | None | Omit = OMIT,
    ) -> models.MessageAnswer:
        """Edit a queued message.

        Changes the text, or `mode`: when the message runs. `409 not_waiting` once the message is in the
        conversation.
        """
        return self._transport.model(
            Call(
                "PATCH",
                f"/api/v1/sessions/{part(session_id)}/messages/{part(message_id)}",
                body=given({"content": content, "mode": mode}),
            ),
            models.MessageAnswer,
        )

    def get(self, session_id: str, message_id: str) -> models.MessageAnswer:
        """Show one message.

        The complete message, also when a frame had only part of a tool result (`contentRef`).
        """
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/messages/{part(message_id)}"),
            models.MessageAnswer,
        )

    def list(
        self,
        session_id: str,
        *,
        include_superseded: bool | None = None,
        agent_path: str | None = None,
        run_id: str | None = None,
        waiting: bool | None = None,
        superseded_by: str | None = None,
        order: Literal["oldest", "newest"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.MessageAnswer]:
        """List a session's messages.

        The messages of all agents in order, each with its `agent_path`; queued messages come last. With
        `order=newest` the whole order is turned around, so that the first page has the end of the conversation.
        Images in tool results are omitted: request the message itself.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/messages",
                query={
                    "include_superseded": include_superseded,
                    "agent_path": agent_path,
                    "run_id": run_id,
                    "waiting": waiting,
                    "superseded_by": superseded_by,
                    "order": order,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.MessageAnswer,
        )

    def list_superseded(self, session_id: str, *, agent_path: str | None = None) -> models.SupersededAnswer:
        """List what was taken out of a conversation.

        One item for each rollback and compaction that superseded messages, the oldest first. The messages
        themselves: `GET .../messages?superseded_by=`.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/superseded", query={"agent_path": agent_path}),
            models.SupersededAnswer,
        )

    def post(
        self,
        session_id: str,
        *,
        content: str,
        attachments: Sequence[models.ImageAttachment | Mapping[str, Any]] | Omit = OMIT,
        attempts: models.AskAttempts | Mapping[str, Any] | None | Omit = OMIT,
        mode: Literal["queue", "steer", "reject"] | None | Omit = OMIT,
        model: str | None | Omit = OMIT,
        upload_ids: Sequence[str] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.PostedMessageAnswer:
        """Post a message to a session.

        Answers as soon as the message and its run are stored: 201 when a run starts, 202 when the message is
        queued or steers the active run, or becomes the first message of `attempts`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/messages",
                body=given(
                    {
                        "attachments": attachments,
                        "attempts": attempts,
                        "content": content,
                        "mode": mode,
                        "model": model,
                        "upload_ids": upload_ids,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            models.PostedMessageAnswer,
        )

    def remove(self, session_id: str, message_id: str) -> None:
        """Remove a queued message.

        `409 not_waiting` once the message is in the conversation; `rollback` removes it from there.
        """
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/sessions/{part(session_id)}/messages/{part(message_id)}")
        )


class Operations:
    """Operations: operations."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get_metrics(self) -> str:
        """Get the metrics in the Prometheus format.

        Counters start at zero with the daemon. Names begin with `kaged_`.
        """
        return self._transport.text(Call("GET", "/api/v1/metrics"))

    def list_audit(
        self,
        *,
        event: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.AuditEntry]:
        """List the audit trail, newest first."""
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/audit",
                query={
                    "event": event,
                    "session_id": session_id,
                    "run_id": run_id,
                    "project_id": project_id,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.AuditEntry,
        )

    def list_logs(
        self,
        *,
        level: Literal["debug", "info", "warning", "error", "critical"] | None = None,
        event: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        text: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.LogRecord]:
        """List the daemon's log, newest first.

        Entries appear here within a second, without secrets. `storage.log_retention_days` and
        `storage.log_retention_entries` limit how long they stay.
        """
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/logs",
                query={
                    "level": level,
                    "event": event,
                    "session_id": session_id,
                    "run_id": run_id,
                    "text": text,
                    "since": since,
                    "until": until,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.LogRecord,
        )

    def sync_sessions(self, *, sessions: str) -> models.CatchUp:
        """Get the missed events of several sessions.

        Returns the durable events after `seq` for each `id:seq` of the list, as the WebSocket sends them: at
        most 500 per session and 8 MB in all.
        """
        return self._transport.model(
            Call("GET", "/api/v1/sync", query={"sessions": sessions}), models.CatchUp
        )


class Permissions:
    """Operations: permissions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_project_permission(
        self,
        project_id: str,
        *,
        pattern: str,
        permission: str,
        action: Literal["allow", "deny", "ask"] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.PermissionAnswer:
        """Create a permission rule for a project.

        It applies from the next call on, also in running sessions.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/permissions",
                body=given({"action": action, "pattern": pattern, "permission": permission}),
                keyed=True,
                key=idempotency_key,
            ),
            models.PermissionAnswer,
        )

    def create_session_permission(
        self,
        session_id: str,
        *,
        pattern: str,
        permission: str,
        action: Literal["allow", "deny", "ask"] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.PermissionAnswer:
        """Create a permission rule for a session.

        It applies from the next call on, also while the session is running.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/permissions",
                body=given({"action": action, "pattern": pattern, "permission": permission}),
                keyed=True,
                key=idempotency_key,
            ),
            models.PermissionAnswer,
        )

    def delete_project_permission(self, project_id: str, rule_id: str) -> None:
        """Delete a permission rule of a project."""
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/projects/{part(project_id)}/permissions/{part(rule_id)}")
        )

    def delete_session_permission(self, session_id: str, rule_id: str) -> None:
        """Delete a permission rule of a session."""
        return self._transport.nothing(
            Call("DELETE", f"/api/v1/sessions/{part(session_id)}/permissions/{part(rule_id)}")
        )

    def list_project_permissions(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.PermissionAnswer]:
        """List a project's permission rules, newest first.

        Rules that operators created. The rules of the project file are in its synthesized form.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/permissions",
                query={"limit": limit, "cursor": cursor},
            ),
            models.PermissionAnswer,
        )

    def list_session_permissions(
        self, session_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.PermissionAnswer]:
        """List a session's permission rules, newest first.

        The rules of its project apply as well.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/permissions",
                query={"limit": limit, "cursor": cursor},
            ),
            models.PermissionAnswer,
        )


class Plugins:
    """Operations: plugins."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def enable(self, project_id: str, name: str) -> models.EnabledAnswer:
        """Enable a disabled plugin.

        A plugin that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
        starts it.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/projects/{part(project_id)}/plugins/{part(name)}/enable"),
            models.EnabledAnswer,
        )

    def list(self, project_id: str) -> Items[models.PluginAnswer]:
        """List the plugins of a project's agents.

        Each plugin has its state, the reason when it is unusable, and the last lines of its log. A plugin that
        no session has used yet is `stopped`.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/plugins"), models.PluginAnswer
        )


class Projects:
    """Operations: projects."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def distrust(self, project_id: str) -> models.ProjectDetail:
        """Revoke the trust in a project.

        Cancels its runs and stops its plugins and language servers. Nothing is deleted.
        """
        return self._transport.model(
            Call("DELETE", f"/api/v1/projects/{part(project_id)}/trust"), models.ProjectDetail
        )

    def get_capabilities(self, project_id: str) -> Items[models.Capability]:
        """Show what the machine offers a project.

        Which cages, language servers, debug adapters and programs are available on this machine.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/projects/{part(project_id)}/capabilities"), models.Capability
        )

    def get_dsl_schema(self) -> dict[str, Any]:
        """Get the JSON Schema of project files.

        For editors. No token is needed.
        """
        return self._transport.mapping(Call("GET", "/api/v1/dsl/schema"))

    def get(self, project_id: str) -> models.ProjectDetail:
        """Show a project."""
        return self._transport.model(
            Call("GET", f"/api/v1/projects/{part(project_id)}"), models.ProjectDetail
        )

    def get_project_dsl(self, project_id: str) -> models.DslAnswer:
        """Show the project file and its overlay.

        The project file and its overlay, as they are on disk now.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/projects/{part(project_id)}/dsl"), models.DslAnswer
        )

    def get_synthesized_dsl(self, project_id: str) -> dict[str, Any]:
        """Show the compiled project.

        The project as agents run it, with defaults, overlays and references resolved.
        """
        return self._transport.mapping(Call("GET", f"/api/v1/projects/{part(project_id)}/dsl/synthesized"))

    def list_machine_folders(
        self,
        *,
        path: str | None = None,
        hidden: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.MachineFolderAnswer]:
        """List the folders in a folder of the daemon's machine.

        For operators, to choose a folder for `POST /projects/load`. Names of folders alone, no files. The
        daemon's own folders are not shown, nor names that are not printable.
        """
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/folders",
                query={"path": path, "hidden": hidden, "limit": limit, "cursor": cursor},
            ),
            models.MachineFolderAnswer,
        )

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Items[models.ProjectAnswer]:
        """List loaded projects."""
        return self._transport.items(
            Call("GET", "/api/v1/projects", query={"limit": limit, "cursor": cursor}), models.ProjectAnswer
        )

    def load(self, *, path: str, idempotency_key: str | None = None) -> models.ProjectDetail:
        """Load a project from its folder.

        Loading a folder again returns the same project. A project file with errors is refused with 422 and
        every diagnostic.
        """
        return self._transport.model(
            Call(
                "POST", "/api/v1/projects/load", body=given({"path": path}), keyed=True, key=idempotency_key
            ),
            models.ProjectDetail,
        )

    def move(self, project_id: str, *, path: str) -> models.ProjectDetail:
        """Update the folder of a moved project.

        `path` is the new folder; no file is moved. Sessions, issues, rules, uploads and trust stay. While a
        session of the project runs, the answer is 409 (`project_busy`).
        """
        return self._transport.model(
            Call("POST", f"/api/v1/projects/{part(project_id)}/move", body=given({"path": path})),
            models.ProjectDetail,
        )

    def reload(self, project_id: str) -> models.ProjectDetail:
        """Reload a project.

        When a file has errors, the answer is 422 and the loaded version stays active.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/projects/{part(project_id)}/reload"), models.ProjectDetail
        )

    def trust(self, project_id: str, *, digest: str, always: bool | Omit = OMIT) -> models.ProjectDetail:
        """Trust the present version of a project.

        `digest` is the `trust.digest` of the version that you reviewed; another version is refused with 409
        (`project_changed`). Later versions that ask for no more are trusted with it.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/trust",
                body=given({"always": always, "digest": digest}),
            ),
            models.ProjectDetail,
        )

    def validate_dsl(
        self, content: bytes | Path, *, project_id: str | None = None
    ) -> models.ValidationAnswer:
        """Check a project file.

        The body is the YAML text. With `project_id` it is checked as the project file of that project,
        including the prompts and projects that it names. Without `project_id` no file is read, and a reference to
        another project is an error (`reference_unchecked`). The status is 200 also when there are errors.
        """
        return self._transport.model(
            Call(
                "POST",
                "/api/v1/dsl/validate",
                query={"project_id": project_id},
                content=content,
                content_type="application/octet-stream",
            ),
            models.ValidationAnswer,
        )


class Providers:
    """Operations: providers."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def delete_provider_key(self, name: str) -> models.ProviderAnswer:
        """Delete the stored key of a provider.

        From the next model call on the provider uses its usual environment variable, if that is set.
        """
        return self._transport.model(
            Call("DELETE", f"/api/v1/providers/{part(name)}/key"), models.ProviderAnswer
        )

    def list_models(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.ModelAnswer]:
        """List the model aliases.

        The aliases of the local configuration, by name. A project file may also use `provider:model`.
        """
        return self._transport.items(
            Call("GET", "/api/v1/models", query={"limit": limit, "cursor": cursor}), models.ModelAnswer
        )

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Items[models.ProviderAnswer]:
        """List the configured providers.

        The providers by name, without credentials; `problem` says whether one is missing.
        """
        return self._transport.items(
            Call("GET", "/api/v1/providers", query={"limit": limit, "cursor": cursor}), models.ProviderAnswer
        )

    def set_provider_key(self, name: str, *, key: str) -> models.ProviderAnswer:
        """Store the key of a provider.

        The key is written to a private file of the data folder, and counts from the next model call on. It is
        never returned. Only over TLS, or on the daemon's own machine (403, `not_encrypted`); 409
        (`key_in_settings`) when the settings give the provider its key.
        """
        return self._transport.model(
            Call("PUT", f"/api/v1/providers/{part(name)}/key", body=given({"key": key})),
            models.ProviderAnswer,
        )

    def test(self, name: str, *, model: str | None | Omit = OMIT) -> models.ProviderTestAnswer:
        """Make one real call to a provider.

        The call is small and may cost a fraction of a cent. The status is 200 also when the call fails: `ok`,
        `error` and `message` have the result.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/providers/{part(name)}/test", body=given({"model": model})),
            models.ProviderTestAnswer,
        )


class Runs:
    """Operations: runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def cancel(self, run_id: str) -> models.RunAnswer:
        """Cancel one run.

        The runs below it end with it. The caller of a cancelled subagent gets an error and continues. Queued
        messages run next: cancel the session to hold them.
        """
        return self._transport.model(Call("POST", f"/api/v1/runs/{part(run_id)}/cancel"), models.RunAnswer)

    def cancel_session(self, session_id: str) -> Session:
        """Cancel the active run.

        The partial answer is kept, and the session becomes idle.
        """
        return self._transport.session(Call("POST", f"/api/v1/sessions/{part(session_id)}/cancel"))

    def continue_session(
        self, session_id: str, *, idempotency_key: str | None = None
    ) -> models.ResumedAnswer:
        """Continue after a truncated answer.

        For a run whose last answer stopped with the reason `length`.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/continue", keyed=True, key=idempotency_key),
            models.ResumedAnswer,
        )

    def get(self, run_id: str) -> models.RunDetail:
        """Show a run with its steps and tool calls."""
        return self._transport.model(Call("GET", f"/api/v1/runs/{part(run_id)}"), models.RunDetail)

    def get_sent_request(self, run_id: str, number: int) -> models.SentRequestAnswer:
        """Show the exact request of a model call.

        Rebuilt from the stored prompts, tools and messages, and compared with the digest of the bytes that
        were sent. `body` is byte for byte that request.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/runs/{part(run_id)}/steps/{part(number)}/request"), models.SentRequestAnswer
        )

    def list(
        self, session_id: str, *, all: bool | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.RunAnswer]:
        """List a session's runs, newest first."""
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/runs",
                query={"all": all, "limit": limit, "cursor": cursor},
            ),
            models.RunAnswer,
        )

    def pause_session(self, session_id: str, *, reason: str | None | Omit = OMIT) -> Session:
        """Pause the active run.

        The partial answer is kept, and a checkpoint is created to resume from.
        """
        return self._transport.session(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/pause", body=given({"reason": reason}))
        )

    def resume_session(
        self, session_id: str, *, checkpoint_id: str | None | Omit = OMIT, idempotency_key: str | None = None
    ) -> models.ResumedAnswer:
        """Resume from a checkpoint."""
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/resume",
                body=given({"checkpoint_id": checkpoint_id}),
                keyed=True,
                key=idempotency_key,
            ),
            models.ResumedAnswer,
        )

    def retry(
        self, run_id: str, *, model: str | None | Omit = OMIT, idempotency_key: str | None = None
    ) -> models.RunAnswer:
        """Retry a failed run.

        Starts a new run with the same message and `retry_of`, and with another `model` if one is given. The
        failed run must be the newest of its session; its messages stay in the conversation.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/runs/{part(run_id)}/retry",
                body=given({"model": model}),
                keyed=True,
                key=idempotency_key,
            ),
            models.RunAnswer,
        )

    def see_warnings(self, run_id: str) -> None:
        """Mark the budget warnings of a run as seen.

        The run leaves the inbox until a further limit is near.
        """
        return self._transport.nothing(Call("POST", f"/api/v1/runs/{part(run_id)}/see-warnings"))


class Sessions:
    """Operations: sessions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def archive(self, session_id: str) -> Session:
        """Archive a session.

        An archived session can be read and exported, but takes no messages.
        """
        return self._transport.session(Call("POST", f"/api/v1/sessions/{part(session_id)}/archive"))

    def create(
        self,
        *,
        project_id: str,
        headless: bool | Omit = OMIT,
        issue_number: int | None | Omit = OMIT,
        mode: Literal["plan", "ask", "edits", "full"] | Omit = OMIT,
        overrides: models.SessionOverrides | Mapping[str, Any] | None | Omit = OMIT,
        title: str | None | Omit = OMIT,
        workspace: Literal["shared", "worktree"]
        | models.WorkspaceWish
        | Mapping[str, Any]
        | None
        | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> Session:
        """Create a session.

        The answer does not wait for a `workspace`; the first run does. `workspace.updated` reports states.
        """
        return self._transport.session(
            Call(
                "POST",
                "/api/v1/sessions",
                body=given(
                    {
                        "headless": headless,
                        "issue_number": issue_number,
                        "mode": mode,
                        "overrides": overrides,
                        "project_id": project_id,
                        "title": title,
                        "workspace": workspace,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            )
        )

    def delete(self, session_id: str) -> None:
        """Delete a session and everything in it."""
        return self._transport.nothing(Call("DELETE", f"/api/v1/sessions/{part(session_id)}"))

    def export(self, session_id: str) -> bytes:
        """Export a session as one file of JSON lines.

        A session that is running, or has a background task, cannot be exported. The download breaks off when
        the session changes meanwhile: the file is then incomplete.
        """
        return self._transport.data(Call("GET", f"/api/v1/sessions/{part(session_id)}/export"))

    def get(self, session_id: str) -> Session:
        """Show a session.

        Includes tokens, cost by spender, and how full each agent's context is.
        """
        return self._transport.session(Call("GET", f"/api/v1/sessions/{part(session_id)}"))

    def import_session(self, content: bytes | Path) -> models.ImportedSessionDetail:
        """Import an exported session.

        The body is an exported file (JSON lines). A truncated or changed file is refused by the count and
        digest in its last line.
        """
        return self._transport.model(
            Call("POST", "/api/v1/sessions/import", content=content, content_type="application/octet-stream"),
            models.ImportedSessionDetail,
        )

    def list_agents(self, session_id: str) -> Items[models.SessionAgent]:
        """List the agents of a session and their cages.

        The root agent first, each before its subagents, by the version of the project that the session works
        with. All are on one page.
        """
        return self._transport.items(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/agents"), models.SessionAgent
        )

    def list_modes(self) -> Items[models.ModeAnswer]:
        """List the modes of a session.

        Each mode with its permission rules, the strictest mode first. The rules of a mode apply beside all
        others: a denial of any rule stays, and so does a question that the project file pins.
        """
        return self._transport.items(Call("GET", "/api/v1/modes"), models.ModeAnswer)

    def list(
        self,
        *,
        project_id: str | None = None,
        state: Literal["idle", "queued", "running", "paused", "archived"] | None = None,
        kind: str | None = None,
        issue_number: int | None = None,
        text: str | None = None,
        asks: bool | None = None,
        failed: bool | None = None,
        archived: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.ListedSession]:
        """List sessions, newest first."""
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/sessions",
                query={
                    "project_id": project_id,
                    "state": state,
                    "kind": kind,
                    "issue_number": issue_number,
                    "text": text,
                    "asks": asks,
                    "failed": failed,
                    "archived": archived,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.ListedSession,
        )

    def preview_share(
        self,
        session_id: str,
        *,
        format: Literal["html", "markdown"] | None = None,
        include: Sequence[Literal["results", "thinking", "subagents", "images"]] | None = None,
    ) -> models.SharePreview:
        """Preview what leaves with a shared session.

        Makes the file and reports on it: counts, file names, images, where something was redacted, and what
        stays here. Nothing leaves.
        """
        return self._transport.model(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/share/preview",
                query={"format": format, "include": include},
            ),
            models.SharePreview,
        )

    def share(
        self,
        session_id: str,
        *,
        format: Literal["html", "markdown"] | None = None,
        include: Sequence[Literal["results", "thinking", "subagents", "images"]] | None = None,
    ) -> bytes:
        """Share a session as a file for other people.

        One HTML file without scripts that loads nothing, or Markdown. Secrets that the daemon knows, and what
        has the shape of a credential, are redacted. The audit notes it as `operator.share_session`.
        """
        return self._transport.data(
            Call(
                "GET",
                f"/api/v1/sessions/{part(session_id)}/share",
                query={"format": format, "include": include},
            )
        )

    def update(
        self,
        session_id: str,
        *,
        issue_number: int | None | Omit = OMIT,
        mode: Literal["plan", "ask", "edits", "full"] | None | Omit = OMIT,
        model: str | None | Omit = OMIT,
        seen_run_id: str | None | Omit = OMIT,
        title: str | None | Omit = OMIT,
    ) -> Session:
        """Change a session: title, issue, model, mode.

        `not_found` with the reason `issue_not_found` when the project has no such issue. A new mode
        also settles the open permission requests of running runs: what it denies is refused, what it allows goes
        on.
        """
        return self._transport.session(
            Call(
                "PATCH",
                f"/api/v1/sessions/{part(session_id)}",
                body=given(
                    {
                        "issue_number": issue_number,
                        "mode": mode,
                        "model": model,
                        "seen_run_id": seen_run_id,
                        "title": title,
                    }
                ),
            )
        )


class Tools:
    """Operations: tools."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def call(
        self,
        session_id: str,
        name: str,
        *,
        agent_path: str | Omit = OMIT,
        params: Mapping[str, Any] | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.ToolEnvelopeAnswer:
        """Call a tool as one of the session's agents.

        Validated, authorised and audited like the call of a model. A tool that fails answers 200 with `type`
        `error`. A call by an operator counts as consent, once; a call by an agent's token that needs consent is
        denied. A read-only call is cancelled when its client disconnects.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/tools/{part(name)}",
                body=given({"agent_path": agent_path, "params": params}),
                keyed=True,
                key=idempotency_key,
            ),
            models.ToolEnvelopeAnswer,
        )

    def list_agent_tools(
        self, project_id: str, agent_path: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.AgentToolAnswer]:
        """List the tools of an agent.

        The tools by name, each with the rule that decided and the parameters that the model gets.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/agents/{part(agent_path)}/tools",
                query={"limit": limit, "cursor": cursor},
            ),
            models.AgentToolAnswer,
        )

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Items[models.ToolAnswer]:
        """List the tools.

        Every tool by name, with the JSON Schemas of its parameters and result. The list does not say which
        agents may use it.
        """
        return self._transport.items(
            Call("GET", "/api/v1/tools", query={"limit": limit, "cursor": cursor}), models.ToolAnswer
        )


class Uploads:
    """Operations: uploads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def delete(self, upload_id: str) -> None:
        """Delete an unused upload."""
        return self._transport.nothing(Call("DELETE", f"/api/v1/uploads/{part(upload_id)}"))

    def get(self, upload_id: str) -> models.UploadAnswer:
        """Show an uploaded file."""
        return self._transport.model(Call("GET", f"/api/v1/uploads/{part(upload_id)}"), models.UploadAnswer)

    def get_upload_content(self, upload_id: str) -> bytes:
        """Download an uploaded file.

        Sent as an attachment. `Range` may request one range of bytes; any other `Range` returns the whole
        file.
        """
        return self._transport.data(Call("GET", f"/api/v1/uploads/{part(upload_id)}/content"))

    def upload_file(
        self,
        content: bytes | Path,
        *,
        project_id: str,
        name: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.UploadAnswer:
        """Upload a file.

        Use its id where a file is expected: in the answer to a form, in the attachments of an issue, or in the
        inputs of a workflow. An unused file is removed after a day.
        """
        return self._transport.model(
            Call(
                "POST",
                "/api/v1/uploads",
                query={"project_id": project_id, "name": name},
                content=content,
                content_type="application/octet-stream",
                keyed=True,
                key=idempotency_key,
            ),
            models.UploadAnswer,
        )


class Workflows:
    """Operations: workflows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def cancel_workflow_run(self, workflow_run_id: str) -> models.WorkflowRunAnswer:
        """Cancel a workflow run.

        The session of the run is stopped before the answer. Cancelling an ended run is a conflict.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/workflow-runs/{part(workflow_run_id)}/cancel"), models.WorkflowRunAnswer
        )

    def get_workflow_run(self, workflow_run_id: str) -> models.WorkflowRunAnswer:
        """Show a workflow run.

        Includes the inputs and, after its end, output, duration, cost and error.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/workflow-runs/{part(workflow_run_id)}"), models.WorkflowRunAnswer
        )

    def invoke(
        self,
        project_id: str,
        workflow: str,
        *,
        attempts: models.AskAttempts | Mapping[str, Any] | None | Omit = OMIT,
        inputs: Mapping[str, Any] | Omit = OMIT,
        issue_number: int | None | Omit = OMIT,
        workspace: Literal["shared", "worktree"] | None | Omit = OMIT,
        idempotency_key: str | None = None,
    ) -> models.WorkflowRunAnswer:
        """Start a workflow.

        The run is stored before the answer. It is `queued` while the limit of concurrent runs is reached.
        Errors of an input are reported as `inputs.<name>`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/projects/{part(project_id)}/workflows/{part(workflow)}/invoke",
                body=given(
                    {
                        "attempts": attempts,
                        "inputs": inputs,
                        "issue_number": issue_number,
                        "workspace": workspace,
                    }
                ),
                keyed=True,
                key=idempotency_key,
            ),
            models.WorkflowRunAnswer,
        )

    def list_workflow_runs(
        self,
        *,
        project_id: str | None = None,
        workflow: str | None = None,
        state: Literal["queued", "running", "succeeded", "failed", "cancelled"] | None = None,
        issue_number: int | None = None,
        session_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Items[models.WorkflowRunSummary]:
        """List workflow runs, newest first."""
        return self._transport.items(
            Call(
                "GET",
                "/api/v1/workflow-runs",
                query={
                    "project_id": project_id,
                    "workflow": workflow,
                    "state": state,
                    "issue_number": issue_number,
                    "session_id": session_id,
                    "limit": limit,
                    "cursor": cursor,
                },
            ),
            models.WorkflowRunSummary,
        )

    def list(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.WorkflowAnswer]:
        """List a project's workflows.

        The workflows of the project file as compiled now, by name, with their inputs.
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/workflows",
                query={"limit": limit, "cursor": cursor},
            ),
            models.WorkflowAnswer,
        )


class Workspaces:
    """Operations: workspaces."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def discard(self, session_id: str) -> models.WorkspaceAnswer:
        """Discard a workspace.

        Its folder is removed after `workspaces.undo_days`; until then `undo` restores it.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/workspace/discard"), models.WorkspaceAnswer
        )

    def discard_workspace_by_id(self, workspace_id: str) -> models.WorkspaceAnswer:
        """Discard a workspace by its id.

        Its folder is removed after `workspaces.undo_days`; until then `undo` restores it.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/workspaces/{part(workspace_id)}/discard"), models.WorkspaceAnswer
        )

    def get(self, session_id: str) -> models.WorkspaceAnswer:
        """Show a session's workspace.

        `kind` is `shared` for a session in the project's folder.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/sessions/{part(session_id)}/workspace"), models.WorkspaceAnswer
        )

    def get_workspace_by_id(self, workspace_id: str) -> models.WorkspaceAnswer:
        """Show a workspace.

        Includes workspaces of subagents and of deleted sessions.
        """
        return self._transport.model(
            Call("GET", f"/api/v1/workspaces/{part(workspace_id)}"), models.WorkspaceAnswer
        )

    def keep(self, session_id: str) -> models.WorkspaceAnswer:
        """Keep a workspace's branch, remove its folder.

        Creates the branch in the project's repository, with uncommitted changes as a last commit.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/workspace/keep"), models.WorkspaceAnswer
        )

    def keep_workspace_by_id(self, workspace_id: str) -> models.WorkspaceAnswer:
        """Keep the branch of a workspace by its id."""
        return self._transport.model(
            Call("POST", f"/api/v1/workspaces/{part(workspace_id)}/keep"), models.WorkspaceAnswer
        )

    def list(
        self, project_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Items[models.WorkspaceAnswer]:
        """List a project's workspaces, newest first.

        Includes removed workspaces (`removed_at`).
        """
        return self._transport.items(
            Call(
                "GET",
                f"/api/v1/projects/{part(project_id)}/workspaces",
                query={"limit": limit, "cursor": cursor},
            ),
            models.WorkspaceAnswer,
        )

    def merge(
        self,
        session_id: str,
        *,
        conflicts: Literal["refuse", "agent"] | Omit = OMIT,
        create: bool | Omit = OMIT,
        dry_run: bool | Omit = OMIT,
        hooks: bool | Omit = OMIT,
        into: str | Omit = OMIT,
        message: str | None | Omit = OMIT,
        strategy: Literal["squash", "merge"] | Omit = OMIT,
    ) -> models.MergeAnswer:
        """Merge a workspace's changes.

        Writes all files or none. `conflict` with the reason `merge_conflicts` when both sides changed the
        same lines, and `checkout_in_the_way` when the checkout blocks a file, for example by uncommitted
        changes; `details.paths` names the files. The workspace stays, and can be merged again. With `dry_run`
        neither is an error: the answer is 200 with `conflicts` and `blocked`, and nothing is written.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/sessions/{part(session_id)}/workspace/merge",
                body=given(
                    {
                        "conflicts": conflicts,
                        "create": create,
                        "dry_run": dry_run,
                        "hooks": hooks,
                        "into": into,
                        "message": message,
                        "strategy": strategy,
                    }
                ),
            ),
            models.MergeAnswer,
        )

    def merge_workspace_by_id(
        self,
        workspace_id: str,
        *,
        conflicts: Literal["refuse", "agent"] | Omit = OMIT,
        create: bool | Omit = OMIT,
        dry_run: bool | Omit = OMIT,
        hooks: bool | Omit = OMIT,
        into: str | Omit = OMIT,
        message: str | None | Omit = OMIT,
        strategy: Literal["squash", "merge"] | Omit = OMIT,
    ) -> models.MergeAnswer:
        """Merge the changes of a workspace by its id.

        Works like the merge of a session's workspace. The target is always the project's repository, even
        when a subagent's caller works in a workspace. For a subagent's workspace `conflicts: agent` is refused
        with the reason `workspace_of_subagent`.
        """
        return self._transport.model(
            Call(
                "POST",
                f"/api/v1/workspaces/{part(workspace_id)}/merge",
                body=given(
                    {
                        "conflicts": conflicts,
                        "create": create,
                        "dry_run": dry_run,
                        "hooks": hooks,
                        "into": into,
                        "message": message,
                        "strategy": strategy,
                    }
                ),
            ),
            models.MergeAnswer,
        )

    def retry(self, session_id: str) -> models.WorkspaceAnswer:
        """Create a broken workspace again.

        Answers before the workspace is created, from the `base` that was asked for. Changes that were in a
        removed folder are not restored. A message that waited for the workspace runs with the next message.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/workspace/retry"), models.WorkspaceAnswer
        )

    def retry_workspace_by_id(self, workspace_id: str) -> models.WorkspaceAnswer:
        """Create a broken workspace again by its id.

        Works like the retry of a session's workspace. That of a subagent is refused with the reason
        `workspace_of_subagent`.
        """
        return self._transport.model(
            Call("POST", f"/api/v1/workspaces/{part(workspace_id)}/retry"), models.WorkspaceAnswer
        )

    def undo(self, session_id: str) -> models.WorkspaceAnswer:
        """Restore a discarded workspace."""
        return self._transport.model(
            Call("POST", f"/api/v1/sessions/{part(session_id)}/workspace/undo"), models.WorkspaceAnswer
        )

    def undo_workspace_by_id(self, workspace_id: str) -> models.WorkspaceAnswer:
        """Restore a discarded workspace by its id."""
        return self._transport.model(
            Call("POST", f"/api/v1/workspaces/{part(workspace_id)}/undo"), models.WorkspaceAnswer
        )


class Resources:
    """Every operation, by resource."""

    def __init__(self, transport: Transport) -> None:
        self.access = Access(transport)
        self.attempts = Attempts(transport)
        self.changes = Changes(transport)
        self.checkpoints = Checkpoints(transport)
        self.commands = Commands(transport)
        self.compactions = Compactions(transport)
        self.files = Files(transport)
        self.git = Git(transport)
        self.health = Health(transport)
        self.hooks = Hooks(transport)
        self.interactions = Interactions(transport)
        self.issues = Issues(transport)
        self.mcp_servers = McpServers(transport)
        self.messages = Messages(transport)
        self.operations = Operations(transport)
        self.permissions = Permissions(transport)
        self.plugins = Plugins(transport)
        self.projects = Projects(transport)
        self.providers = Providers(transport)
        self.runs = Runs(transport)
        self.sessions = Sessions(transport)
        self.tools = Tools(transport)
        self.uploads = Uploads(transport)
        self.workflows = Workflows(transport)
        self.workspaces = Workspaces(transport)
