"""Who may read what the daemon keeps: its owner, whatever the umask and the folder allow."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import StorageError
from app.storage import backup
from app.storage.private_file import private
from app.storage.schema_version import copy_before_migration
from app.storage.storage import Storage


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_every_file_of_the_database_is_its_owners(tmp_path: Path) -> None:
    data_dir = tmp_path / "made-by-somebody-else"
    data_dir.mkdir(mode=0o755)
    storage = await Storage.open(None, data_dir)
    try:
        modes = {path.name: mode_of(path) for path in data_dir.iterdir()}
    finally:
        await storage.close()
    assert {"kaged.db", "kaged.db-wal", "kaged.db-shm"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_database_that_others_could_read_is_tightened(tmp_path: Path) -> None:
    await (await Storage.open(None, tmp_path)).close()
    (tmp_path / "kaged.db").chmod(0o644)
    await (await Storage.open(None, tmp_path)).close()
    assert mode_of(tmp_path / "kaged.db") == 0o600


async def test_backups_and_copies_are_their_owners(tmp_path: Path) -> None:
    await (await Storage.open(None, tmp_path)).close()
    report = await backup.backup(None, tmp_path, tmp_path / "all.gz")
    copy = copy_before_migration(tmp_path / "kaged.db", "x")
    await backup.restore(None, tmp_path, report.file)
    modes = {
        path.name: mode_of(path) for path in tmp_path.iterdir() if path.name.startswith(("kaged.db", "all"))
    }
    assert copy.name in modes
    assert set(modes.values()) == {0o600}
    with sqlite3.connect(copy) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


async def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "kaged.db").mkdir()
    with pytest.raises(StorageError):
        await Storage.open(None, tmp_path)
    assert mode_of(tmp_path / "kaged.db") == 0o777


def test_a_link_in_the_place_of_a_private_file_is_not_followed(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "export.part"
    victim.write_text("precious")
    link.symlink_to(victim)
    with pytest.raises(OSError, match=r"link|loop"), open(link, "wb", opener=private):
        pass
    assert victim.read_text() == "precious"
