"""The list of built-in tools.

Owns: which tools and groups exist. Never: registration as a side effect of an import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from app.bridges.dap.manager import DebugAdapters
from app.bridges.lsp.manager import LanguageServers
from app.bridges.pty.manager import TerminalManager
from app.tools.agents import changes
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.listing import SourceFiles
from app.tools.code import lsp
from app.tools.compute import calc
from app.tools.debug import debug
from app.tools.dialogue import ask, form, plan
from app.tools.discovery import call_tool, tool_search
from app.tools.dispatch.registry import ToolRegistry
from app.tools.edit import ast_rewrite, text
from app.tools.file import create, read, write
from app.tools.locked import locked_set
from app.tools.planning import checkpoint, issue, todo, workflow
from app.tools.planning.issue_port import ProjectIssues
from app.tools.processes.call_processes import CallProcesses
from app.tools.project import recipe
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.search import ast_search, glob, grep
from app.tools.search.kept_lists import KeptLists
from app.tools.shell import background, bash
from app.tools.web import fetch, search
from app.tools.web.access import WebAccess
from app.workspace.ignore_rules import rules_above

GROUPS: dict[str, tuple[str, ...]] = {
    "@files": ("file.*", "edit.*"),
    "@locked": locked_set.NAMES,
}


def build_registry(  # noqa: PLR0913
    *,
    reads: ReadTracker,
    processes: CallProcesses,
    terminals: TerminalManager,
    environment: Mapping[str, str],
    data_dir: Path | None = None,
    config_file: Path | None = None,
    languages: LanguageServers | None = None,
    debuggers: DebugAdapters | None = None,
    kept: KeptLists | None = None,
    issues: ProjectIssues | None = None,
    todos: todo.IssueTodos | None = None,
    workflows: workflow.Workflows | None = None,
    subagents: Callable[[], changes.SubagentChanges] | None = None,
    web: WebAccess | None = None,
) -> ToolRegistry:
    """Return the registry of all built-in tools. `reads` remembers who has read what. `data_dir` is the
    daemon's own folder and `config_file` holds its credentials: no tool may touch them. `processes` start
    programs, `terminals` run commands, with `environment`. `kept` are file lists for quick searches. Without
    `languages`, `debuggers`, `issues`, `todos`, `workflows` or `subagents` their tools exist and answer that
    they are not available. Without `web` there is no search provider, and no proxy."""
    closed = tuple(path for path in (data_dir, config_file) if path is not None)
    files = ProjectFiles(reads=reads, closed=closed)
    syntax = AstGrep(processes.own, environment)
    sources = SourceFiles(processes.own, rules_above, environment)
    reading, writing = read.build(files, processes, environment), write.build(files)
    editing, access = text.build(files), web or WebAccess()
    running = bash.build(terminals, files, processes, environment)
    definitions = (
        reading,
        writing,
        create.build(files),
        editing,
        calc.build(files.threads),
        grep.build(files, processes, environment),
        glob.build(files, processes, environment, kept=kept),
        ast_search.build(files, processes, syntax, sources),
        ast_rewrite.build(files, processes, syntax, sources),
        running,
        background.build(terminals),
        lsp.build(files, processes, sources, syntax, languages),
        debug.build(files, debuggers, terminals, processes, syntax),
        recipe.build(files, environment),
        checkpoint.build(),
        issue.build(issues),
        todo.build(todos),
        *workflow.build(workflows),
        changes.build(files, subagents),
        *(ask.build(), form.build(), plan.build()),
        *locked_set.build(
            files, processes, environment, read=reading, write=writing, edit=editing, bash=running, kept=kept
        ),
        search.build(access),
        fetch.build(access, processes, environment),
        tool_search.build(),
        call_tool.build(),
    )
    return ToolRegistry(definitions, GROUPS)
