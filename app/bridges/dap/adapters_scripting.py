"""Runtimes with an interpreter or a virtual machine, and their debug adapters.

Owns: this part of the table, found by running each of them. Never: starting one.
"""

from __future__ import annotations

from app.bridges.dap.adapter_entry import (
    USUAL_LAUNCH,
    AdapterBehaviour,
    RuntimeEntry,
    adapter,
)

BEHAVIOURS = (
    AdapterBehaviour(
        name="debugpy",
        adapter_id="debugpy",
        known_as=frozenset({"debugpy-adapter", "debugpy.adapter"}),
        types=frozenset({"python"}),
        launch={
            **USUAL_LAUNCH,
            "python": "{interpreter}",
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
        attaches_itself=True,
        has=frozenset({"supportTerminateDebuggee"}),
        attach_to_process={"processId": "{pid}", "justMyCode": False},
        commands=frozenset({"debugpySystemInfo", "pydevdSystemInfo", "setDebuggerProperty"}),
        hit_count=">= {count}",
        exception_filters=("uncaught",),
        children="named_address",
        terminal=True,
    ),
)

RUNTIMES = (
    RuntimeEntry(
        runtime="python",
        interpreter="python3",
        sources=(".py", ".pyw"),
        candidates=(adapter("debugpy-adapter", behaviour="debugpy", pip="debugpy"),),
    ),
)
