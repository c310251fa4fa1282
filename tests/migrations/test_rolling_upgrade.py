"""Daemons that share a database are updated one after the other, when the next schema only adds to theirs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import app.storage.backup
from app.errors import Conflict, StorageError
from app.storage import schema_version, stored_log
from app.storage.backup import UpgradeReport, check, upgrade
from app.storage.engine import open_database
from app.storage.leases import Replica
from app.storage.revisions import HEAD, is_next_that_adds, only_adds
from app.storage.storage import Storage
from tests.driver.replicas import Work, new_session, post, prepared, until
from tests.fakes.provider_server import FakeProvider

MIGRATIONS = Path(__file__).parents[2] / "migrations"
NUMBER = int(HEAD[:4])
NEXT = f"{NUMBER + 1:04}a"
ADDS = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{revision}", "{before}", None, None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("note_{revision}", sa.String(), server_default="", nullable=False))
    op.create_table("things_{revision}", sa.Column("id", sa.String(), primary_key=True))
"""

Become = Callable[..., None]


@pytest.fixture
def become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Become:
    """Make the code believe that it is a later release, with these revisions added."""

    def become(*revisions: str) -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(MIGRATIONS, folder)
        before = HEAD
        for revision in revisions:
            text = ADDS.replace("{revision}", revision).replace("{before}", before)
            (folder / "versions" / f"{revision}.py").write_text(text)
            before = revision
        monkeypatch.setattr(schema_version, "migrations_folder", lambda: folder)
        monkeypatch.setattr(schema_version, "REVISIONS", (*schema_version.REVISIONS, *revisions))
        for module in (schema_version, app.storage.backup, stored_log):
            monkeypatch.setattr(module, "HEAD", revisions[-1])

    return become


def test_a_name_tells_whether_a_revision_only_adds() -> None:
    assert only_adds("0015a") and not only_adds("0015") and not only_adds("later")
    assert is_next_that_adds("0015a", "0014") and is_next_that_adds("0015a", "0014a")
    for other in (None, "0015", "0016a", "0014a", "0013a", "15a"):
        assert not is_next_that_adds(other, "0014"), other


@pytest.mark.needs("cages")
@pytest.mark.timeout(300)
@pytest.mark.requirement("replicas.upgrade")
async def test_the_schema_grows_beside_daemons_and_these_are_updated_one_after_the_other(
    postgres_url: str, tmp_path: Path, become: Become
) -> None:
    async with FakeProvider() as model, prepared(tmp_path, postgres_url, model.port) as replicas:
        work = Work.of(model)
        first = await replicas.start("first")
        second = await replicas.start("second")
        async with first.client() as client:
            session_id = await new_session(client, replicas.project_id)
            await post(client, session_id, "One")
            await until(lambda: len(work.asked) == 1)

            become(NEXT)
            assert await upgrade(postgres_url, tmp_path) == UpgradeReport(
                database=open_database(postgres_url, tmp_path).describe(), before=HEAD, after=NEXT, copy=None
            )
            await post(client, session_id, "Two")
            await until(lambda: len(work.asked) == 2)
            for daemon in (first, second):
                ready = (await client.get(f"{daemon.url}/readyz")).json()
                assert ready["ready"], ready

        # One of the earlier version starts again, one of the later version joins.
        assert await second.stop() == 0
        second = await replicas.start("second")
        later = await Storage.open(postgres_url, tmp_path, replica=Replica("http://127.0.0.1:1"))
        try:
            found = await later.read(lambda uow: uow.messages.history(session_id, "primary"))
            assert {"One", "Two"} <= {row.content for row in found}
        finally:
            await later.close()
        assert (await check(postgres_url, tmp_path)).problems == ()


@pytest.mark.parametrize("revisions", [(f"{NUMBER + 1:04}",), (NEXT, f"{NUMBER + 2:04}a")])
async def test_the_database_is_upgraded_without_daemons_when_more_than_one_addition_is_due(
    postgres_url: str, tmp_path: Path, become: Become, revisions: tuple[str, ...]
) -> None:
    await upgrade(postgres_url, tmp_path)
    daemon = await Storage.open(postgres_url, tmp_path, replica=Replica("http://127.0.0.1:1"))
    try:
        become(*revisions)
        with pytest.raises(Conflict):
            await upgrade(postgres_url, tmp_path)
    finally:
        await daemon.close()
    assert (await upgrade(postgres_url, tmp_path)).after == revisions[-1]


async def test_a_daemon_does_not_start_two_additions_or_another_change_ahead(
    postgres_url: str, tmp_path: Path
) -> None:
    await upgrade(postgres_url, tmp_path)
    for revision in (f"{NUMBER + 2:04}a", f"{NUMBER + 1:04}"):
        with psycopg.connect(postgres_url) as connection:
            connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
        with pytest.raises(StorageError, match="newer than this version"):
            await Storage.open(postgres_url, tmp_path)


async def test_a_daemon_of_one_database_alone_is_not_upgraded_beside(
    postgres_url: str, tmp_path: Path, become: Become
) -> None:
    await upgrade(postgres_url, tmp_path)
    daemon = await Storage.open(postgres_url, tmp_path)
    try:
        become(NEXT)
        with pytest.raises(Conflict):
            await upgrade(postgres_url, tmp_path)
    finally:
        await daemon.close()
