"""Measure a search of 50,000 issues: the first page with the number of all hits, on SQLite and on
PostgreSQL.

The words of the issues are drawn so that a few are in almost all of them and most in very few, as in real
texts. Each figure covers the whole way from the text of the query to the rows, in a reader's thread.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from app.harness.issues.query import IssueFilter, IssueList
from app.ids import now_ms
from app.storage.backup import upgrade
from app.storage.models import Issue, IssueUpdate, Project
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from bench.figures import report
from tests.driver.postgres import find_binaries, make_server

ISSUES = 50_000
VOCABULARY = 20_000
BODY_WORDS = 60
AT_ONCE = 500
ROUNDS = 15
GOAL_MS = 50.0
PROJECT = "prj_00000000000000000000000001"

SEARCHES = {
    "a common word": "w0",
    "two common words": "w0 w1",
    "a phrase of common words": '"w0 w1"',
    "a phrase of three common words": '"w0 w1 w0"',
    "a rare word": "w15000",
    "a rare and a common word": "w15000 w0",
    "a beginning": "w12*",
    "a short beginning": "w1*",
    "common without common": "w0 -w2",
    "either of two common words": "w0 OR w1",
    "nothing": "absent",
    "a common word, open issues": "w0 status:open",
}


def issues_to_search() -> list[tuple[Issue, IssueUpdate | None]]:
    """Return the issues, some with a comment."""
    chance = random.Random(7)
    words = [f"w{n}" for n in range(VOCABULARY)]
    weights = [1 / (n + 2) for n in range(VOCABULARY)]
    made = []
    for number in range(1, ISSUES + 1):
        drawn = chance.choices(words, weights, k=BODY_WORDS + 6)
        status = chance.choice(("open", "triaged", "in_progress", "resolved"))
        key = f"iss_{number:026}"
        issue = Issue(
            id=key,
            project_id=PROJECT,
            number=number,
            title=" ".join(drawn[:6]),
            body=" ".join(drawn[6:]),
            status=status,
            created_by="operator:bench",
            created_at=now_ms(),
            updated_at=now_ms(),
        )
        comment: IssueUpdate | None = None
        if number % 5 == 0:
            comment = IssueUpdate(
                id=f"isu_{number:026}",
                issue_id=key,
                author="operator:bench",
                kind="comment",
                body=" ".join(chance.choices(words, weights, k=30)),
                created_at=now_ms(),
            )
        made.append((issue, comment))
    return made


async def _fill(storage: Storage, made: list[tuple[Issue, IssueUpdate | None]]) -> None:
    project = Project(id=PROJECT, root="/bench", slug="bench", created_at=1, loaded_at=1)
    await storage.write(lambda uow: uow.projects.add(project))
    started = time.perf_counter()
    for start in range(0, len(made), AT_ONCE):

        def work(uow: UnitOfWork, part: list[tuple[Issue, IssueUpdate | None]]) -> None:
            for issue, comment in part:
                uow.issues.add(issue.model_copy())
                if comment is not None:
                    uow.issue_updates.add(comment.model_copy())

        part = made[start : start + AT_ONCE]
        await storage.write(lambda uow, part=part: work(uow, part))  # type: ignore[misc]
    filled = time.perf_counter() - started
    report("storing an issue with its index", filled / len(made) * 1000, "ms")
    # What a PostgreSQL server does by itself, minutes after so many rows.
    await storage.write(lambda uow: uow.connection.exec_driver_sql("ANALYZE"))


async def _measure(name: str, storage: Storage) -> None:
    for what, search in SEARCHES.items():
        text, _, status = search.partition(" status:")
        wanted = IssueFilter(statuses=(status,) if status else (), search=text)
        taken = []
        page: IssueList | None = None
        for _ in range(ROUNDS):
            started = time.perf_counter()
            page = await storage.read(lambda uow, wanted=wanted: wanted.page(uow, PROJECT, limit=25))  # type: ignore[misc]
            taken.append((time.perf_counter() - started) * 1000)
        assert page is not None
        figure = f"{name}: {what} ({page.total} hits)"
        report(figure, statistics.median(taken), "ms", at_most=GOAL_MS)


async def measure_on(name: str, url: str | None, made: list[tuple[Issue, IssueUpdate | None]]) -> None:
    """Store the issues in a new database and print the figures."""
    folder = Path(tempfile.mkdtemp(prefix="kaged-bench-"))
    try:
        if url is not None:
            await upgrade(url, folder)
        storage = await Storage.open(url, folder)
        try:
            await _fill(storage, made)
            await _measure(name, storage)
        finally:
            await storage.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _both() -> None:
    made = issues_to_search()
    await measure_on("SQLite", None, made)
    binaries = find_binaries()
    if binaries is None:
        print("PostgreSQL is not installed; it was not measured")
        return
    server = make_server(binaries)
    try:
        await measure_on("PostgreSQL", server.empty_database(), made)
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def main() -> None:
    asyncio.run(_both())
