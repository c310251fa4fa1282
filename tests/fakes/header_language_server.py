"""A language server that judges a file with the headers as it knew them, and late once more.

Owns: the order in which clangd does things, without its C++. Never: anything outside of the standard
library; it is run as a file.

    header_language_server.py --log FILE --late SECONDS

The word `bad` is an error in a file, and so is a line `#include "NAME"` while the file NAME beside it has
that word. As in clangd one thread judges and another reads headers. Each version is judged at once, and
called idle; the headers are looked at so many seconds later, but for those of a file that was just
opened, and what has changed in them has the file judged anew. A version whose diagnostics are wanted is
not dropped: the judge waits until the reader has taken it up before it hands over the next. What is asked
of a file is answered in its turn. The log is that of `hostile_language_server.py`.
"""

from __future__ import annotations

import argparse
import os
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hostile_language_server import Log, Wire, spans

INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
Headers = dict[str, str]


@dataclass
class Version:
    number: int
    text: str
    wanted: bool
    anew: bool


@dataclass
class Question:
    id: Any


class File:
    """An open file with its two threads."""

    def __init__(self, uri: str, wire: Wire, log: Log, late: float) -> None:
        self.uri, self.wire, self.log, self.late = uri, wire, log, late
        self.folder = Path(unquote(urlsplit(uri).path)).parent
        self.changed = threading.Condition()
        self.queue: deque[Version | Question] = deque()
        self.read: deque[tuple[Headers, bool]] = deque()
        self.next: Version | None = None
        self.headers: Headers | None = None
        self.version = Version(0, "", wanted=False, anew=False)
        self.judged = False
        threading.Thread(target=self.judge, daemon=True).start()
        threading.Thread(target=self.look, daemon=True).start()

    def put(self, task: Version | Question) -> None:
        with self.changed:
            self.queue.append(task)
            self.changed.notify_all()

    def judge(self) -> None:
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.read or self.queue)
                headers = self.read.popleft() if self.read else None
                task = self.queue.popleft() if headers is None else None
            if headers is not None:
                self.take_headers(*headers)
            elif isinstance(task, Version):
                self.take_version(task)
            elif task is not None:
                self.wire.send({"id": task.id, "result": None})

    def take_headers(self, headers: Headers, new: bool) -> None:
        self.judged = self.judged and not new
        self.headers = headers
        self.publish()

    def take_version(self, version: Version) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.next is None or not self.next.wanted)
            self.next = version
            self.changed.notify_all()
            self.judged = self.judged and version.text == self.version.text
            self.version = version
            if self.headers is None:
                self.changed.wait_for(lambda: self.read)
                return
        self.publish()

    def publish(self) -> None:
        if self.judged:
            return
        assert self.headers is not None
        text, version = self.version.text, self.version.number
        lines = text.split("\n")
        found = [{"range": span, "severity": 1, "message": "this is bad"} for span in spans(lines, "bad")]
        for number, line in enumerate(lines):
            name = INCLUDED.match(line)
            # A header that was not there at the last reading is not known yet.
            if name and spans([self.headers.get(name[1], "")], "bad"):
                place = {"line": number, "character": 0}
                span = {"start": place, "end": place}
                found.append({"range": span, "severity": 1, "message": f"{name[1]} is bad"})
        self.judged = True
        params = {"uri": self.uri, "version": version, "diagnostics": found}
        self.wire.send({"method": "textDocument/publishDiagnostics", "params": params})
        self.log.write("sent", published=version, uri=self.uri, count=len(found))
        state = {"uri": self.uri, "state": "idle"}
        self.wire.send({"method": "textDocument/clangd.fileStatus", "params": state})

    def look(self) -> None:
        known: Headers | None = None
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.next is not None)
                version, self.next = self.next, None
                self.changed.notify_all()
            assert version is not None
            if known is not None:
                time.sleep(self.late)
            headers = {name: self.content(name) for name in INCLUDED.findall(version.text)}
            new, known = version.anew or headers != known, headers
            with self.changed:
                self.read.append((headers, new))
                self.changed.notify_all()

    def content(self, name: str) -> str:
        try:
            return (self.folder / name).read_text()
        except OSError:
            return ""


class Server:
    def __init__(self, options: argparse.Namespace) -> None:
        self.log, self.wire, self.late = Log(options.log), Wire(), options.late
        self.files: dict[str, File] = {}

    def run(self) -> None:
        while (message := self.wire.receive()) is not None:
            self.log.write("received", message=message)
            method, params = str(message.get("method")), message.get("params") or {}
            if method == "exit":
                return
            if method.startswith("textDocument/did"):
                self.document(method, params)
            elif method == "initialize":
                self.wire.send({"id": message["id"], "result": {"capabilities": CAPABILITIES}})
            elif method.startswith("textDocument/"):
                self.files[params["textDocument"]["uri"]].put(Question(message["id"]))
            elif "id" in message:
                self.wire.send({"id": message["id"], "result": None})

    def document(self, method: str, params: dict[str, Any]) -> None:
        uri = params["textDocument"]["uri"]
        if method == "textDocument/didOpen":
            told = params["textDocument"]
            self.files[uri] = File(uri, self.wire, self.log, self.late)
            self.files[uri].put(Version(told["version"], told["text"], wanted=True, anew=False))
        elif method == "textDocument/didChange":
            number, text = params["textDocument"]["version"], params["contentChanges"][-1]["text"]
            wanted, anew = params.get("wantDiagnostics") is True, params.get("forceRebuild") is True
            self.files[uri].put(Version(number, text, wanted, anew))


CAPABILITIES = {
    "positionEncoding": "utf-16",
    "textDocumentSync": {"openClose": True, "change": 1, "save": True},
    "documentHighlightProvider": True,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--late", type=float, required=True)
    Server(parser.parse_args()).run()


if __name__ == "__main__":
    main()
    os._exit(0)
