"""The index of the search is made anew by a restore: the same words, and not comment by comment."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import text

from app.storage.backup import backup, restore
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from tests.driver import rows


def words_of_the_index(unit: UnitOfWork) -> list[tuple[str, ...]]:
    query = text("SELECT issue_id, scope, title, body, comments, internal FROM issue_search")
    return [tuple(row) for row in unit.connection.execute(query)]


@pytest.mark.timeout(300)
async def test_a_restore_indexes_what_was_indexed_one_by_one(storage_url: str | None, tmp_path: Path) -> None:
    storage = await Storage.open(storage_url, tmp_path)

    def discuss(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.issues.add(rows.issue(1, body="the body"))
        for n in range(1, 40):
            body = f"comment {n} " + "again " * n + "".join(f" word{n}x{m}" for m in range(400)) + " ü"
            visibility = "all" if n % 3 else "operators"
            unit.issue_updates.add(rows.issue_update(n, kind="comment", body=body, visibility=visibility))

    await storage.write(discuss)
    before = await storage.read(words_of_the_index)
    await storage.close()
    await backup(storage_url, tmp_path, tmp_path / "b.gz")
    await restore(storage_url, tmp_path, tmp_path / "b.gz")
    storage = await Storage.open(storage_url, tmp_path)
    assert await storage.read(words_of_the_index) == before
    await storage.close()


async def test_an_issue_of_a_thousand_comments_is_indexed_in_no_time(tmp_path: Path) -> None:
    storage = await Storage.open(None, tmp_path)

    def discuss(unit: UnitOfWork) -> None:
        rows.family(unit)
        unit.issues.add(rows.issue(1))
        texts = [" ".join(f"word{n}x{m}" for m in range(40)) for n in range(1, 1301)]
        # Past the index, which would take its time here.
        unit.issue_updates.append(
            [
                rows.issue_update(n, body=body, visibility="all").model_dump()
                for n, body in enumerate(texts, 1)
            ]
        )

    await storage.write(discuss)
    await storage.close()
    await backup(None, tmp_path, tmp_path / "b.gz")
    began = time.process_time()
    await restore(None, tmp_path, tmp_path / "b.gz")
    assert time.process_time() - began < 15  # comment by comment: half a minute and more
