"""The built-in table: every runtime with its debug adapters, and how each adapter behaves.

Owns: the table as a whole. Never: looking at this machine.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.bridges.dap import adapters_scripting
from app.bridges.dap.adapter_entry import AdapterBehaviour, RuntimeEntry

RUNTIMES: Mapping[str, RuntimeEntry] = {entry.runtime: entry for entry in (*adapters_scripting.RUNTIMES,)}
"""By the name that the tool and the project file use."""
BEHAVIOURS: Mapping[str, AdapterBehaviour] = {
    behaviour.name: behaviour for behaviour in (*adapters_scripting.BEHAVIOURS,)
}
