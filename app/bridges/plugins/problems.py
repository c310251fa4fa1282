"""What can be wrong with a plugin, and how to mend it.

Owns: the exceptions of this bridge. Never: what hooks and tools answer.
"""

from __future__ import annotations

from app.bridges.processes.child import ChildEnded


class PluginProblem(Exception):
    """A plugin that cannot be used as declared. `code` is `plugin_not_found`, `plugin_path_refused`,
    `plugin_manifest_invalid`, `plugin_name_mismatch` or `plugin_config_invalid`; `problems` has a sentence
    each."""

    def __init__(self, code: str, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.problems = problems or (message,)


class PluginEnded(ChildEnded):
    """A plugin's process could not be started, or has ended; `reason` says why, in words."""
