"""Projects while no daemon runs on the data folder: trusting one, and going on with one that was moved.

Owns: reading a project as a daemon would, and storing what an operator decides in the daemon's database.
Never: loading the project; the next daemon does that.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from app.config import Settings, secret_values
from app.errors import NotFound
from app.harness.checkpoints.worktrees import NOTES_FOLDER, move_notes
from app.harness.dsl.acts import Act
from app.harness.dsl.compiler import compile_in_thread
from app.harness.dsl.tool_resolution import ToolCatalog
from app.harness.projects.loaded_project import project_root
from app.harness.projects.project_rows import check_move, move_rows
from app.harness.projects.project_trust import ProjectTrusts, Trust, audited, granted, store_grant
from app.observability import Redactor
from app.storage.lock import DataFolderLock
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.workspace.moved_repository import follow_repository


@dataclass(frozen=True, slots=True)
class Seen:
    """A project as it is on disk: its root, and what is trusted of it."""

    root: Path
    trust: Trust

    @property
    def acts(self) -> tuple[Act, ...]:
        return self.trust.acts


@dataclass(frozen=True, slots=True)
class LocalProjects:
    """Works on the data folder of the settings; each call claims it, so that no daemon runs meanwhile.

    Raises `Conflict` (`data_folder_in_use`), `StorageError`, `NotFound`, `ProjectFileInvalid`."""

    settings: Settings
    catalog: ToolCatalog

    async def look(self, folder: Path) -> Seen:
        """Return what a project would do, and whether it is trusted."""
        return await self._with_storage(folder, always=False, actor=None)

    async def grant(self, folder: Path, *, always: bool = False, actor: str) -> Seen:
        """Trust a project as it is on disk now."""
        return await self._with_storage(folder, always=always, actor=actor)

    async def withdraw(self, folder: Path, *, actor: str) -> bool:
        """Forget that a project is trusted; return whether it was. Raises `Conflict` (`trusted_by_settings`)
        too."""
        root = await asyncio.to_thread(project_root, str(folder))

        def remove(uow: UnitOfWork) -> bool:
            if not uow.trust.remove(str(root)):
                return False
            row = uow.projects.by_root(str(root))
            uow.audit.add_many([audited("trust.withdrawn", actor, row.id if row is not None else None)])
            return True

        with DataFolderLock(self.settings.daemon.data_dir):
            storage = await self._open()
            try:
                ProjectTrusts(storage, self.settings.projects.trusted).require_revocable(root)
                return await storage.write(remove, durable=True)
            finally:
                await storage.close()

    async def move(self, before: str, folder: Path, *, actor: str) -> Path:
        """Go on with the project whose root, or id, was `before`, now that its folder is `folder`; return the
        new root. Raises `NotFound` for a project that was never loaded, `Conflict` (`project_exists`) too."""
        root = await asyncio.to_thread(project_root, str(folder))
        (await compile_in_thread(root, catalog=self.catalog)).require()
        notes = self.settings.daemon.data_dir / NOTES_FOLDER

        with DataFolderLock(self.settings.daemon.data_dir):
            storage = await self._open()
            try:
                row = await storage.read(lambda uow: uow.projects.get(before) or uow.projects.by_root(before))
                if row is None:
                    raise NotFound(f"There was never a project at {before}.", reason="project_not_found")
                found = row.id
                await storage.read(lambda uow: check_move(uow, found, root))
                await asyncio.to_thread(move_notes, notes, Path(row.root), root)
                data_dir, before_root = self.settings.daemon.data_dir, Path(row.root)
                await asyncio.to_thread(follow_repository, data_dir, found, before_root, root)
                await storage.write(lambda uow: move_rows(uow, found, root, actor), durable=True)
            finally:
                await storage.close()
        return root

    async def _with_storage(self, folder: Path, *, always: bool, actor: str | None) -> Seen:
        root = await asyncio.to_thread(project_root, str(folder))
        result = await compile_in_thread(root, catalog=self.catalog)
        compiled = result.require()
        with DataFolderLock(self.settings.daemon.data_dir):
            storage = await self._open()
            try:
                trusts = ProjectTrusts(storage, self.settings.projects.trusted)
                if actor is not None:
                    row = granted(root, compiled, always=always, actor=actor)

                    def store(uow: UnitOfWork) -> None:
                        project = uow.projects.by_root(str(root))
                        number = project.id if project is not None else None
                        store_grant(uow, row, compiled, number)
                        data = {"digest": row.digest, "always": always, "root": row.root}
                        uow.audit.add_many([audited("trust.granted", row.trusted_by, number, data)])

                    await storage.write(store, durable=True)
                return Seen(root, (await trusts.judge(root, result)).trust)
            finally:
                await storage.close()

    async def _open(self) -> Storage:
        url = self.settings.storage.url
        redactor = Redactor(secret_values(self.settings))
        return await Storage.open(
            url.get_secret_value() if url is not None else None, self.settings.daemon.data_dir, redactor
        )
