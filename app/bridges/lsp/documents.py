"""The documents that a language server has open, kept the same as the files on disk.

Owns: opening, versions, changes and closing; what was sent last is known by the file's status, and
by its content while the status cannot tell. Never: content that is not on disk, but for a preview.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from app.bridges.lsp.changed_part import changed_part
from app.bridges.lsp.connection import Connection
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.positions import LineIndex
from app.errors import ToolError
from app.workspace import Policy, RootFolder, Workspace

MAX_OPEN = 256
MAX_BYTES = 4 * 1024 * 1024
"""Servers take minutes over larger files, and answer nothing else meanwhile."""
_UNSURE_NS = 50_000_000
"""How long after a change a file's status may still be the same after another change: the clock of
file systems goes in steps."""

Decode = Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class OpenText:
    """A document as the server has it. `path` is relative to the project's root."""

    path: str
    uri: str
    version: int
    text: str
    lines: LineIndex


@dataclass(slots=True)
class _Document:
    shown: OpenText
    language_id: str
    stamp: tuple[int, ...]
    unsure: bool
    content: bytes
    opened_at: float = field(default_factory=time.monotonic)
    changed_at: float = 0.0

    def __post_init__(self) -> None:
        self.changed_at = self.opened_at


@dataclass(frozen=True, slots=True)
class _OnDisk:
    stamp: tuple[int, ...]
    unsure: bool
    content: bytes
    text: str


class OpenDocuments:
    """The open documents of one run of a server."""

    def __init__(
        self,
        root: RootFolder,
        decode: Decode,
        language_id: Callable[[str], str | None],
        sender: Connection,
        policy: Policy | None = None,
        contents: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """`contents` stand in place of what files hold on disk, by path."""
        self._workspace = Workspace(root, policy=policy)
        self._root = root.path
        self._decode = decode
        self._language_id = language_id
        self._sender = sender
        self._contents = contents
        self._documents: OrderedDict[str, _Document] = OrderedDict()
        self._unsaved: dict[str, str] = {}
        """What the documents of a preview hold on disk."""
        self._busy: dict[str, int] = {}
        self._lock = asyncio.Lock()
        # Unique among all documents: a late publication for an earlier opening is recognised.
        self._versions = itertools.count(1)
        self.opened: Callable[[], None] = lambda: None
        self.saved: Callable[[str], None] = lambda _: None
        self.previewed: Callable[[Iterable[str]], None] = lambda _: None
        self.closed: Callable[[OpenText], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._documents)

    def paths(self) -> tuple[str, ...]:
        return tuple(self._documents)

    def knows(self, path: str) -> bool:
        """Tell whether the file is of a kind that the server reads."""
        return self._language_id(path) is not None

    def absolute(self, path: str) -> Path:
        return self._root / path

    def changed_at(self, path: str) -> float:
        """Return when the server was sent the present text (monotonic seconds)."""
        return self._documents[path].changed_at

    def opened_at(self, path: str) -> float:
        """Return when the document was opened in the server (monotonic seconds)."""
        return self._documents[path].opened_at

    async def get(self, path: str) -> OpenText:
        """Open the document if need be, bring every open one up to date, and return it.

        Raises ToolError as `Workspace.open` does, `is_directory`, `file_too_large` and `not_text`.
        """
        async with self._lock:
            known = dict(self._documents)
            found, news, gone = await asyncio.to_thread(self._look, path, known)
            # The wanted one last: what is said of it then is said after all other changes.
            self._apply({name: news[name] for name in sorted(news, key=path.__eq__)}, gone)
            document = self._documents.get(path)
            if document is None:
                assert found is not None
                document = self._open(path, found)
            self._documents.move_to_end(path)
            self._close_oldest(path)
            return document.shown

    async def open_all(self, paths: Sequence[str]) -> Iterable[str]:
        """Open those of these that are not and that can be read, and return them; others may be closed
        for that."""
        async with self._lock:
            new = [path for path in paths if path not in self._documents]
            found = await asyncio.to_thread(self._readable, new)
            for path in paths:
                if path in found:
                    self._open(path, found[path])
                elif path in self._documents:
                    self._documents.move_to_end(path)
                self._close_oldest(path)
            return found

    async def synchronise(self) -> None:
        """Bring every open document up to date."""
        async with self._lock:
            _, news, gone = await asyncio.to_thread(self._look, None, dict(self._documents))
            self._apply(news, gone)

    async def touch(self, path: str) -> OpenText | None:
        """Give an open document a new version with the same text, so that the server looks at it again."""
        async with self._lock:
            document = self._documents.get(path)
            if document is None or not self._sender.capabilities.text_sync():
                return None
            document.shown = replace(document.shown, version=next(self._versions))
            document.changed_at = time.monotonic()
            self._repeat(document, document.shown.version)
            return document.shown

    async def demand(self, path: str, versions: int, *, rebuild: bool) -> bool:
        """Send the text of an open document again in so many versions that clangd must not drop; for the
        with `rebuild` it first reads all headers, changed or not. The document keeps its version: what is
        published is for its text. Return whether it was sent."""
        async with self._lock:
            document = self._documents.get(path)
            if document is None or not self._sender.capabilities.text_sync():
                return False
            for number in range(versions):
                more = {"forceRebuild": rebuild and number == 0, "wantDiagnostics": True}
                self._repeat(document, next(self._versions), **more)
            return True

    def _repeat(self, document: _Document, version: int, **more: bool) -> None:
        start = {"line": 0, "character": 0}
        part = {"range": {"start": start, "end": start}, "text": ""}
        change = part if self._sender.capabilities.text_sync() == 2 else {"text": document.shown.text}
        params = {"textDocument": {"uri": document.shown.uri, "version": version}, **more}
        self._sender.notify("textDocument/didChange", {**params, "contentChanges": [change]})

    async def show(self, path: str) -> None:
        """Open and close a document, so that a server knows a new file that only such a message
        makes it look at."""
        async with self._lock:
            if path in self._documents:
                return
            try:
                found = await asyncio.to_thread(self._read, path)
            except ToolError:
                return
            self._open(path, found)
            self._close(path)

    def holding(self, path: str) -> _Holding:
        """Keep the document open while the `with` lasts."""
        return _Holding(self._busy, path)

    @asynccontextmanager
    async def preview(self, contents: Mapping[str, bytes]) -> AsyncIterator[None]:
        """While the `async with` lasts these documents have other contents than the files on disk, and are
        not saved. Afterwards all documents are as they were: those that it opened are closed.

        Raises ToolError as opening does. Only one at a time."""
        opened = frozenset(self._documents)
        try:
            async with self._lock:
                new = [path for path in contents if path not in opened]
                found, texts = await asyncio.to_thread(self._previewed, new, contents)
                for path in new:
                    self._open(path, found[path])
                for path, text in texts.items():
                    self._unsaved[path] = self._documents[path].shown.text
                    self._send(self._documents[path], text)
            self.previewed(contents)
            yield
        finally:
            self._end_preview(opened)

    def _previewed(
        self, new: Sequence[str], contents: Mapping[str, bytes]
    ) -> tuple[dict[str, _OnDisk], dict[str, str]]:
        """Blocks."""
        texts = {path: _text_of(self._decode, path, content) for path, content in contents.items()}
        return {path: self._read(path) for path in new}, texts

    def _end_preview(self, opened: Set[str]) -> None:
        unsaved, self._unsaved = self._unsaved, {}
        for path in self.paths():
            if path not in opened:
                self._close(path)
            elif path in unsaved:
                self._send(self._documents[path], unsaved[path])
        self.previewed(unsaved)

    def _look(
        self, path: str | None, known: Mapping[str, _Document]
    ) -> tuple[_OnDisk | None, dict[str, _OnDisk], list[str]]:
        """Blocks. Return the wanted file if it is not open, the open ones that changed, and the ones
        that are gone."""
        news: dict[str, _OnDisk] = {}
        gone: list[str] = []
        for name, document in known.items():
            if name in self._contents or name in self._unsaved:
                continue
            try:
                status = os.stat(self._root / name)
            except OSError:
                gone.append(name)
                continue
            if not document.unsure and _stamp(status) == document.stamp:
                continue
            try:
                news[name] = self._read(name)
            except ToolError:
                gone.append(name)
        if path is None or (path in known and path not in gone):
            return None, news, gone
        return self._read(path), news, gone

    def _readable(self, paths: Sequence[str]) -> dict[str, _OnDisk]:
        """Blocks. Return the content of those that can be read."""
        found: dict[str, _OnDisk] = {}
        for path in paths:
            with suppress(ToolError):
                found[path] = self._read(path)
        return found

    def _read(self, path: str) -> _OnDisk:
        if path in self._contents:
            content = self._contents[path]
            return _OnDisk((), False, content, _text_of(self._decode, path, content))
        began = time.time_ns()
        with self._workspace.open(path) as opened:
            if opened.is_directory:
                raise ToolError("is_directory", f"{path} is a directory; name a file in it")
            if opened.status.st_size > MAX_BYTES:
                size = opened.status.st_size
                raise ToolError(
                    "file_too_large",
                    f"{path} has {size} bytes; language servers are given at most {MAX_BYTES}",
                )
            with os.fdopen(os.dup(opened.descriptor), "rb") as file:
                content = file.read(MAX_BYTES + 1)
            stamp = _stamp(os.fstat(opened.descriptor))
        text = _text_of(self._decode, path, content)
        # Measured from before the reading: what is written meanwhile leaves the file unsure.
        return _OnDisk(stamp, began - max(stamp[:2]) < _UNSURE_NS, content, text)

    def _apply(self, news: Mapping[str, _OnDisk], gone: list[str]) -> None:
        for path in gone:
            if path in self._documents and path not in self._unsaved:
                self._close(path)
        for path, found in news.items():
            document = self._documents.get(path)
            if document is None or path in self._unsaved:
                continue
            document.stamp, document.unsure = found.stamp, found.unsure
            if found.content != document.content:
                self._change(document, found)

    def _open(self, path: str, found: _OnDisk) -> _Document:
        uri = path_to_uri(self._root / path)
        shown = OpenText(path, uri, next(self._versions), found.text, LineIndex(found.text))
        language_id = self._language_id(path) or "plaintext"
        document = _Document(shown, language_id, found.stamp, found.unsure, found.content)
        self._documents[path] = document
        item = {"uri": uri, "languageId": language_id, "version": shown.version, "text": found.text}
        self._sender.notify("textDocument/didOpen", {"textDocument": item})
        self.opened()
        return document

    def _change(self, document: _Document, found: _OnDisk) -> None:
        document.content = found.content
        after = self._send(document, found.text)
        saved, with_text = self._sender.capabilities.takes_save()
        if saved:
            text = {"text": after.text} if with_text else {}
            self._sender.notify("textDocument/didSave", {"textDocument": {"uri": after.uri}, **text})
        self.saved(after.path)

    def _send(self, document: _Document, text: str) -> OpenText:
        """Give an open document another text."""
        before = document.shown
        after = OpenText(before.path, before.uri, next(self._versions), text, LineIndex(text))
        document.shown = after
        document.changed_at = time.monotonic()
        kind = self._sender.capabilities.text_sync()
        if kind:
            encoding = self._sender.encoding
            change = changed_part(before.lines, after.lines, encoding) if kind == 2 else {"text": text}
            identifier = {"uri": after.uri, "version": after.version}
            self._sender.notify(
                "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}
            )
        return after

    def _close(self, path: str) -> None:
        document = self._documents.pop(path)
        self._sender.notify("textDocument/didClose", {"textDocument": {"uri": document.shown.uri}})
        self.closed(document.shown)

    def _close_oldest(self, wanted: str) -> None:
        if len(self._documents) <= MAX_OPEN:
            return
        for path in list(self._documents):
            if path != wanted and path not in self._unsaved and not self._busy.get(path):
                self._close(path)
                if len(self._documents) <= MAX_OPEN:
                    return


def _text_of(decode: Decode, path: str, content: bytes) -> str:
    text = decode(content)
    if text is None or len(content) > MAX_BYTES:
        raise ToolError("not_text", f"{path} is a binary file; language servers read text")
    return text


class _Holding:
    def __init__(self, busy: dict[str, int], path: str) -> None:
        self._busy = busy
        self._path = path

    def __enter__(self) -> None:
        self._busy[self._path] = self._busy.get(self._path, 0) + 1

    def __exit__(self, *_: object) -> None:
        self._busy[self._path] -= 1
        if not self._busy[self._path]:
            del self._busy[self._path]


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
