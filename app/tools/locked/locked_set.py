"""The locked set: the portable tools that models know from elsewhere, by names without a dot.

Owns: which they are, and putting them together. Never: their implementations.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.tools.contract.definition import ToolDefinition
from app.tools.locked import command, files, searches
from app.tools.locked.question import question
from app.tools.locked.task import task
from app.tools.locked.todo import todo
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.search import glob, grep
from app.tools.search.kept_lists import KeptLists

NAMES = ("read", "write", "edit", "glob", "grep", "bash", "todo", "task", "question")


def build(
    project_files: ProjectFiles,
    processes: CallProcesses,
    environment: Mapping[str, str],
    *,
    read: ToolDefinition,
    write: ToolDefinition,
    edit: ToolDefinition,
    bash: ToolDefinition,
    kept: KeptLists | None = None,
) -> tuple[ToolDefinition, ...]:
    """Return the tools, in the order of `NAMES`, over the dotted ones that are given."""
    finding = glob.build(project_files, processes, environment, limits=searches.GLOB_LIMITS, kept=kept)
    searching = grep.build(project_files, processes, environment, limits=searches.GREP_LIMITS)
    return (
        files.read(read),
        files.write(write),
        files.edit(edit),
        searches.glob(finding),
        searches.grep(searching),
        command.bash(bash),
        todo(),
        task(),
        question(),
    )
