"""What the daemon knows of the files of its projects while it runs: lists of them, and what is said of them.

Owns: starting the watches of folders, the kept lists, the language servers and the late findings of edits,
and ending them. Never: what any of them does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.bridges.lsp.manager import LanguageServers
from app.config import Settings, child_environment
from app.daemon.bridge_audit import BridgeAudit
from app.daemon.cage_setup import server_cages
from app.daemon.language_servers import ProjectLanguageServers
from app.harness.files.problems import ProblemViews
from app.harness.files.roots import WorkingRoots
from app.harness.files.service import ProjectFileViews
from app.harness.files.statuses import GitStatuses
from app.harness.files.symbols import ProjectSymbols
from app.harness.projects.projects import ProjectRegistry
from app.storage.storage import Storage
from app.tools.after_edit.edit_feedback import EditFeedback
from app.tools.ast_grep.engine import AstGrep
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.text_format import text_of
from app.tools.search.engine import Ripgrep
from app.tools.search.kept_lists import KeptLists
from app.tools.search.symbol_indexes import SymbolIndexes
from app.tools.search.symbol_reader import SymbolReader
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import TreeWatches


@dataclass(frozen=True, slots=True)
class CodeServices:
    """`kept` are the lists of files, and `watches` sees what changes in them; `symbols` are what they
    declare."""

    kept: KeptLists
    symbols: SymbolIndexes
    watches: TreeWatches
    languages: LanguageServers
    feedback: EditFeedback

    def file_views(
        self, projects: ProjectRegistry, storage: Storage, processes: CallProcesses
    ) -> tuple[ProjectFileViews, ProblemViews]:
        """Return what shows the files of projects to clients, and what is wrong in them."""
        statuses, roots = (
            GitStatuses(processes, child_environment(), self.watches),
            WorkingRoots(projects, storage),
        )
        views = ProjectFileViews(roots, statuses, self.kept, processes.closed)
        return views, ProblemViews(views, roots, projects, self.languages)

    def project_symbols(
        self, projects: ProjectRegistry, storage: Storage, processes: CallProcesses
    ) -> ProjectSymbols:
        """Return what searches the declarations of projects for clients."""
        return ProjectSymbols(WorkingRoots(projects, storage), self.symbols, processes.closed)


@asynccontextmanager
async def open_code_services(
    settings: Settings, processes: CallProcesses, projects: ProjectRegistry, audit: BridgeAudit
) -> AsyncIterator[CodeServices]:
    """Start them; on leaving nothing of them is left."""
    environment = child_environment()
    watches = TreeWatches(ProjectRules)
    every_folder = TreeWatches(instead=watches)  # installed packages, generated code: for language servers
    kept = KeptLists(watches, processes, Ripgrep.installed(environment))
    declared = ProjectLanguageServers(settings.lsp, projects)
    symbols = SymbolIndexes(kept, SymbolReader(processes, AstGrep(processes.own, environment)))
    languages = LanguageServers(
        processes.own,
        every_folder,
        environment=environment,
        declared=declared,
        decode=text_of,
        record=audit,
        cages=server_cages(processes.cages, settings),
    )
    feedback = EditFeedback(languages, enabled=declared.diagnostics_after_edit)
    try:
        yield CodeServices(kept, symbols, watches, languages, feedback)
    finally:
        await feedback.aclose()
        await languages.aclose()
        await symbols.aclose()
        await kept.aclose()
        await asyncio.gather(every_folder.aclose(), watches.aclose())
