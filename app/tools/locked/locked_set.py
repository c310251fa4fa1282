"""The locked set: portable tools by names without a dot, which models know.

Owns: which they are. Never: their implementations.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.tools.contract.definition import ToolDefinition
from app.tools.locked.question import question
from app.tools.locked.skill import skill
from app.tools.locked.task import task
from app.tools.locked.todo import todo
from app.tools.locked.twins import BashParams, GrepParams, ReadParams, head_of_output, twin, whole_lines
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.search import glob, grep
from app.tools.search.file_search import FileLimits
from app.tools.search.kept_lists import KeptLists
from app.tools.search.text_search import TextLimits

NAMES = (
    *("read", "write", "edit", "glob", "grep", "bash", "todo", "task", "question", "skill"),
    *("web_search", "web_fetch", "tool_search"),
)


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
    """Return the tools, in the order of `NAMES`, over the dotted ones that are given. Those of the
    web and the search for tools have no other names; their families build them."""
    finding = glob.build(project_files, processes, environment, limits=FileLimits(shown=1_000), kept=kept)
    searching = grep.build(project_files, processes, environment, limits=TextLimits(shown_rows=200))
    return (
        twin(read, "read", ReadParams, shorten=whole_lines),
        twin(write, "write"),
        twin(edit, "edit"),
        twin(finding, "glob"),
        twin(searching, "grep", GrepParams, output_mode="content"),
        twin(bash, "bash", BashParams, shorten=head_of_output),
        todo(),
        task(),
        question(),
        skill(),
    )
