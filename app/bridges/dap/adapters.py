"""The built-in table: every runtime with its debug adapters, and how each adapter behaves.

Owns: the table as a whole. Never: looking at this machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.bridges.dap import adapters_native, adapters_scripting
from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.adapter_entry import RuntimeEntry

_PARTS = (adapters_scripting, adapters_native)
_RELEASE = re.compile(r"-?(?<![\d.])\d++(?>(?:\.\d++)*)$")

RUNTIMES: Mapping[str, RuntimeEntry] = {entry.runtime: entry for part in _PARTS for entry in part.RUNTIMES}
"""By the name that the tool and the project file use."""
BEHAVIOURS: Mapping[str, AdapterBehaviour] = {
    behaviour.name: behaviour for part in _PARTS for behaviour in part.BEHAVIOURS
}
"""By the adapter's name."""


def behaviour_of_words(command: Sequence[str]) -> AdapterBehaviour | None:
    """Return the behaviour of the adapter that a command starts, whatever starts it (`python -m`, `node`,
    `docker`), or None."""
    for word in command[:6]:
        name = word.rpartition("/")[2]
        for behaviour in BEHAVIOURS.values():
            if {name, _RELEASE.sub("", name)} & {behaviour.name, *behaviour.known_as}:
                return behaviour
    return None


def behaviour_of_type(name: str) -> AdapterBehaviour | None:
    """Return the behaviour of the adapter that a `type` of the launch request means, or None."""
    found = BEHAVIOURS.get(name)
    if found is not None:
        return found
    return next((one for one in BEHAVIOURS.values() if name and name in {one.adapter_id, *one.types}), None)
