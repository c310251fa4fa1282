"""A data folder or a backup that cannot be written is said in one sentence, and leaves nothing half made."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.access.tokens import AccessControl
from app.config import AuthSettings
from app.errors import StorageError
from app.storage.backup import backup, restore
from app.storage.lock import DataFolderLock
from app.storage.schema_version import copy_before_migration
from app.storage.storage import Storage
from tests.bridges.conftest import descriptors
from tests.driver import rows

ROOT = Path(__file__).parents[2]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size`, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def filled(folder: Path, messages: int) -> None:
    storage = await Storage.open(None, folder)
    await storage.write(rows.family)
    # Texts that no compression makes small.
    texts = [os.urandom(2000).hex() for _ in range(messages)]
    await storage.write(
        lambda unit: unit.messages.add_many(rows.message(n, content=one) for n, one in enumerate(texts, 1))
    )
    await storage.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_data_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    for folder in (tmp_path / "data", tmp_path / "data" / "below"):
        with pytest.raises(StorageError, match=r"data folder .*/data.* cannot be used: .*not a folder"):
            DataFolderLock(folder).acquire()


def test_a_data_folder_without_room_is_said_and_not_held(tmp_path: Path) -> None:
    with (
        files_of_at_most(0),
        pytest.raises(StorageError, match=r"data folder .* cannot be used: .*larger than is allowed"),
    ):
        DataFolderLock(tmp_path).acquire()
    assert not any(str(tmp_path) in what for what in descriptors().values())
    with DataFolderLock(tmp_path):
        pass


async def test_a_backup_that_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    await filled(tmp_path, 30)
    with pytest.raises(StorageError, match=r"backup .*/none/b.gz cannot be written: there is no such folder"):
        await backup(None, tmp_path, tmp_path / "none" / "b.gz")
    before = names(tmp_path)
    with files_of_at_most(40_000), pytest.raises(StorageError, match=r"cannot be written: .*larger"):
        await backup(None, tmp_path, tmp_path / "b.gz")
    assert names(tmp_path) == before


async def test_a_copy_before_a_migration_that_has_no_room_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    await filled(tmp_path, 30)
    killed = tmp_path / "kaged.db.backup-0001-20260101T000000Z.partial"
    killed.write_text("what a killed process left of its copy")
    with files_of_at_most(40_000), pytest.raises(StorageError):
        copy_before_migration(tmp_path / "kaged.db", "0001")
    assert names(tmp_path) == ["kaged.db"]


async def test_a_token_file_that_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    storage = await Storage.open(None, tmp_path)
    try:
        (tmp_path / "token").mkdir(mode=0o755)
        with pytest.raises(StorageError, match=r"token file .*/token cannot be used: a folder has its name"):
            await AccessControl.open(storage, AuthSettings(), tmp_path)
        assert (tmp_path / "token").stat().st_mode & 0o777 == 0o755
        (tmp_path / "token").rmdir()
        before = names(tmp_path)
        with files_of_at_most(10), pytest.raises(StorageError, match=r"token file .* cannot be used"):
            await AccessControl.open(storage, AuthSettings(), tmp_path)
        assert names(tmp_path) == before
    finally:
        await storage.close()


# Restores with a process that is killed right before the n-th change of a name, for each n; a line for each.
_KILLED_RESTORES = """
import asyncio, os, shutil, signal, sys
from pathlib import Path
import alembic.command, alembic.config  # once, and not in each
from app.storage.backup import restore

template, source, folders = map(Path, sys.argv[1:])
number = 0
while True:
    folder = folders / str(number)
    shutil.copytree(template, folder)
    process = os.fork()
    if process == 0:
        left = number
        def hook(event, _):
            global left
            if event in ("os.rename", "os.link", "os.remove"):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        asyncio.run(restore(None, folder, source))
        os._exit(0)
    if os.waitpid(process, 0)[1] == 0:
        break
    number += 1
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stopped", ["orderly", "killed"])
async def test_a_restore_that_is_killed_leaves_the_old_content_or_the_new(
    tmp_path: Path, stopped: str
) -> None:
    for name in ("template", "other", "folders"):
        (tmp_path / name).mkdir()
    await filled(tmp_path / "other", 7)
    await backup(None, tmp_path / "other", tmp_path / "b.gz")
    await filled(tmp_path / "template", 3)
    if stopped == "killed":
        # The daemon's last rows are in its log only.
        await _leave_a_log(tmp_path / "template")
    places = [str(tmp_path / name) for name in ("template", "b.gz", "folders")]
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", _KILLED_RESTORES, *places],
        check=True,
        timeout=240,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "."},
    )
    folders = sorted((tmp_path / "folders").iterdir(), key=lambda folder: int(folder.name))
    assert len(folders) >= 5
    old = 5 if stopped == "killed" else 3
    counted = [messages_in(folder / "kaged.db") for folder in folders]
    assert set(counted) == {old, 7} or (stopped == "killed" and set(counted) == {old, 3, 7})
    for folder, count in zip(folders, counted, strict=True):
        kept = [path for path in folder.iterdir() if "before-restore" in path.name and path.name[-1] == "Z"]
        assert count == old or [messages_in(path) for path in kept] == [old]


async def _leave_a_log(folder: Path) -> None:
    copy = folder.with_name("copy")
    storage = await Storage.open(None, folder)
    await storage.write(lambda unit: unit.messages.add_many(rows.message(n) for n in (8, 9)), durable=True)
    copy.mkdir()
    for name in ("kaged.db", "kaged.db-wal"):
        (copy / name).write_bytes((folder / name).read_bytes())
    await storage.close()
    for name in names(folder):
        (folder / name).unlink()
    for name in names(copy):
        (copy / name).rename(folder / name)


def messages_in(path: Path) -> int:
    assert path.exists()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute("SELECT count(*) FROM messages").fetchone()[0])


async def test_restoring_twice_at_once_keeps_both_files(tmp_path: Path) -> None:
    await filled(tmp_path, 2)
    await backup(None, tmp_path, tmp_path / "b.gz")
    for _ in range(3):
        await restore(None, tmp_path, tmp_path / "b.gz")
    assert len([name for name in names(tmp_path) if "before-restore" in name]) == 3
