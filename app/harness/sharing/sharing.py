"""Shares a session: reads it page by page, cleans it, and writes it as one file.

Owns: the reading, and the walk through subagents. Never: how a part looks, or who may share.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

from app.harness.sharing.asked import Branch, Joined, Part, Wanted
from app.harness.sharing.cleaning import Cleaner
from app.harness.sharing.html_file import HtmlFile
from app.harness.sharing.markdown_file import MarkdownFile
from app.harness.sharing.tally import Tally
from app.harness.sharing.thread import Telling, Thread
from app.ids import ROOT_AGENT
from app.observability import Redactor
from app.storage.models import Run
from app.storage.models import Session as SessionRow
from app.storage.pages import Page
from app.storage.repositories.messages import MessageFilter
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

_ROWS = 50
"""Messages that are read, cleaned and written at once."""
_LONGEST_TITLE = 200


class SharedFile(Protocol):
    """Writes the parts of a file, in their order. The texts are clean."""

    def begin(self, title: str, project: str, at: int) -> str: ...

    def part(self, part: Part) -> str: ...

    def end(self, tally: Tally) -> str: ...


class Share:
    """One session on its way out. `pieces` writes the file; `preview` only counts what would leave."""

    def __init__(self, storage: Storage, redactor: Redactor, session: SessionRow, wanted: Wanted) -> None:
        self._storage = storage
        self._session = session
        self._wanted = wanted
        self._cleaner = Cleaner(redactor)
        self._file: SharedFile = HtmlFile() if wanted.format == "html" else MarkdownFile()
        self.title = self._cleaner.line(session.title or "Untitled session", _LONGEST_TITLE)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the file. What happens in the session meanwhile is left out or in, by message."""
        async for text, _ in self._written():
            yield text

    async def preview(self) -> Tally:
        """Return what the file would hold; it is made for that, and thrown away."""
        made = Tally()
        async for _, tally in self._written():
            made = tally
        return made

    async def _written(self) -> AsyncIterator[tuple[bytes, Tally]]:
        project, children = await self._storage.read(self._surroundings)
        telling = Telling(self._wanted, self._cleaner, children)
        tally = telling.tally
        telling.counted("")
        begin = self._file.begin(
            self.title, self._cleaner.line(project, _LONGEST_TITLE), self._session.created_at
        )
        yield _counted(begin, tally), tally
        async for parts in self._conversation(telling, ROOT_AGENT, None):
            text = await asyncio.to_thread(lambda parts=parts: "".join(map(self._file.part, parts)))  # type: ignore[misc]
            yield _counted(text, tally), tally
        yield _counted(self._file.end(tally), tally), tally

    async def _conversation(
        self, telling: Telling, agent_path: str, run_id: str | None
    ) -> AsyncIterator[list[Part]]:
        """Yield the parts of what an agent said, with those of its subagents where they began."""
        thread, cursor = Thread(telling), None
        while True:
            page = await self._storage.read(
                lambda uow, cursor=cursor: self._page(uow, agent_path, run_id, cursor)  # type: ignore[misc]
            )
            parts = await asyncio.to_thread(thread.feed, page.items)
            cursor = page.next_cursor
            if cursor is None:
                parts += await asyncio.to_thread(thread.end)
            async for some in self._with_branches(telling, parts):
                yield some
            if cursor is None:
                return

    async def _with_branches(self, telling: Telling, parts: list[Part]) -> AsyncIterator[list[Part]]:
        waiting: list[Part] = []
        for part in parts:
            waiting.append(part)
            if isinstance(part, Branch):
                telling.tally.counts["subagents"] += 1
                telling.tally.agents[part.agent] += 1
                yield waiting
                async for some in self._conversation(telling, part.agent, part.run_id):
                    yield some
                waiting = [Joined()]
        if waiting:
            yield waiting

    def _page(self, uow: UnitOfWork, agent_path: str, run_id: str | None, cursor: str | None) -> Page:  # type: ignore[type-arg]
        return uow.messages.page(
            self._session.id,
            MessageFilter(include_superseded=True, agent_path=agent_path, run_id=run_id),
            limit=_ROWS,
            cursor=cursor,
        )

    def _surroundings(self, uow: UnitOfWork) -> tuple[str, dict[tuple[str, str], list[Run]]]:
        """Return the project's name, and the runs of subagents by the run and the call that began them."""
        project = uow.projects.get(self._session.project_id)
        children: dict[tuple[str, str], list[Run]] = {}
        for run in uow.runs.children(self._session.id):
            children.setdefault((run.parent_run_id or "", run.parent_call_id or ""), []).append(run)
        return project.slug if project is not None else "", children


def _counted(text: str, tally: Tally) -> bytes:
    content = text.encode("utf-8", "replace")
    tally.size += len(content)
    return content
