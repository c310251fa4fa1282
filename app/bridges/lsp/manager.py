"""The language servers of the daemon: the front door of this bridge.

Owns: the projects and their servers' end. Never: who may ask what; that is decided before.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.bridges.lsp.diagnostics import Diagnosed
from app.bridges.lsp.documents import Decode, OpenText
from app.bridges.lsp.file_uris import ForeignUri, path_to_uri, uri_to_path
from app.bridges.lsp.lifecycle import Dependencies
from app.bridges.lsp.limits import ServerLimits
from app.bridges.lsp.positions import Encoding, LineIndex, convert_line
from app.bridges.lsp.project import Declarations, ProjectLanguages, ServerStatus
from app.bridges.lsp.resolution import Declared, ResolvedServer, ServerTable
from app.bridges.lsp.server import LanguageServer
from app.bridges.lsp.server_places import ServerCages, ServerPlaces, remove_homes
from app.bridges.lsp.units import Unit, Units, manifest_text
from app.bridges.lsp.whole_project import ProjectReport
from app.bridges.lsp.workspace_edit import (
    CreateFile,
    DeleteFile,
    EditPlan,
    MalformedEdit,
    Operation,
    RenameFile,
    TextEdit,
    TextEdits,
    apply_text_edits,
    parse_workspace_edit,
    prevailing_line_end,
)
from app.bridges.processes.audit import Record
from app.bridges.processes.child_starter import ChildStarter
from app.workspace.tree_watch import TreeWatches

__all__ = [
    "CreateFile",
    "Declarations",
    "Declared",
    "DeleteFile",
    "Diagnosed",
    "EditPlan",
    "Encoding",
    "ForeignUri",
    "LanguageServer",
    "LanguageServers",
    "LineIndex",
    "MalformedEdit",
    "OpenText",
    "Operation",
    "ProjectLanguages",
    "ProjectReport",
    "RenameFile",
    "ResolvedServer",
    "ServerCages",
    "ServerLimits",
    "ServerStatus",
    "ServerTable",
    "TextEdit",
    "TextEdits",
    "Unit",
    "Units",
    "apply_text_edits",
    "convert_line",
    "manifest_text",
    "parse_workspace_edit",
    "path_to_uri",
    "prevailing_line_end",
    "uri_to_path",
]

_Key = tuple[str, Path]
"""A project, and the root at which its files are."""


class LanguageServers:
    """All language servers of this daemon. One instance, closed before the children are.

    `declared` returns what is declared for a project, `decode` the text of a file's content or None
    when it is binary, `record` keeps an audit event and must not raise. With `cages` each server runs in one.
    """

    def __init__(
        self,
        children: ChildStarter,
        watches: TreeWatches,
        *,
        environment: Mapping[str, str],
        declared: Callable[[str], Declarations],
        decode: Decode,
        record: Record,
        limits: ServerLimits | None = None,
        cages: ServerCages | None = None,
    ) -> None:
        self._children = children
        self._watches = watches
        self._environment = environment
        self._declared = declared
        self._decode = decode
        self._record = record
        self._limits = limits or ServerLimits()
        self._cages = cages
        self._projects: dict[_Key, ProjectLanguages] = {}
        self._leaving: set[ProjectLanguages] = set()
        self._closed = False

    def project(self, project_id: str, root: Path) -> ProjectLanguages:
        """Return the languages of a project at a root: its own folder, or that of a workspace; nothing is
        started by that."""
        declared = self._declared(project_id)
        project = self._projects.get((project_id, root))
        if project is None:
            project = self._projects[project_id, root] = ProjectLanguages(
                root, declared, self._dependencies(project_id, root)
            )
            if self._closed:
                project.begin_close("daemon_shutdown")
        elif project.declared != declared:
            project.redeclare(declared)
        return project

    def running(self) -> Counter[str]:
        """Return how many servers run, by language."""
        return Counter(server.language for project in self._projects.values() for server in project.running())

    async def close_project(self, project_id: str) -> None:
        """End the servers of a project that is no longer used, at all its roots."""
        await self._close([key for key in self._projects if key[0] == project_id], "project_unload")

    async def close_root(self, root: Path) -> None:
        """End the servers of a workspace that is no longer used, and remove their homes."""
        await self._close([key for key in self._projects if key[1] == root], "workspace_removed")
        if self._cages is not None:
            await asyncio.to_thread(remove_homes, self._cages, root)

    async def _close(self, keys: Sequence[_Key], reason: str) -> None:
        leaving = [self._projects.pop(key) for key in keys]
        for project in leaving:
            self._part_from(project, reason)
        await asyncio.gather(*(project.closed() for project in leaving))
        self._leaving.difference_update(leaving)

    async def aclose(self) -> None:
        """End all servers; none is started any more."""
        self._closed = True
        for project in self._projects.values():
            self._part_from(project, "daemon_shutdown")
        self._projects.clear()
        await asyncio.gather(*(project.closed() for project in self._leaving))
        self._leaving.clear()

    def _dependencies(self, project_id: str, root: Path) -> Dependencies:
        return Dependencies(
            places=ServerPlaces(self._children, self._environment, self._cages, project_id, root),
            watches=self._watches,
            environment=self._environment,
            decode=self._decode,
            record=lambda event, data: self._record(event, project_id, data),
            limits=self._limits,
        )

    def _part_from(self, project: ProjectLanguages, reason: str) -> None:
        project.begin_close(reason)
        self._leaving = {one for one in self._leaving if one.is_leaving}
        self._leaving.add(project)
