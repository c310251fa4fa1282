"""Runtimes whose programs are built first, and their debug adapters.

Owns: this part of the table, found by running each of them. Never: starting one.
"""

from __future__ import annotations

from app.bridges.dap.adapter_behaviour import (
    USUAL_LAUNCH,
    AdapterBehaviour,
    BreakpointDialect,
    Claims,
    Ending,
    Evaluation,
    ExceptionDialect,
    OutputDialect,
    OwnProcess,
    Reach,
    StartRequests,
    Stopping,
)
from app.bridges.dap.adapter_entry import AdapterCandidate, RuntimeEntry, adapter

_RUST_PANICS = {"rust": {"uncaught": ("rust_panic",), "raised": ("rust_panic",)}}
"""Every panic calls it, also one that is caught further up: the two look the same there."""

BEHAVIOURS = (
    # Its flag stops in the loader, where there is no source. A hit count that is more than a number counts
    # nothing. It finds variables for hover by a language of its own, without arithmetic.
    AdapterBehaviour(
        name="lldb-dap",
        adapter_id="lldb-dap",
        known_as=frozenset({"lldb-vscode"}),
        types=frozenset({"lldb-vscode"}),
        requests=StartRequests(
            launch={
                "program": "{script}",
                "args": "{args}",
                "cwd": "{cwd}",
                "env": "{env}",
                "enableAutoVariableSummaries": True,
                "initCommands": "{quiet_commands}",
                "stdio": "{stdio}",
            },
            attach={"gdb-remote-hostname": "{host}", "gdb-remote-port": "{port}"},
            attach_to_process={"pid": "{pid}"},
        ),
        process=OwnProcess(launches_by_ptrace=True),
        stopping=Stopping(entry="main", reasons={"signal SIGSTOP": "pause"}, pause_again_seconds=1.0),
        output=OutputDialect(
            chatter=r"To get started with the debug console|For more information visit https://lldb\.|"
            r"Executable binary set to |Attached to process \d+|Process \d+ exited with |"
            r"warning: This version of LLDB has no plugin for the language",
        ),
        capabilities=Claims(commands=frozenset({"locations", "compileUnits", "__lldb_moduleSymbols"})),
        breakpoints=BreakpointDialect(hit_count="{count}"),
        exceptions=ExceptionDialect(modes={"uncaught": (), "raised": ("cpp_throw",)}, panics=_RUST_PANICS),
    ),
    # Its console takes commands of LLDB. Its own expressions are not those of C, and change nothing.
    AdapterBehaviour(
        name="codelldb",
        adapter_id="lldb",
        types=frozenset({"codelldb"}),
        requests=StartRequests(
            launch={
                "program": "{script}",
                "args": "{args}",
                "cwd": "{cwd}",
                "env": "{env}",
                "terminal": "console",
                "initCommands": "{lldb_commands}",
            },
            attach_to_process={"pid": "{pid}"},
        ),
        process=OwnProcess(launches_by_ptrace=True),
        stopping=Stopping(entry="main", reasons={"signal SIGSTOP": "pause"}, pause_again_seconds=1.0),
        output=OutputDialect(
            chatter=r"Console is in '|Launching: |Launched process \d+ from |Process exited with code |"
            r"Stop reason: |Attached to process \d+$",
        ),
        evaluation=Evaluation(free_context="watch", free_prefix="/nat "),
        breakpoints=BreakpointDialect(hit_count=">= {count}"),
        exceptions=ExceptionDialect(modes={"uncaught": (), "raised": ("cpp_throw",)}, panics=_RUST_PANICS),
    ),
    # Its command has the program, or an invalid condition would be reported nowhere. `env` is the whole
    # environment of the program. Its stop on entry is a breakpoint of its own on main;
    # `repl` takes its commands, not expressions.
    AdapterBehaviour(
        name="gdb",
        adapter_id="gdb",
        requests=StartRequests(
            launch={
                "program": "{script}",
                "args": "{args}",
                "cwd": "{cwd}",
                "env": "{environment}",
                "stopAtBeginningOfMainSubprogram": "{stop_on_entry}",
            },
            attach={"target": "{host}:{port}"},
            attach_to_process={"pid": "{pid}"},
        ),
        process=OwnProcess(launches_by_ptrace=True),
        stopping=Stopping(
            entry_reasons=frozenset({"entry", "breakpoint"}),
            reasons={"signal": "exception"},
        ),
        output=OutputDialect(
            chatter=r"Reading symbols from /|No source file named /|Function \".*\" not defined\.$|"
            r"Breakpoint \d+ (\(.*\) pending\.$|at 0x[0-9a-f]+: file )|"
            r"\[(Switching to thread \d|Thread 0x|New Thread 0x|Inferior \d+ \()",
            bare_lines=True,
            mark="python import os; os.write(1, b'{mark}\\n')",
        ),
        breakpoints=BreakpointDialect(hit_count="{before}", plain_log_points=True),
        evaluation=Evaluation(safe_context="hover", free_context="watch"),
        exceptions=ExceptionDialect(modes={"uncaught": (), "raised": ("throw",)}, panics=_RUST_PANICS),
    ),
    # Its flag stops before Go's own beginning, where there is no goroutine to look at.
    AdapterBehaviour(
        name="delve",
        adapter_id="go",
        known_as=frozenset({"dlv", "dlv-dap"}),
        types=frozenset({"delve"}),
        reach=Reach(
            transport="announced",
            port_pattern=r"DAP server listening at: (?P<host>[^\s:]+):(?P<port>\d+)",
            attaches_itself=True,
        ),
        requests=StartRequests(
            launch={
                **{name: value for name, value in USUAL_LAUNCH.items() if name != "stopOnEntry"},
                "mode": "{mode}",
                "output": "{output}",
                "dlvCwd": "{folder}",
                "outputMode": "remote",
                "showGlobalVariables": True,
                "hideSystemGoroutines": True,
            },
            attach={"mode": "remote", "showGlobalVariables": True, "hideSystemGoroutines": True},
            attach_to_process={
                "mode": "local",
                "processId": "{pid}",
                "showGlobalVariables": True,
                "hideSystemGoroutines": True,
            },
        ),
        process=OwnProcess(runs=("go",), launches_by_ptrace=True),
        stopping=Stopping(entry="main"),
        capabilities=Claims(has=frozenset({"supportsHitConditionalBreakpoints"})),
        breakpoints=BreakpointDialect(hit_count=">= {count}"),
        end=Ending(
            exit_pattern=r"^Process \d+ has exited with status (?P<code>-?\d+)",
            exit_code_at_parting=True,
        ),
        exceptions=ExceptionDialect(
            modes={"uncaught": (), "raised": ()},
            panics={"go": {"raised": ("runtime.gopanic",)}},
        ),
        output=OutputDialect(chatter=r"Type 'dlv help' |Process \d+ has exited with |Detaching\b"),
    ),
)


def _codelldb(**launch: str) -> tuple[AdapterCandidate, ...]:
    inside = "vendor/codelldb/*/adapter/codelldb"
    hint = "unpack a release of CodeLLDB and put its adapter on PATH"
    return (
        adapter("codelldb", behaviour="codelldb", launch=launch, other=hint),
        adapter("mcp-debugger", inside, behaviour="codelldb", launch=launch),
    )


_LLDB = tuple(
    adapter(
        name,
        behaviour="lldb-dap",
        apt="lldb-22",
        dnf="lldb",
        pacman="lldb",
        apk="lldb",
        zypper="lldb",
        brew="llvm",
        other="install LLDB 18 or newer, which brings lldb-dap",
    )
    for name in ("lldb-dap", *(f"lldb-dap-{release}" for release in range(24, 17, -1)))
)
_GDB = (
    adapter(
        "gdb",
        "--interpreter=dap",
        "--quiet",
        "--nx",
        "{gdb_options}",
        "{script}",
        behaviour="gdb",
        pipx="gdb-for-pwndbg",
        dnf="gdb",
        pacman="gdb",
        apk="gdb",
        zypper="gdb",
        brew="gdb",
    ),
)
_C = (*_LLDB, *_codelldb(expressions="native"), *_GDB)
_OTHERS = (*_LLDB, *_codelldb(), *_GDB)

RUNTIMES = (
    RuntimeEntry(
        runtime="c",
        program="binary",
        sources=(".c", ".h", ".m"),
        build="cc -g -O0 -o {program} {script}",
        candidates=_C,
    ),
    RuntimeEntry(
        runtime="cpp",
        program="binary",
        sources=(".cc", ".cpp", ".cxx", ".c++", ".C", ".hpp", ".h", ".mm"),
        build="c++ -g -O0 -o {program} {script}",
        candidates=_C,
    ),
    RuntimeEntry(
        runtime="rust",
        program="binary",
        sources=(".rs",),
        build="rustc -g -o {program} {script}",
        entry_functions=("{crate}::main",),
        candidates=_OTHERS,
    ),
    RuntimeEntry(
        runtime="zig",
        program="binary",
        sources=(".zig",),
        build="zig build-exe -O Debug -femit-bin={program} {script}",
        entry_functions=("main.main", "{crate}.main"),
        candidates=_OTHERS,
    ),
    RuntimeEntry(
        runtime="go",
        program="go",
        sources=(".go",),
        entry_functions=("main.main",),
        candidates=(
            adapter(
                "dlv",
                "dap",
                "--listen=127.0.0.1:0",
                behaviour="delve",
                go="github.com/go-delve/delve/cmd/dlv",
                apt="delve",
                dnf="delve",
                pacman="delve",
                apk="delve",
                brew="delve",
            ),
        ),
    ),
)
