"""The debugger."""

from __future__ import annotations

DEBUGGER: dict[str, str] = {
    "debugger.tool.actions": ("the actions of the reference with its parameters, checked for each action"),
    "debugger.tool.launch": "launch, breakpoint, continue: stopped at the breakpoint",
    "debugger.tool.attach": "attach to a running program by host and port",
    "debugger.tool.variables": "local variables at a breakpoint: names, values, types",
    "debugger.tool.evaluate": "an expression is evaluated at a breakpoint",
    "debugger.tool.steps": "step over goes to the next line, step into into the function, step out back",
    "debugger.tool.disconnect": "disconnect ends the adapter and the program",
    "debugger.tool.breakpoints": "breakpoints on lines and functions are set, listed and removed",
    "debugger.tool.instructions": "breakpoints on instructions are set and removed, and stop",
    "debugger.tool.data": "data breakpoints: what can be watched, set, removed, and they stop",
    "debugger.tool.inspection": "stack, threads and scopes at a stop",
    "debugger.tool.memory": "memory is disassembled, read and written",
    "debugger.tool.listing": "modules and loaded sources are listed, bounded",
    "debugger.tool.custom": "custom requests that the adapter is known to answer",
    "debugger.tool.each": "each action can be enabled, disabled and ruled by itself",
    "debugger.tool.errors": "each failure has its code and says what to do",
    "debugger.failure.crash": (
        "an adapter that crashes ends the session: dap_session_ended, and launch works again"
    ),
    "debugger.failure.exit": "a program that exits unexpectedly is reported by the next step or continue",
    "debugger.failure.launch": (
        "a launch that fails says why in the adapter's words and leaves nothing behind"
    ),
    "debugger.failure.dead": "a program that dies before it can be debugged is answered at once",
    "debugger.adapters.table": "twelve runtimes with adapters, behaviour and install hints, as data",
    "debugger.adapters.order": "project file, local config, built-in table; candidates in order",
    "debugger.adapters.declared": "any adapter can be declared in the project file",
    "debugger.adapters.absent": "an adapter that is not found: what was tried, and how to install it here",
    "debugger.adapters.untrusted": "no program is taken from the project or from a relative place",
    "debugger.adapters.python": "Python works without any further install",
    "debugger.adapters.compiled": (
        "a source file of a compiled language is no program: how to build one is said"
    ),
    "debugger.adapters.listed": "the doctor and a project's capabilities list every runtime",
    "debugger.adapters.transports": (
        "adapters over their streams, over a port that they announce or are given"
    ),
    "debugger.capabilities.gate": (
        "a request that the adapter did not advertise is never sent, and both are named"
    ),
    "debugger.capabilities.overrides": "flags that lie are put right by the table",
    "debugger.capabilities.custom": "a custom request is sent only when it is on the adapter's list",
    "debugger.capabilities.breakpoints": (
        "hit counts and log messages are refused where they would be ignored"
    ),
    "debugger.capabilities.hits": "a hit count means the same with every adapter",
    "debugger.order.handshake": (
        "launch, breakpoints, filters, configurationDone: in the order of each adapter"
    ),
    "debugger.order.late": "adapters that answer launch only after configurationDone are served",
    "debugger.order.early": "adapters that answer launch before initialized are served",
    "debugger.order.error": "a launch error after which initialized never comes is reported at once",
    "debugger.order.before": "breakpoints set before launch are kept and bound",
    "debugger.order.terminal": "runInTerminal is served through the broker of terminals",
    "debugger.order.children": "startDebugging is served with child sessions behind the one session",
    "debugger.state.table": (
        "starting, stopped, running, exited, ended: every move that is no move is refused"
    ),
    "debugger.state.actions": (
        "each action out of its state answers with the state and what to do, and is not sent"
    ),
    "debugger.stop.waits": "launch, continue and steps wait for the stop",
    "debugger.stop.timeout": "a wait that runs out leaves the program running and says so",
    "debugger.stop.answer": (
        "one answer: reason, place, preview, changed locals and the output since the last stop"
    ),
    "debugger.stop.once": "several stopped events for one stop are one stop",
    "debugger.stop.output": "output is bounded, by its end, however much comes",
    "debugger.stop.progress": "output is reported as it comes",
    "debugger.variables.paging": "variables are paged",
    "debugger.variables.expand": "a path expands: user.address.city, also through lists and keys with dots",
    "debugger.variables.filter": "a filter by part of the name",
    "debugger.variables.bounds": "depth, count and size of values are bounded",
    "debugger.variables.scopes": "local, closure and global scopes",
    "debugger.variables.watch": (
        "watch refuses side effects where the adapter can tell, and warns where it cannot"
    ),
    "debugger.breakpoints.shown": "verified or not, the bound line, and errors of conditions are shown",
    "debugger.breakpoints.restart": "breakpoints survive the restart of the program",
    "debugger.breakpoints.edits": "breakpoints follow edits of their file",
    "debugger.session.one": "one active session for each agent, agents beside each other",
    "debugger.session.run_end": "a run that ends, fails or is cancelled ends its session",
    "debugger.session.end": "the end of the kaged session and of the daemon ends the debug session",
    "debugger.session.killed": "a killed daemon leaves no adapter and no program behind",
    "debugger.session.descendants": (
        "adapter, program and all descendants are gone, also those that left the group"
    ),
    "debugger.session.detach": "attach, then disconnect: the target goes on running",
    "debugger.session.random": "200 sessions ended at random points leave no process and no descriptor",
    "debugger.audit.events": "sessions started and ended and breakpoints hit are in the audit trail",
    "debugger.cage.ptrace": (
        "ptrace under default seccomp: dap_requires_relaxed_seccomp, and what works instead"
    ),
    "debugger.cage.inspector": "adapters without ptrace work under default seccomp (Bun, Node, Python)",
    "debugger.cage.inside": "adapter and program of a caged agent run inside its cage, or are not started",
    "debugger.cage.tiers": "in each tier of cages a debugger works, or is refused before anything starts",
    "debugger.cage.attach": "a caged agent attaches only to processes inside its cage",
    "debugger.paths.real": "real paths for adapters that do not bind symlinks",
    "debugger.paths.outside": "sources outside the cage are shown by path only",
    "debugger.peer.tolerant": "missing bodies, numbers of 0, answers out of order and early events are taken",
    "debugger.peer.hostile": "an adapter that sends garbage, floods, or does not read does no harm",
    "debugger.hostile.answers": "wrong types, deep trees, endless lists and silence do no harm",
    "debugger.matrix.cells": "every action on every adapter: what works and which error, as data",
    "debugger.matrix.all": "each of the actions works with some real adapter",
    "debugger.real.debugpy": "what debugpy offers, works",
    "debugger.real.js-debug": "what js-debug offers, works",
    "debugger.real.lldb": "what lldb-dap offers, works",
    "debugger.real.gdb": "what gdb offers, works",
    "debugger.real.codelldb": "what CodeLLDB offers, works",
    "debugger.real.delve": "everyday actions with delve",
    "debugger.real.rdbg": "everyday actions with rdbg",
    "debugger.real.bash": "everyday actions with bash-dap",
    "debugger.real.perl": "everyday actions with Perl::LanguageServer",
    "debugger.stories.demo": "the bug in the demo package is found by breakpoint, stepping and watch",
    "debugger.stories.crash": "a C program's crash: registers, memory, disassembly",
    "debugger.stories.data": "a data breakpoint catches the write",
    "debugger.stories.node": "a Node program with an asynchronous stack",
    "debugger.stories.threads": "a Python program with threads",
    "debugger.stories.child": "a child process of the program",
    "debugger.stories.server": "attach to a running server",
    "debugger.stories.sigterm": "a program that ignores SIGTERM",
    "debugger.stories.flood": "a program that floods its output",
    "debugger.stories.forks": "a program that forks",
    "debugger.stories.exits": "a program that exits at once",
    "debugger.stories.endless": "a program that never stops",
    "debugger.bench.figures": "launch to first stop, a step and why, beside a raw client or the bare test",
    "debugger.breakpoint.line": "a breakpoint after the end of its file is refused",
    "debugger.breakpoint.condition": "the syntax of a condition is checked when it is set",
    "debugger.changed.imports": "imports are not listed among the changed variables",
    "debugger.launch.input": "a program reads its standard input from `input`",
    "debugger.launch.folder": "a caged launch runs in the topmost folder that its cage shows",
    "debugger.set_variable": "a variable gets another value",
    "debugger.attach.pid": "attach by process id",
    "debugger.exceptions.modes": "a program stops at none, uncaught, user or raised exceptions, by type",
    "debugger.exceptions.kept": "the choice of exceptions is kept for later launches",
    "debugger.exceptions.answer": "such a stop has message, first frame of the project and the locals there",
    "debugger.tests": (
        "one test is launched by pytest, unittest, node --test, vitest, jest, go test and cargo test"
    ),
    "debugger.tests.rules": "what starts a program is judged as debug.launch and as its command line",
    "debugger.why": "why runs a test or a program and answers with the exception that fails it, in 4 KB",
    "debugger.why.commands": "the runner tells why for command lines of node --test, vitest and jest",
    "debugger.trace": "trace shows the values of expressions over all hits of some lines, in 2 KB",
    "debugger.run_to": "run_to stops at a line, with locals and expressions, and leaves no breakpoint",
    "debugger.detach.running": "a program that stands when the debugger parts from it runs on",
    "debugger.hang": "hang shows all threads and who waits for whom, and leaves the program running",
    "debugger.threads": "threads has the first frame of the project of each",
    "debugger.show": "a watch list is shown on every stop",
    "debugger.rust.values": "values of Rust by the toolchain's formatters, functions without hashes",
}
