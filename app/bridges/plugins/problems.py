"""What can be wrong with a plugin, and how to mend it.

Owns: the exceptions of this bridge. Never: what hooks and tools answer.
"""

from __future__ import annotations

from app.bridges.processes.child import ChildEnded
from app.errors import Failure, ToolError


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


class _Answered(Failure):
    """`error` is the answer of its tools, when it is not `plugin_unavailable`."""

    def __init__(self, reason: str, error: ToolError | None = None) -> None:
        super().__init__(reason)
        self.error = error


class PluginRefused(_Answered):
    """A plugin that contradicts its manifest, or gets no place to run; `reason` says how. A retry would not
    help."""


class PluginUnavailable(_Answered):
    """A plugin that does not run now; `reason` says why and what becomes of it."""
