"""Uploads put into a project: each under a name of its own, never over or out of anything."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.errors import Conflict, Gone, InsufficientStorage, ValidationFailed
from app.harness.uploads.service import UploadService
from app.ids import new_id, now_ms
from app.storage.models import Interaction, Project, Session, Upload
from app.storage.storage import Storage

pytestmark = pytest.mark.requirement("uploads.two_stage")


class Desk:
    """A service with a project, and a folder that the project is in."""

    def __init__(self, storage: Storage, folder: Path) -> None:
        self.storage = storage
        self.data = folder / "data"
        self.root = folder / "shop"
        (self.root / ".kaged").mkdir(parents=True)
        self.uploads = UploadService(storage, self.data, max_bytes=8 << 20)
        self.project_id = new_id("prj")

    async def open(self) -> Desk:
        row = Project(
            id=self.project_id, slug="shop", root=str(self.root), created_at=now_ms(), loaded_at=now_ms()
        )
        await self.storage.write(lambda uow: uow.projects.add(row))
        return self

    async def upload(self, content: bytes, name: str = "a.txt") -> Upload:
        async with self.uploads.received(_pieces(content)) as received:
            return await self.uploads.keep(
                received, project_id=self.project_id, name=name, media_type="", created_by="operator:me"
            )

    async def claim(self, *rows: Upload, by: str = "iss_1", project: str = "") -> list[Upload]:
        ids = [row.id for row in rows]
        return await self.storage.write(
            lambda uow: self.uploads.claim(uow, ids, project or self.project_id, by)
        )


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 60_000):
        yield content[start : start + 60_000]


@pytest.fixture
async def desk(storage: Storage, tmp_path: Path) -> Desk:
    return await Desk(storage, tmp_path).open()


async def test_a_file_is_copied_into_the_project_once(desk: Desk) -> None:
    content = os.urandom(3_000_000)
    (row,) = await desk.claim(await desk.upload(content, "data.bin"))

    path = await desk.uploads.place(row, desk.root, "itx_1")
    again = await desk.uploads.place(row, desk.root, "itx_1")

    assert path == again == ".kaged/tmp/itx_1/data.bin"
    assert (desk.root / path).read_bytes() == content
    assert (desk.root / path).stat().st_nlink == 1
    assert (desk.root / ".kaged/tmp/.gitignore").read_text() == "*\n"
    (desk.root / path).write_text("changed by the project")
    _, kept = await desk.uploads.content(row.id)
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == row.sha256


async def test_files_of_one_name_get_names_of_their_own(desk: Desk) -> None:
    same = [await desk.upload(b"same") for _ in range(2)]
    first = await desk.claim(*same)
    later = await desk.claim(await desk.upload(b"other", "A.TXT"))

    assert [row.name for row in (*first, *later)] == ["a.txt", "a-2.txt", "A-3.TXT"]
    paths = [await desk.uploads.place(row, desk.root, "iss_1") for row in (*first, *later)]
    assert [(desk.root / path).read_bytes() for path in paths] == [b"same", b"same", b"other"]
    assert [row.name for row in await desk.claim(*same)] == ["a.txt", "a-2.txt"]


async def test_what_lies_there_already_is_not_written_to(desk: Desk) -> None:
    folder = desk.root / ".kaged/tmp/itx_1"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("the project's own")
    (folder / "a-2.txt").mkdir()
    (row,) = await desk.claim(await desk.upload(b"handed in"))

    path = await desk.uploads.place(row, desk.root, "itx_1")

    assert path == ".kaged/tmp/itx_1/a-3.txt"
    assert (folder / "a.txt").read_text() == "the project's own"


@pytest.mark.parametrize("linked", [".kaged/tmp", ".kaged/tmp/itx_1"])
async def test_a_link_does_not_lead_out_of_the_project(desk: Desk, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (desk.root / linked).parent.mkdir(parents=True, exist_ok=True)
    (desk.root / linked).symlink_to(outside)
    (row,) = await desk.claim(await desk.upload(b"x"))

    with pytest.raises(Conflict) as refused:
        await desk.uploads.place(row, desk.root, "itx_1")

    assert refused.value.details["reason"] == "invalid_path"
    assert list(outside.iterdir()) == []


async def test_what_cannot_be_used_is_reported_for_each(desk: Desk) -> None:
    mine, theirs = await desk.upload(b"1"), await desk.upload(b"2")
    await desk.claim(theirs, by="iss_2")
    gone = mine.model_copy(update={"id": new_id("upl")})

    with pytest.raises(ValidationFailed) as refused:
        await desk.claim(mine, theirs, gone, mine)
    with pytest.raises(ValidationFailed) as elsewhere:
        await desk.claim(mine, project=new_id("prj"))

    fields = refused.value.details["fields"]
    assert set(fields) == {"upload_ids.1", "upload_ids.2", "upload_ids.3"}
    assert "belongs to something else already" in fields["upload_ids.1"]
    assert f"there is no upload {gone.id}" in fields["upload_ids.2"]
    assert "named twice" in fields["upload_ids.3"]
    assert "another project" in elsewhere.value.details["fields"]["upload_ids.0"]
    row = await desk.uploads.get(mine.id)
    assert row.used_by is None


async def test_a_content_that_is_gone_is_not_placed(desk: Desk) -> None:
    (row,) = await desk.claim(await desk.upload(b"x"))
    (desk.data / "uploads" / row.id).unlink()

    with pytest.raises(Gone):
        await desk.uploads.place(row, desk.root, "itx_1")

    assert not (desk.root / ".kaged/tmp/itx_1").exists()


async def test_a_full_disk_is_reported_and_leaves_nothing(desk: Desk) -> None:
    large = await desk.upload(b"x" * (6 << 20), "large.bin")
    with files_of_at_most(4 << 20):
        with pytest.raises(InsufficientStorage) as refused:
            await desk.upload(b"y" * (6 << 20))
        with pytest.raises(InsufficientStorage):
            await desk.uploads.place(large, desk.root, "itx_1")

    assert refused.value.status == 507
    assert "disk" in refused.value.message
    assert os.listdir(desk.data / "uploads") == [large.id]
    assert not (desk.root / ".kaged/tmp/itx_1").exists()
    assert await desk.storage.read(lambda uow: uow.uploads.existing([large.id])) == {large.id}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size`, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_files_of_a_deleted_session_belong_to_nothing(desk: Desk) -> None:
    at = now_ms()
    session = Session(id=new_id("ses"), project_id=desk.project_id, created_at=at, updated_at=at)
    question = Interaction(id=new_id("itx"), session_id=session.id, kind="form", created_at=at)
    await desk.storage.write(lambda uow: (uow.sessions.add(session), uow.interactions.add(question)))
    (mine,) = await desk.claim(await desk.upload(b"1"), by=question.id)
    (other,) = await desk.claim(await desk.upload(b"2"))

    await desk.storage.write(lambda uow: uow.sessions.delete(session.id))

    assert (await desk.uploads.get(mine.id)).used_by is None
    assert (await desk.uploads.get(other.id)).used_by == "iss_1"
