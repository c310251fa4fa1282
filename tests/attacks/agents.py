"""The agents that attack: one for each kind of cage.

Owns: the project file of the attacked project and of its neighbour. Never: what the agents try.
"""

from __future__ import annotations

import json
from typing import Any

TOOLS = ("file.*", "edit.*", "search.*", "code.*", "debug", "shell.*", "project.*", "@locked")
RUNS = {"capabilities": ["shell", "exec"]}
SOURCE = {"mode": "rw", "path": "src"}
NOT_PRIVATE = {"mode": "deny", "path": "src/private"}

CAGES: dict[str, dict[str, Any]] = {
    # Reads one folder, without the one in it that is denied.
    "reader": {"fs": [{"mode": "ro", "path": "src"}, NOT_PRIVATE], "outside": "mark"},
    # The same, and does not learn of matches elsewhere: nothing is said of them.
    "blind": {"fs": [{"mode": "ro", "path": "src"}, NOT_PRIVATE]},
    "writer": {"fs": [SOURCE, NOT_PRIVATE]},
    # What it needs is also there in the tier `landlock`.
    "runner": {"fs": [SOURCE], **RUNS},
    "looker": {"fs": [{"mode": "ro", "path": "src/sub"}, SOURCE], **RUNS},
    "keeper": {"fs": [SOURCE, NOT_PRIVATE], "state": "persistent", **RUNS},
    "netter": {"fs": [SOURCE], "net": {"allow": ["allowed.example:443", "*.wide.example:443"]}, **RUNS},
    "relaxed": {"fs": [SOURCE], "seccomp": "relaxed", **RUNS},
    "talker": {"fs": [SOURCE], "ipc": ["unix"], **RUNS},
    "bounded": {
        "fs": [SOURCE],
        "limits": {
            "walltime_seconds": 120,
            "memory_mb": 256,
            "pids": 40,
            "file_size_mb": 4,
            "open_files": 128,
        },
        **RUNS,
    },
    "helpless": {"fs": [SOURCE]},
}


def project_file(name: str) -> str:
    """Return the text of a project file with an agent for each cage below the root agent."""
    agent = {"model": "main", "system_prompt": "project:/prompts/agent.md"}
    tools = {tool: {"enabled": True} for tool in TOOLS}
    children = {
        key: {**agent, "description": f"Tries what {key} may not.", "cage": cage, "tools": tools}
        for key, cage in CAGES.items()
    }
    primary = {
        **agent,
        "cage": "disabled",
        "tools": {**tools, "spy.*": {"enabled": True}},
        "subagents": children,
    }
    if name == "attacked":
        primary["plugins"] = {"spy": {"package": "./plugins/spy"}}
    return json.dumps({"version": 1, "project": name, "primary": primary}, indent=1)
