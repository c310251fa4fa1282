"""What is asked of the debugger, by id: a part of `tests/requirements.py`."""

from __future__ import annotations

DEBUGGER: dict[str, str] = {
    # 5 tool
    "R5.tool.actions": "twenty-seven actions with the parameters of the reference, checked for each action",
    "R5.tool.launch": "launch, breakpoint, continue: stopped at the breakpoint",
    "R5.tool.attach": "attach to a running program by host and port",
    "R5.tool.variables": "local variables at a breakpoint: names, values, types",
    "R5.tool.evaluate": "an expression is evaluated at a breakpoint",
    "R5.tool.steps": "step over goes to the next line, step into into the function, step out back",
    "R5.tool.disconnect": "disconnect ends the adapter and the program",
    "R5.tool.breakpoints": "breakpoints on lines and functions are set, listed and removed",
    "R5.tool.instructions": "breakpoints on instructions are set and removed, and stop",
    "R5.tool.data": "data breakpoints: what can be watched, set, removed, and they stop",
    "R5.tool.inspection": "stack, threads and scopes at a stop",
    "R5.tool.memory": "memory is disassembled, read and written",
    "R5.tool.listing": "modules and loaded sources are listed, bounded",
    "R5.tool.custom": "custom requests that the adapter is known to answer",
    "R5.tool.each": "each action can be enabled, disabled and ruled by itself",
    "R5.tool.errors": "each failure has its code and says what to do",
    # 5 failures
    "R5.failure.crash": "an adapter that crashes ends the session: dap_session_ended, and launch works again",
    "R5.failure.exit": "a program that exits unexpectedly is told by the next step or continue",
    "R5.failure.launch": "a launch that fails says why in the adapter's words and leaves nothing behind",
    # 5 adapters
    "R5.adapters.table": "twelve runtimes with adapters, behaviour and install hints, as data",
    "R5.adapters.order": "project file, local config, built-in table; candidates in order",
    "R5.adapters.declared": "any adapter can be declared in the project file",
    "R5.adapters.absent": "an adapter that is not found: what was tried, and how to install it here",
    "R5.adapters.untrusted": "no program is taken from the project or from a relative place",
    "R5.adapters.python": "Python works without any further install",
    "R5.adapters.compiled": "a source file of a compiled language is no program: how to build one is said",
    "R5.adapters.listed": "the doctor and a project's capabilities list every runtime",
    "R5.adapters.transports": "adapters over their streams, over a port that they announce or are given",
    # 5 capabilities
    "R5.capabilities.gate": "a request that the adapter did not advertise is never sent, and both are named",
    "R5.capabilities.overrides": "flags that lie are put right by the table",
    "R5.capabilities.custom": "a custom request is sent only when it is on the adapter's list",
    "R5.capabilities.breakpoints": "hit counts and log messages are refused where they would be ignored",
    "R5.capabilities.hits": "a hit count means the same with every adapter",
    # 5 order of the handshake
    "R5.order.handshake": "launch, breakpoints, filters, configurationDone: in the order of each adapter",
    "R5.order.late": "adapters that answer launch only after configurationDone are served",
    "R5.order.early": "adapters that answer launch before initialized are served",
    "R5.order.error": "a launch error after which initialized never comes is told at once",
    "R5.order.before": "breakpoints set before launch are kept and bound",
    "R5.order.terminal": "runInTerminal is served through the broker of terminals",
    "R5.order.children": "startDebugging is served with child sessions behind the one session",
    # 5 state and stops
    "R5.state.table": "starting, stopped, running, exited, ended: every move that is no move is refused",
    "R5.state.actions": "each action out of its state answers with the state and what to do, and is not sent",
    "R5.stop.waits": "launch, continue and steps wait for the stop",
    "R5.stop.timeout": "a wait that runs out leaves the program running and says so",
    "R5.stop.answer": "one answer: reason, place, preview, changed locals and the output since the last stop",
    "R5.stop.once": "several stopped events for one stop are one stop",
    "R5.stop.output": "output is bounded, by its end, however much comes",
    "R5.stop.progress": "output is told as it comes",
    # 5 variables
    "R5.variables.paging": "variables are paged",
    "R5.variables.expand": "a path expands: user.address.city, also through lists and keys with dots",
    "R5.variables.filter": "a filter by part of the name",
    "R5.variables.bounds": "depth, count and size of values are bounded",
    "R5.variables.scopes": "local, closure and global scopes",
    "R5.variables.watch": "watch refuses side effects where the adapter can tell, and warns where it cannot",
    # 5 breakpoints
    "R5.breakpoints.shown": "verified or not, the bound line, and errors of conditions are shown",
    "R5.breakpoints.restart": "breakpoints survive the restart of the program",
    "R5.breakpoints.edits": "breakpoints follow edits of their file",
    # 5 lives of sessions
    "R5.session.one": "one active session for each agent, agents beside each other",
    "R5.session.run_end": "a run that ends, fails or is cancelled ends its session",
    "R5.session.end": "the end of the kaged session and of the daemon ends the debug session",
    "R5.session.killed": "a killed daemon leaves no adapter and no program behind",
    "R5.session.descendants": "adapter, program and all descendants are gone, also those that left the group",
    "R5.session.detach": "attach, then disconnect: the target goes on running",
    "R5.session.random": "200 sessions ended at random points leave no process and no descriptor",
    "R5.audit.events": "sessions started and ended and breakpoints hit are in the audit trail",
    # 5 cages
    "R5.cage.ptrace": "ptrace under default seccomp: dap_requires_relaxed_seccomp, and what works instead",
    "R5.cage.inspector": "adapters without ptrace work under default seccomp (Bun, Node, Python)",
    "R5.cage.inside": "adapter and program of a caged agent run inside its cage, or are not started",
    "R5.cage.attach": "a caged agent attaches only to processes inside its cage",
    "R5.paths.real": "real paths for adapters that do not bind symlinks",
    "R5.paths.outside": "sources outside the cage are shown by path only",
    # 5 hostile adapters
    "R5.peer.tolerant": "missing bodies, numbers of 0, answers out of order and early events are taken",
    "R5.peer.hostile": "an adapter that sends garbage, floods, or does not read does no harm",
    "R5.hostile.answers": "wrong types, deep trees, endless lists and silence do no harm",
    # 5 every real adapter
    "R5.matrix.cells": "every action on every adapter: what works and which error, as data",
    "R5.matrix.all": "each of the twenty-seven actions works with some real adapter",
    "R5.real.debugpy": "what debugpy offers, works",
    "R5.real.js-debug": "what js-debug offers, works",
    "R5.real.lldb": "what lldb-dap offers, works",
    "R5.real.gdb": "what gdb offers, works",
    "R5.real.codelldb": "what CodeLLDB offers, works",
    "R5.real.delve": "everyday actions with delve",
    "R5.real.rdbg": "everyday actions with rdbg",
    "R5.real.bash": "everyday actions with bash-dap",
    "R5.real.perl": "everyday actions with Perl::LanguageServer",
    # 5 stories
    "R5.stories.demo": "the bug in the demo package is found by breakpoint, stepping and watch",
    "R5.stories.crash": "a C program's crash: registers, memory, disassembly",
    "R5.stories.data": "a data breakpoint catches the write",
    "R5.stories.node": "a Node program with an asynchronous stack",
    "R5.stories.threads": "a Python program with threads",
    "R5.stories.child": "a child process of the program",
    "R5.stories.server": "attach to a running server",
    "R5.stories.sigterm": "a program that ignores SIGTERM",
    "R5.stories.flood": "a program that floods its output",
    "R5.stories.forks": "a program that forks",
    "R5.stories.exits": "a program that exits at once",
    "R5.stories.endless": "a program that never stops",
    # 5 bench
    "R5.bench.figures": "launch to first stop and a step, beside a raw client with the same adapter",
}

IN_HAND: tuple[str, ...] = (
    "R5.tool.instructions",
)
"""Ids that have no test yet: whoever marks a test with one removes it here."""
