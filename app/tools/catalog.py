"""The list of built-in tools.

Owns: which tools and groups exist. Never: registration as a side effect of an import.
"""

from __future__ import annotations

from pathlib import Path

from app.tools.compute import calc
from app.tools.edit import text
from app.tools.file import create, read, write
from app.tools.project_files import ProjectFiles
from app.tools.read_tracker import ReadTracker
from app.tools.registry import ToolRegistry

GROUPS: dict[str, tuple[str, ...]] = {
    "@files": ("file.*", "edit.*"),
    "@locked": (),
}
"""`@locked` is reserved for the portable names (`read`, `write`, ...)."""


def build_registry(
    *, reads: ReadTracker, data_dir: Path | None = None, config_file: Path | None = None
) -> ToolRegistry:
    """Return the registry of all built-in tools.

    `reads` remembers who has read what, for as long as its sessions live. `data_dir` is the
    daemon's own folder and `config_file` holds its credentials: no tool may touch them.
    """
    files = ProjectFiles(
        reads=reads, closed=tuple(path for path in (data_dir, config_file) if path is not None)
    )
    return ToolRegistry(
        (read.build(files), write.build(files), create.build(files), text.build(files), calc.build()), GROUPS
    )
