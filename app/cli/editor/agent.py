"""The agent side of the Agent Client Protocol, version 1, as a client of the daemon.

Owns: the protocol's methods, and which sessions an editor has open. Never: a session's turns
(`editor_session`), or framing (`stdio`).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    AuthMethodAgent,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from app import __version__
from app.cli.conversation import open_project, session_path
from app.cli.daemon_address import PROJECT_FILE, find_project_root
from app.cli.editor.blocks import Block, message_of
from app.cli.editor.daemon_link import DaemonLink
from app.cli.editor.editor_session import EditorSession
from app.cli.editor.failures import as_errors, refused
from app.cli.editor.options import SessionOptions
from app.cli.editor.stdio import StdioTransport

READ_SECONDS = 10.0
KEY_METHOD = "model-key"
_KEYS = (
    "Set the API key of a model provider in the environment or in kaged's config file, restart the daemon, "
    "and try again. `kaged doctor` shows what is missing."
)


class EditorAgent:
    """One connection to an editor. The library calls the methods that are named as in its `Agent`."""

    def __init__(self, link: DaemonLink, transport: StdioTransport) -> None:
        self._link = link
        self._transport = transport
        self._editor: Client | None = None
        self._sessions: dict[str, EditorSession] = {}
        self._reads_files = False

    def on_connect(self, conn: Client) -> None:
        self._editor = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
    ) -> InitializeResponse:
        files = client_capabilities.fs if client_capabilities is not None else None
        self._reads_files = bool(files is not None and files.read_text_file)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="kaged", title="kaged", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=False, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[AuthMethodAgent(id=KEY_METHOD, name="Model key", description=_KEYS)],
        )

    async def authenticate(self, method_id: str) -> AuthenticateResponse:
        """Check that a model can be called; keys are never sent over the protocol."""
        if method_id != KEY_METHOD:
            raise refused("validation_failed", f"There is no authentication method {method_id}.")
        with as_errors():
            await self._check_models()
        return AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
    ) -> NewSessionResponse:
        with as_errors():
            project = await self._project(cwd)
            await self._check_models()
            created = await self._link.request("POST", "/sessions", {"project_id": project["id"]})
            session = self._open(created, project, mcp_servers)
            options, modes = await session.options.all(), await session.options.modes()
            return NewSessionResponse(session_id=session.id, modes=modes, config_options=options)

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: list[str] | None = None,
    ) -> LoadSessionResponse:
        with as_errors():
            session, detail = await self._reopen(cwd, session_id, mcp_servers)
            await session.replay()
            await self._resumed(session, detail)
            options, modes = await session.options.all(), await session.options.modes()
            return LoadSessionResponse(modes=modes, config_options=options)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
    ) -> ResumeSessionResponse:
        with as_errors():
            session, detail = await self._reopen(cwd, session_id, mcp_servers)
            await self._resumed(session, detail)
            options, modes = await session.options.all(), await session.options.modes()
            return ResumeSessionResponse(modes=modes, config_options=options)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None) -> ListSessionsResponse:
        with as_errors():
            client = await self._link.client()
            params: dict[str, Any] = {"limit": 50, "cursor": cursor}
            if cwd is not None:
                project = await self._project(cwd)
                params["project_id"], roots = project["id"], {project["id"]: project["root"]}
            else:
                roots = {one["id"]: one["root"] async for one in client.items("/projects")}
            page = await client.request("GET", "/sessions", params=params)
        found = [
            SessionInfo(
                session_id=one["id"],
                cwd=roots[one["project_id"]],
                title=one["title"] or None,
                updated_at=one["updated_at"],
            )
            for one in page["items"]
            if one["project_id"] in roots and one["state"] != "archived"
        ]
        return ListSessionsResponse(sessions=found, next_cursor=page["next_cursor"])

    async def prompt(self, session_id: str, prompt: Sequence[Block]) -> PromptResponse:
        session = self._session(session_id)

        async def read_open_file(path: str) -> str | None:
            return await self._open_file(session, path)

        message = await message_of(prompt, session.root, read_open_file)
        with as_errors():
            ended = await session.prompt(message)
        return PromptResponse(stop_reason=ended.stop_reason)

    async def cancel(self, session_id: str) -> None:
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool
    ) -> SetSessionConfigOptionResponse:
        session = self._session(session_id)
        with as_errors():
            return SetSessionConfigOptionResponse(config_options=await session.options.set(config_id, value))

    async def set_session_mode(self, session_id: str, mode_id: str) -> SetSessionModeResponse:
        session = self._session(session_id)
        with as_errors():
            await session.options.set_mode(mode_id)
        return SetSessionModeResponse()

    async def close_session(self, session_id: str) -> CloseSessionResponse:
        session = self._session(session_id)
        await session.cancel()
        await session.aclose()
        del self._sessions[session_id]
        return CloseSessionResponse()

    async def aclose(self) -> None:
        """Stop following sessions; they continue in the daemon."""
        for session in self._sessions.values():
            await session.aclose()

    async def _project(self, cwd: str) -> dict[str, Any]:
        """Return the project at or above a folder, loaded. Raises `CommandFailed` and RequestError."""
        folder = Path(cwd)
        if not folder.is_absolute() or "\0" in cwd:
            raise refused("validation_failed", f"The working folder must be an absolute path, not {cwd!r}.")
        root = await asyncio.to_thread(find_project_root, folder)
        if root is None:
            raise refused(
                "no_project", f"{cwd} has no {PROJECT_FILE}; write one with `kaged init {cwd}` in a terminal."
            )
        return await open_project(await self._link.client(root), root)

    async def _check_models(self) -> None:
        """Raise the error that asks for authentication when no configured model can be called."""
        client = await self._link.client()
        models = [one async for one in client.items("/models")]
        if models and not any(one["ready"] for one in models):
            problems = dict.fromkeys(str(one["problem"]) for one in models)
            raise refused("auth", f"No model can be called: {'; '.join(list(problems)[:3])}. {_KEYS}")

    async def _reopen(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None
    ) -> tuple[EditorSession, dict[str, Any]]:
        project = await self._project(cwd)
        detail = await self._link.request("GET", session_path(session_id))
        if detail["project_id"] != project["id"]:
            raise refused("not_found", f"The session {session_id} belongs to another project than {cwd}.")
        before = self._sessions.get(session_id)
        if before is not None:
            before.check_free()
            await before.aclose()
        return self._open(detail, project, mcp_servers), detail

    async def _resumed(self, session: EditorSession, detail: Mapping[str, Any]) -> None:
        await session.show_plan(detail["issue_number"])
        if detail["active_run"] is not None or detail["pending_interactions"]:
            session.watch()

    def _open(
        self, detail: Mapping[str, Any], project: Mapping[str, Any], mcp_servers: Sequence[Any] | None
    ) -> EditorSession:
        assert self._editor is not None, "the library connects before it dispatches"
        session = EditorSession(
            detail["id"],
            Path(project["root"]),
            project["id"],
            detail["last_seq"],
            self._link,
            self._editor,
            self._transport,
            SessionOptions(self._link, session_path(detail["id"]), detail),
            notice=_mcp_notice(mcp_servers),
        )
        self._sessions[session.id] = session
        return session

    async def _open_file(self, session: EditorSession, path: str) -> str | None:
        """Return a file as the editor has it; None where it does not say."""
        if not self._reads_files or self._editor is None:
            return None
        try:
            async with asyncio.timeout(READ_SECONDS):
                return (await self._editor.read_text_file(session_id=session.id, path=path)).content
        except (RequestError, TimeoutError, ConnectionError):
            return None

    def _session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise refused("not_found", f"The session {session_id} is not open here; load it first.")
        return self._sessions[session_id]


def _mcp_notice(servers: Sequence[Any] | None) -> str:
    """Return the notice about the MCP servers of the editor. None of them starts."""
    names = ", ".join(str(one.name) for one in servers or ())
    if not names:
        return ""
    text = f"kaged does not start the MCP servers that the editor passes ({names})."
    print(f"kaged acp: {text}", file=sys.stderr)
    return f"{text} Servers start with kaged's own trust and cages only."
