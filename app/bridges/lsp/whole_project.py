"""What a server finds in the whole project at once.

Owns: asking for it where the server offers that, putting the parts of its answer together, and bounding both.
Never: which files there are, or what an answer shows.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from app.bridges.lsp.connection import Connection
from app.bridges.lsp.diagnostics import MAX_ITEMS, Diagnostics
from app.bridges.lsp.documents import OpenDocuments
from app.bridges.lsp.file_uris import ForeignUri, path_to_uri, uri_to_path
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.readiness import Bell
from app.bridges.rpc.peer import ResponseError

METHOD = "workspace/diagnostic"
COMMAND = "workspace/executeCommand"
MAX_KEPT_BYTES = 8 * 1024 * 1024
MAX_REPORTED = 20_000
_OVERHEAD = 200
"""What the report of a file costs beside its content, in bytes."""
_NOTHING = "$/nothing"
"""A method that no server knows: the refusal shows that all that was sent before it has come."""
Way = Literal["reported", "built", "published"]


@dataclass(frozen=True, slots=True)
class ProjectReport:
    """`way`: `reported` is an answer with the files that were looked at; `built`: the server has checked all
    that its build includes, and names files with findings only; `published`: what it has said by itself, and
    nothing is known of other files. `finished`: there is no more to come. `fresh`: nothing has changed since
    it was asked. `files` has the findings as JSON, by path from the project's root; those of the files
    `unknown` were not kept."""

    way: Way
    files: Mapping[str, bytes]
    finished: bool
    asked_at: float
    unknown: frozenset[str] = frozenset()
    fresh: bool = True

    def items(self, path: str) -> tuple[dict[str, Any], ...]:
        return tuple(orjson.loads(self.files[path])) if path in self.files else ()


class _Answer:
    """The parts of one answer. A server may give it in one piece, in many, or never end it and say by the
    progress of its work that it has said all."""

    def __init__(self, root: Path, number: int) -> None:
        self.parts, self.work = f"kaged/parts/{number}", f"kaged/work/{number}"
        self.files: dict[str, bytes] = {}
        self.whole = True
        self.worked = False
        self._root = root
        self._begun = False
        self._kept = 0

    def notified(self, token: Any, value: Any) -> bool:
        """Take a notification of progress; return whether it belongs to this answer."""
        if token == self.parts:
            self.add(value)
        elif token == self.work and isinstance(value, dict):
            kind = value.get("kind")
            self._begun = self._begun or kind == "begin"
            self.worked = kind == "end" if kind in {"begin", "end"} else self.worked
        return token in {self.parts, self.work}

    def add(self, report: Any) -> None:
        reports = report.get("items") if isinstance(report, dict) else None
        for one in reports if isinstance(reports, list) else ():
            path = self._path(one)
            if path is None or one.get("kind") != "full" or not isinstance(one.get("items"), list):
                continue
            packed = orjson.dumps([item for item in one["items"][:MAX_ITEMS] if isinstance(item, dict)])
            self._kept += len(packed) + _OVERHEAD - self._size(path)
            if self._kept > MAX_KEPT_BYTES or (path not in self.files and len(self.files) >= MAX_REPORTED):
                self._kept -= len(packed) + _OVERHEAD - self._size(path)
                self.whole = False
                continue
            self.files[path] = packed

    def _size(self, path: str) -> int:
        return len(self.files[path]) + _OVERHEAD if path in self.files else 0

    def _path(self, report: Any) -> str | None:
        uri = report.get("uri") if isinstance(report, dict) else None
        return None if not isinstance(uri, str) else _below(self._root, uri)


class WholeProject:
    """The project as one run of a server sees it."""

    def __init__(
        self,
        client: Connection,
        documents: OpenDocuments,
        diagnostics: Diagnostics,
        behaviour: Behaviour,
        bell: Bell,
    ) -> None:
        self._client = client
        self._documents = documents
        self._diagnostics = diagnostics
        self._behaviour = behaviour
        self._bell = bell
        self._numbers = itertools.count(1)
        self._answers: dict[int, _Answer] = {}

    def notified(self, method: str, params: Any) -> bool:
        """Take a notification; return whether it belongs to an answer about the project."""
        if method != "$/progress" or not isinstance(params, dict):
            return False
        token = params.get("token")
        if not isinstance(token, str) or not token.startswith("kaged/"):
            return False
        for answer in self._answers.values():
            answer.notified(token, params.get("value"))
        self._bell.ring()
        return True  # also what comes late: it says nothing of the server's own work

    async def report(self, path: str, deadline: float) -> ProjectReport:
        """Return what the server finds in the project that a file belongs to, as much as can be had until
        `deadline` (monotonic). All documents are in sync. Raises ServerEnded."""
        began = time.monotonic()
        if self._client.capabilities.offers(METHOD):
            return await self._asked(began, deadline)
        command = self._behaviour.across.checks_all
        if command and command in self._commands() and await self._run(command, path, deadline):
            return self._published("built", began)
        if self._behaviour.freshness == "flycheck":
            await self._diagnostics.check(path_to_uri(self._documents.absolute(path)), deadline)
            await self._caught_up(deadline)
        return self._published("published", began)

    def checked(self, report: ProjectReport) -> ProjectReport:
        """Return a report that says whether something has changed since it was asked for. All documents are
        in sync."""
        return replace(report, fresh=self._diagnostics.changed_at <= report.asked_at)

    def _commands(self) -> list[Any]:
        options = self._client.capabilities.options(COMMAND)
        commands = options.get("commands") if options is not None else None
        return commands if isinstance(commands, list) else []

    async def _run(self, command: str, path: str, deadline: float) -> bool:
        uri = path_to_uri(self._documents.absolute(path))
        params = {"command": command, "arguments": [{"Files": [uri]}]}
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self._client.request(COMMAND, params)
        except (TimeoutError, ResponseError):
            return False
        return True

    async def _asked(self, began: float, deadline: float) -> ProjectReport:
        number = next(self._numbers)
        answer = self._answers[number] = _Answer(self._documents.absolute(""), number)
        asking = asyncio.create_task(self._ask(answer), name="diagnostics of the project")
        asking.add_done_callback(lambda _: self._bell.ring())
        try:
            await self._bell.until(lambda: asking.done() or answer.worked, deadline)
            if not asking.done() and answer.worked:
                await self._caught_up(deadline)  # the last parts come right after the end of the work
            finished = answer.worked or (asking.done() and asking.result())
        finally:
            del self._answers[number]
            asking.cancel()
            await asyncio.wait({asking})
            if not asking.cancelled():
                asking.exception()  # the bell reports the end of the server
        return ProjectReport("reported", answer.files, finished and answer.whole, began)

    async def _caught_up(self, deadline: float) -> None:
        """Wait until the server has sent what was due."""
        with suppress(ResponseError, TimeoutError):
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self._client.request(_NOTHING, None)

    async def _ask(self, answer: _Answer) -> bool:
        """Return whether the server has answered."""
        options = self._client.capabilities.options("textDocument/diagnostic") or {}
        params: dict[str, Any] = {
            "previousResultIds": [],
            "partialResultToken": answer.parts,
            "workDoneToken": answer.work,
        }
        if isinstance(options.get("identifier"), str):
            params["identifier"] = options["identifier"]
        try:
            answer.add(await self._client.request(METHOD, params))
        except ResponseError:
            return False
        return True

    def _published(self, way: Way, began: float) -> ProjectReport:
        root = self._documents.absolute("")
        files: dict[str, bytes] = {}
        for uri, packed, current in self._diagnostics.published():
            path = _below(root, uri)
            if path is not None and (way == "built" or current):
                files[path] = packed
        lost = self._diagnostics.lost()
        unknown = frozenset(path for uri in lost or () if (path := _below(root, uri)) is not None)
        return ProjectReport(way, files, way == "built" and lost is not None, began, unknown)


def _below(root: Path, uri: str) -> str | None:
    """Return the path of a file from the root, None for one elsewhere."""
    try:
        path = uri_to_path(uri)
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
    except (ForeignUri, ValueError):
        return None
