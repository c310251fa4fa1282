"""`debug`: a program under a debugger, one action a call.

Owns: the tool's definition, and which action is done where. Never: an action itself; each group of
them has a module of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from app.bridges.dap.manager import DebugAdapters
from app.bridges.pty.manager import TerminalManager
from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    FsRequirement,
    ToolDefinition,
    load_description,
)
from app.tools.debug import (
    assignment,
    breakpoints,
    evaluation,
    exception_stop,
    inspection,
    listing,
    memory,
    running,
)
from app.tools.debug.call import DebugCall, Tooling, readable
from app.tools.debug.changed import LocalsMemory
from app.tools.debug.custom_request import custom_request
from app.tools.debug.effects import effects_of
from app.tools.debug.hang import hang
from app.tools.debug.parameters import ACTIONS, DebugParams, check
from app.tools.debug.results import DebugResult
from app.tools.debug.source_lines import SourceLines
from app.tools.debug.trace import trace
from app.tools.debug.variables import variables
from app.tools.debug.watch_lists import WatchLists
from app.tools.debug.why import why
from app.tools.debug.wrong_parameter import NAME
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles

_DO: Mapping[str, Callable[[DebugCall], Awaitable[DebugResult]]] = {
    "launch": running.launch,
    "attach": running.attach,
    "why": why,
    "trace": trace,
    "run_to": running.run_to,
    "hang": hang,
    "set_breakpoint": breakpoints.set_breakpoint,
    "remove_breakpoint": breakpoints.remove_breakpoint,
    "list_breakpoints": breakpoints.list_breakpoints,
    "set_instruction_breakpoint": breakpoints.set_instruction_breakpoint,
    "remove_instruction_breakpoint": breakpoints.remove_instruction_breakpoint,
    "data_breakpoint_info": breakpoints.data_breakpoint_info,
    "set_data_breakpoint": breakpoints.set_data_breakpoint,
    "remove_data_breakpoint": breakpoints.remove_data_breakpoint,
    "set_exceptions": exception_stop.set_exceptions,
    "step_into": running.step,
    "step_over": running.step,
    "step_out": running.step,
    "continue": running.proceed,
    "pause": running.pause,
    "stack_trace": inspection.stack_trace,
    "threads": inspection.threads,
    "scopes": inspection.scopes,
    "variables": variables,
    "set_variable": assignment.set_variable,
    "evaluate": evaluation.evaluate,
    "disassemble": memory.disassemble,
    "read_memory": memory.read_memory,
    "write_memory": memory.write_memory,
    "modules": listing.modules,
    "loaded_sources": listing.loaded_sources,
    "custom_request": custom_request,
    "disconnect": running.disconnect,
}


def build(
    files: ProjectFiles,
    adapters: DebugAdapters | None,
    terminals: TerminalManager,
    processes: CallProcesses,
    syntax: AstGrep,
) -> ToolDefinition:
    """Return the tool. Without `adapters` it exists, for who only asks what tools there are, and every
    call answers `debug_unavailable`."""
    tooling = Tooling(
        files, adapters, terminals, processes, SourceLines(), LocalsMemory(), syntax, WatchLists()
    )

    async def run(params: DebugParams, context: ToolCallContext) -> DebugResult:
        check(params)
        call = DebugCall(tooling, params, context)
        if params.show is not None:
            tooling.watches.keep(call.owner.key, params.show)
        try:
            return await _DO[params.action](call)
        except ToolError as error:
            raise readable(error) from None

    return ToolDefinition(
        name=NAME,
        title="Debug a program",
        description=load_description("app.tools.debug", "debug.md"),
        parameters=DebugParams,
        result=DebugResult,
        run=run,
        acp_kind="execute",
        requires=(FsRequirement("ro"), CapabilityRequirement("exec")),
        destructive=True,
        actions=ACTIONS,
        effects_of=effects_of,
    )
