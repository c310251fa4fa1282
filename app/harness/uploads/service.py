"""Uploads: received once, named later by what uses them, removed when nothing does.

Owns: the life of an upload's row together with its content, until nothing uses it. Never: HTTP, or what a
file is for. A content is on the disk before its row is; a row goes before its content does.
"""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.harness.uploads.content import ContentFolder, IncomingFile, disk_problem, write_all
from app.harness.uploads.names import distinct_name, media_type_of, safe_name
from app.harness.uploads.placement import content_gone, place_upload
from app.ids import new_id, now_ms
from app.storage.keyed_effect import effect
from app.storage.models import Upload
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

UNUSED_MS = 24 * 60 * 60 * 1000
"""How long a file is kept that nothing uses."""


@dataclass(slots=True)
class ReceivedFile:
    """A content that is on the disk; it has a row, or is about to, once it is `kept`."""

    id: str
    size_bytes: int = 0
    sha256: str = ""
    kept: bool = False


class UploadService:
    """All uploads of one daemon. `max_bytes` is the limit for each."""

    def __init__(self, storage: Storage, data_dir: Path, *, max_bytes: int) -> None:
        self._storage = storage
        self._data_dir = data_dir
        self._contents = ContentFolder(data_dir / "uploads")
        self._arriving: set[str] = set()
        self._lost_since: dict[str, int] = {}
        self.max_bytes = max_bytes

    @asynccontextmanager
    async def received(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[ReceivedFile]:
        """Write what arrives to the disk. Leaving the `with` removes it again, unless `keep` gave it
        a row. Raises PayloadTooLarge, BadRequest, InsufficientStorage, StorageError; nothing is
        left then."""
        received = ReceivedFile(new_id("upl"))
        self._arriving.add(received.id)
        file: IncomingFile | None = None
        try:
            file = await self._create(received.id)
            await write_all(file, pieces, self.max_bytes)
            received.size_bytes, received.sha256 = file.size_bytes, file.sha256
            yield received
        finally:
            if file is not None and not received.kept:
                # A cancelled request must not leave its file.
                await asyncio.shield(asyncio.to_thread(file.discard))
            self._arriving.discard(received.id)

    async def keep(
        self, received: ReceivedFile, *, project_id: str, name: str, media_type: str, created_by: str
    ) -> Upload:
        """Store the row of a received file under a safe form of `name`; raises Conflict when the
        project is gone."""
        safe = safe_name(name)
        row = Upload(
            id=received.id,
            project_id=project_id,
            name=safe,
            media_type=media_type_of(media_type, safe),
            size_bytes=received.size_bytes,
            sha256=received.sha256,
            created_by=created_by,
            created_at=now_ms(),
        )
        # Before it is stored: who is cancelled here does not stop the writer.
        received.kept = True
        try:
            stored = effect(lambda uow: uow.uploads.add(row.model_copy()), lambda _: row)
            await self._storage.write(stored, durable=True)
        except KagedError:
            received.kept = False
            raise
        return row

    async def get(self, upload_id: str) -> Upload:
        """Return the row; raises NotFound."""
        row = await self._storage.read(lambda uow: uow.uploads.get(upload_id))
        if row is None:
            raise _unknown(upload_id)
        return row

    async def content(self, upload_id: str) -> tuple[Upload, Path]:
        """Return the row, and the path of its content. Raises NotFound, Gone."""
        row = await self.get(upload_id)
        path = self._contents.path_of(row.id)
        if not await asyncio.to_thread(_is_file, path):
            raise content_gone(row.id)
        return row, path

    async def delete(self, upload_id: str) -> None:
        """Remove an upload that nothing uses. Raises NotFound, Conflict."""

        def remove(uow: UnitOfWork) -> None:
            row = uow.uploads.get(upload_id)
            if row is None:
                raise _unknown(upload_id)
            if row.used_by is not None:
                raise Conflict(
                    f"The file belongs to {row.used_by} and stays with it.",
                    reason="upload_in_use",
                    details={"state": "used", "used_by": row.used_by},
                )
            uow.uploads.remove([upload_id])

        await self._storage.write(remove, durable=True)
        await asyncio.to_thread(self._contents.remove, upload_id)

    def claim(
        self,
        uow: UnitOfWork,
        ids: Sequence[str],
        project_id: str,
        used_by: str,
        *,
        fields: Sequence[str] | None = None,
    ) -> list[Upload]:
        """Let `used_by` (issue, session, interaction or workflow run) own the uploads, in the unit of
        work that says what for; return their rows in the order of `ids`.

        Their names become distinct among all files of the owner. Claiming again what it owns
        changes nothing. Raises ValidationFailed with what is wrong with each, by `fields` (parallel to
        `ids`; `upload_ids.0` and so on without)."""
        names = list(fields) if fields is not None else [f"upload_ids.{n}" for n in range(len(ids))]
        rows = [uow.uploads.get(upload_id) for upload_id in ids]
        wrong: dict[str, str] = {}
        for place, (field, upload_id, row) in enumerate(zip(names, ids, rows, strict=True)):
            problem = _not_usable(row, upload_id, project_id, used_by)
            if upload_id in ids[:place]:
                problem = f"{upload_id} is named twice"
            if problem is not None:
                wrong[field] = problem
        if wrong:
            raise ValidationFailed("Some of the files cannot be used.", fields=wrong)
        return self._own(uow, [row for row in rows if row is not None], used_by)

    @staticmethod
    def _own(uow: UnitOfWork, rows: list[Upload], used_by: str) -> list[Upload]:
        taken = {row.name for row in uow.uploads.of_user(used_by)}
        at = now_ms()
        owned = []
        for row in rows:
            if row.used_by is None:
                changes = {"name": distinct_name(row.name, taken), "used_by": used_by, "used_at": at}
                uow.uploads.update(row.id, **changes)
                row = row.model_copy(update=changes)
                taken.add(row.name)
            owned.append(row)
        return owned

    async def place(self, upload: Upload, project_root: Path, holder_id: str) -> str:
        """Copy an upload into the project, to `.kaged/tmp/<holder_id>/<name>`; return that path, which
        is relative to the project. May be repeated. Raises Gone, Conflict, InsufficientStorage."""
        content = self._contents.path_of(upload.id)
        try:
            return await asyncio.to_thread(
                place_upload, upload, content, project_root, holder_id, (self._data_dir,)
            )
        except OSError as problem:
            raise disk_problem(problem) from problem

    async def trim(self, at: int | None = None, *, rows: bool = True) -> int:
        """Remove uploads that nothing uses for a day, contents that never arrived whole, and contents
        that have been without a row for a day; return how many. `at` is the time (milliseconds). Without
        `rows` only contents.

        Raises StorageError."""
        at = now_ms() if at is None else at
        removed = 0
        while rows and (
            ids := await self._storage.write(lambda uow: uow.uploads.remove_unused(at - UNUSED_MS))
        ):
            await asyncio.to_thread(self._remove_all, ids)
            removed += len(ids)
        present, unfinished = await asyncio.to_thread(self._contents.present)
        # Asked after the folder was read: what arrives from now on is in neither.
        arriving = set(self._arriving)
        lost = present - arriving
        known = await self._storage.read(lambda uow: uow.uploads.existing(lost))
        gone = self._long_lost(lost - known, at) | (unfinished - arriving)
        await asyncio.to_thread(self._remove_all, gone)
        return removed + len(gone)

    def _long_lost(self, lost: set[str], at: int) -> set[str]:
        """Return which contents have had no row for a day. Not at once: the rows may be about to come
        back, as when a daemon was started before a backup was restored."""
        self._lost_since = {one: self._lost_since.get(one, at) for one in lost}
        return {one for one, since in self._lost_since.items() if at - since >= UNUSED_MS}

    def _remove_all(self, ids: Sequence[str] | set[str]) -> None:
        for upload_id in ids:
            self._contents.remove(upload_id)

    async def _create(self, upload_id: str) -> IncomingFile:
        try:
            return await asyncio.to_thread(self._contents.create, upload_id)
        except OSError as problem:
            raise disk_problem(problem) from problem


def _unknown(upload_id: str) -> KagedError:
    return NotFound(
        f"There is no upload {upload_id}. A file that nothing uses is removed after a day; upload it again."
    )


def _not_usable(row: Upload | None, upload_id: str, project_id: str, used_by: str) -> str | None:
    if row is None:
        return f"there is no upload {upload_id}; a file that nothing uses is removed after a day"
    if row.project_id != project_id:
        return f"{upload_id} was uploaded for another project"
    if row.used_by not in (None, used_by):
        return f"{upload_id} belongs to something else already; upload the file again"
    return None


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


log = logging.getLogger("kaged.daemon")

TRIM_EVERY_SECONDS = 600.0


async def trim_uploads_forever(
    uploads: UploadService, may_trim_rows: Callable[[], bool] = lambda: True
) -> None:
    """Remove them now and every ten minutes; a failure is logged and tried again."""
    while True:
        try:
            removed = await uploads.trim(rows=may_trim_rows())
            if removed:
                log.info("%d uploads that nothing used were removed", removed)
        except (KagedError, OSError) as error:
            log.error("unused uploads could not be removed: %s", error)
        await asyncio.sleep(TRIM_EVERY_SECONDS)
