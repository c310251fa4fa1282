"""status, reload, capabilities: the servers themselves.

Owns: their report. Never: starting one only to look at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer, ServerStatus
from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.parameters import ACTIONS
from app.tools.code.results import LspResult, Server
from app.tools.processes.foreign_text import clean_value, one_line

MAX_TEXT = 1_000
_NEEDS: Mapping[str, str] = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "symbols": "textDocument/documentSymbol",
    "rename": "textDocument/rename",
    "code_actions": "textDocument/codeAction",
    "hover": "textDocument/hover",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
    "call_hierarchy": "textDocument/prepareCallHierarchy",
    "type_hierarchy": "textDocument/prepareTypeHierarchy",
}
"""What a server must offer for an action; the others can be had of every server."""


async def status(call: CodeCall) -> LspResult:
    """Return the servers of all languages, or of the path's."""
    wanted = await _language(call)
    servers = [one for one in await call.project.status() if wanted in {None, one.language}]
    show = _for_restricted if call.view.restricts else _shown
    return LspResult(servers=[show(one) for one in servers], count=len(servers))


def _shown(one: ServerStatus) -> Server:
    return Server(
        language=one.language,
        state=one.state,
        source=one.source,
        command=list(one.command) or None,
        pid=one.pid,
        memory_mb=one.memory_mb,
        root=one.root if one.pid is not None else None,
        restarts=one.restarts or None,
        open_documents=one.open_documents if one.pid is not None else None,
        loading=one_line(one.loading, MAX_TEXT) or None,
        problem=one_line(one.problem, MAX_TEXT) or None,
    )


def _for_restricted(one: ServerStatus) -> Server:
    """What a server complains of may quote files that such a caller does not see."""
    missing = one.problem if one.state == "configured" else None
    return Server(
        language=one.language,
        state=one.state,
        memory_mb=one.memory_mb,
        restarts=one.restarts or None,
        problem=one_line(missing, MAX_TEXT) or None,
    )


async def reload(call: CodeCall) -> LspResult:
    """End the servers, or the one of the path's language, and forget their crashes; they start again
    at the next use."""
    reloaded = await call.project.reload(await _language(call))
    return LspResult(reloaded=sorted(reloaded), count=len(reloaded))


async def capabilities(call: CodeCall) -> LspResult:
    """Return what the server of the path's language offers; without a path, of the ones that run, also
    while they load or index."""
    if call.params.path is not None:
        named = await call.file()
        server = await call.server(named)
        return LspResult(
            path=named.shown,
            language=server.language,
            server=_title(server),
            position_encoding=server.encoding,
            offers=offered(server),
            capabilities=_plain(server.capabilities),
        )
    capabilities = {}
    for server in call.project.running():
        capabilities[server.language] = {"server": _title(server), "offers": offered(server)}
    note = None if capabilities else "No server runs; give a path to start the one for it."
    return LspResult(capabilities=capabilities, count=len(capabilities), note=note)


def offered(server: LanguageServer) -> dict[str, bool]:
    """Return for each action whether the server can do it."""
    return {action: action not in _NEEDS or server.offers(_NEEDS[action]) for action in ACTIONS}


async def _language(call: CodeCall) -> str | None:
    """Return the language of the path, None where no file is named. Raises ToolError
    `language_not_supported`."""
    if call.params.path is None:
        return None
    named = await call.named()
    if named.is_directory:
        return None
    language = call.project.language_of(named.relative)
    if language is None:
        raise ToolError(
            "language_not_supported",
            f"no language server is known for {named.shown}; status without a path lists the languages",
            detail={"path": named.shown},
        )
    return language


def _title(server: LanguageServer) -> str:
    info = server.server_info
    name, version = (one_line(info.get(key), 100) for key in ("name", "version"))
    if version.startswith("{"):  # all that gopls knows of its build
        version = ""
    return " ".join(filter(None, (name, version))) or server.name


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    cleaned = clean_value(dict(value))
    return cleaned if isinstance(cleaned, dict) else {}
