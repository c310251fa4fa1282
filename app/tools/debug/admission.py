"""What a caged caller may debug: by which adapters, and which running programs.

Owns: the refusals that follow from a cage. Never: what a cage grants of files and hosts; that is judged
for every tool before it runs.
"""

from __future__ import annotations

from app.bridges.dap.manager import ResolvedAdapter
from app.bridges.processes import proc
from app.errors import ToolError
from app.tools.authorisation.cage_policy import Lack, refusal
from app.tools.debug.call import DebugCall
from app.tools.debug.effects import runtime_of
from app.tools.debug.own_processes import LOOPBACK, is_own, listens_only_own, started_by

WITHOUT_PTRACE = "python (debugpy), node and bun (js-debug), ruby (rdbg), bash, java, perl"


async def check_launch(call: DebugCall) -> None:
    """Raise ToolError `dap_requires_relaxed_seccomp` when the adapter needs what the cage forbids, and
    `cage_unavailable` when it needs what cages of this machine have not."""
    if call.context.cage is None:
        return
    adapter = await _adapter(call)
    _need_more_than_landlock(call, adapter)
    if adapter.behaviour.process.launches_by_ptrace:
        _need_ptrace(call, adapter)


async def check_attach(call: DebugCall) -> int | None:
    """As `check_launch`, and raise ToolError `capability_denied` for a program outside the cage. Return the
    process id that is meant, as it is known where the adapter runs."""
    if call.context.cage is None:
        return call.params.pid
    adapter = await _adapter(call)
    _need_more_than_landlock(call, adapter)
    by_process = call.params.pid is not None and adapter.behaviour.process.attaches_by_ptrace
    if adapter.behaviour.process.launches_by_ptrace or by_process:
        _need_ptrace(call, adapter)
    own = started_by(call.tooling.terminals, call.context)
    children = await call.tooling.processes.of_caller(call.context)
    if children.apart:
        number = await call.aside(_inner_number, call, own)
        inside = number is not None or (call.params.pid is None and call.params.host in LOOPBACK)
    else:
        number = call.params.pid
        inside = await call.aside(_is_inside, call, own)
    if not inside:
        because = (
            "only what the agent itself has started by shell.bash, and what listens on this machine, is "
            "inside; launch the program under the debugger instead"
        )
        raise refusal([Lack("a program inside this agent's cage", because)])
    return number


def _inner_number(call: DebugCall, own: frozenset[int]) -> int | None:
    """Return the process that is meant by its number in the cage. Commands know their processes by these,
    lists of commands by those of the machine. Blocking."""
    wanted = call.params.pid
    if wanted is None:
        return None
    if is_own(wanted, own):
        return proc.inner_number(wanted)
    inside = (proc.inner_number(one.pid) for one in proc.processes() if is_own(one.pid, own))
    return wanted if wanted in inside else None


def _is_inside(call: DebugCall, own: frozenset[int]) -> bool:
    """Blocking."""
    params = call.params
    if params.pid is not None:
        return is_own(params.pid, own)
    return params.host in LOOPBACK and params.port is not None and listens_only_own(params.port, own)


async def _adapter(call: DebugCall) -> ResolvedAdapter:
    context, runtime = call.context, runtime_of(call.params)
    table = call.adapters.table(context.project_id, context.project_root)
    return await call.aside(table.resolve, runtime)


def _need_more_than_landlock(call: DebugCall, adapter: ResolvedAdapter) -> None:
    if call.tooling.processes.tier.name != "landlock" or adapter.behaviour.process.in_landlock:
        return
    raise ToolError(
        "cage_unavailable",
        f"{adapter.behaviour.name or adapter.runtime} cannot debug {adapter.runtime} inside a cage here: a "
        "cage of the tier landlock has no loopback and no terminals, and shows no other processes. Only bash "
        f"is debugged in it. {_ask_to_debug(call)} the operator to run the daemon with the tier full.",
        detail={"runtime": adapter.runtime, "adapter": adapter.behaviour.name, "tier": "landlock"},
    )


def _need_ptrace(call: DebugCall, adapter: ResolvedAdapter) -> None:
    cage = call.context.cage or {}
    if (cage.get("seccomp") or "default") == "relaxed":
        return
    above = "" if call.context.is_root_agent else " and of each caged agent above it"
    raise ToolError(
        "dap_requires_relaxed_seccomp",
        f"{adapter.behaviour.name or adapter.runtime} debugs {adapter.runtime} by ptrace, which this "
        f"agent's cage does not allow. {_ask_to_debug(call)} the operator for the line `seccomp: relaxed` "
        f"under `cage` of this agent{above} in the project file. "
        f"Runtimes that are debugged without ptrace work here: {WITHOUT_PTRACE}.",
        detail={
            "runtime": adapter.runtime,
            "adapter": adapter.behaviour.name,
            "have": cage.get("seccomp") or "default",
            "required": "relaxed",
            "allow": ["seccomp: relaxed"],
            "without_ptrace": ["python", "node", "bun", "ruby", "bash", "java", "perl"],
        },
    )


def _ask_to_debug(call: DebugCall) -> str:
    """Return whom an agent can ask. No agent has called the root agent."""
    return "Ask" if call.context.is_root_agent else "Ask the calling agent to debug this, or"
