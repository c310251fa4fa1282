"""`code.lsp`: what language servers know about the project's code, one action a call.

Owns: the tool's definition, and which action is done where. Never: an action itself; each group of
them has a module of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from app.bridges.lsp.manager import LanguageServers
from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.listing import SourceFiles
from app.tools.code.administration import capabilities, reload, status
from app.tools.code.call import CodeCall, Tooling, readable
from app.tools.code.check_changes import check_changes
from app.tools.code.code_actions import code_actions
from app.tools.code.diagnostics import diagnostics
from app.tools.code.file_lines import FileLines
from app.tools.code.hierarchy import hierarchy
from app.tools.code.hover import hover
from app.tools.code.navigation import navigate
from app.tools.code.parameters import ACTIONS, LspParams, check, effects_of
from app.tools.code.raw_request import request
from app.tools.code.rename import rename
from app.tools.code.rename_file import rename_file
from app.tools.code.results import LspResult
from app.tools.code.symbols import symbols
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import FsRequirement, ToolDefinition, load_description
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles

CALL_SECONDS = 60.0
"""How long a call may take in all that only looks, whatever its server does."""
_WRITING = frozenset({"rename", "rename_file"})
_ADMINISTERING = frozenset({"status", "reload", "capabilities"})
_DO: Mapping[str, Callable[[CodeCall], Awaitable[LspResult]]] = {
    "diagnostics": diagnostics,
    "check_changes": check_changes,
    "definition": navigate,
    "references": navigate,
    "symbols": symbols,
    "rename": rename,
    "rename_file": rename_file,
    "code_actions": code_actions,
    "hover": hover,
    "type_definition": navigate,
    "implementation": navigate,
    "call_hierarchy": hierarchy,
    "type_hierarchy": hierarchy,
    "status": status,
    "reload": reload,
    "capabilities": capabilities,
    "request": request,
}


def _too_long(action: str) -> ToolError:
    return ToolError(
        "lsp_timeout",
        f"{action} was given up after {CALL_SECONDS:g} s: the language server answers too slowly. Ask again "
        "later, about less, or use reload",
        detail={"seconds": CALL_SECONDS},
    )


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    sources: SourceFiles,
    syntax: AstGrep,
    languages: LanguageServers | None,
) -> ToolDefinition:
    """Return the tool. Without `languages` it exists, for who only asks what tools there are, and
    every call answers `lsp_server_unavailable`."""
    tooling = Tooling(files, sources, syntax, processes, languages, FileLines())

    async def run(params: LspParams, context: ToolCallContext) -> LspResult:
        check(params)
        call = CodeCall(tooling, params, context)
        # What writes is not interrupted: it is done, or it is not.
        seconds = None if params.action in _WRITING else CALL_SECONDS
        try:
            async with asyncio.timeout(seconds) as call.limit:
                result = await _DO[params.action](call)
                problem = None if params.action in _ADMINISTERING else call.problem()
                return result if problem is None else result.model_copy(update={"problem": problem})
        except ToolError as error:
            raise readable(call, error) from None
        except TimeoutError:
            raise _too_long(params.action) from None

    return ToolDefinition(
        name="code.lsp",
        title="Ask a language server",
        description=load_description("app.tools.code", "lsp.md"),
        parameters=LspParams,
        result=LspResult,
        run=run,
        acp_kind="other",
        requires=(FsRequirement("rw"),),
        destructive=True,
        actions=ACTIONS,
        effects_of=effects_of,
    )
