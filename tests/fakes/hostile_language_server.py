"""A language server that misbehaves as it is told to.

Owns: enough of the Language Server Protocol that a client believes it, and every way of breaking it
that the arguments name. Never: anything outside of the standard library; it is run as a file.

    hostile_language_server.py --log FILE [--BEHAVIOUR [VALUE]] ...

Unless told otherwise it is a good server of one small language: the word `bad` is an error, a
definition is the first place of the word under the cursor, and a hover is that word. To the log it
writes a JSON object a line: `{"event": "started", "pid": N, "start": K}` where K counts the starts
that the same log has seen, `{"event": "received", "message": {...}}` for all that comes, and
`{"event": "signal" | "child" | "exiting" | "sent", ...}`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

WORD = re.compile(r"\w+")
TEN_MEGABYTES = 10_000_000
FOREIGN_URIS = (
    "file:///etc/passwd",
    "file://elsewhere.example/share/file.txt",
    "file:///../../etc/shadow",
    "http://example.com/x",
    "untitled:Untitled-1",
    "jdt://contents/rt.jar/java.lang/String.class",
    "file:",
    "",
    "%",
    "file:///%00",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--log", type=Path, required=True)
    add("--crash-at", default="", help="a method: exit with code 3 in the middle of answering it")
    add("--crash-times", type=int, default=-1, help="crash in the first so many starts only")
    add("--crash-at-start", action="store_true", help="exit with code 4 before anything is read")
    add("--crash-after", type=float, default=0, help="seconds from `initialized` to a crash, idle or not")
    add("--half-answer", action="store_true", help="a crash comes after half of a frame")
    add("--hang-at", default="", help="a method: never answered, nor anything after it")
    add("--never-answer", action="append", default=[], help="a method that gets no answer; others do")
    add("--hang-times", type=int, default=-1, help="hang in the first so many starts only")
    add("--deaf", action="store_true", help="ignores SIGTERM, SIGINT and SIGHUP")
    add("--delay", action="append", default=[], metavar="METHOD=SECONDS", help="answers late")
    add("--garbage-at", default="", help="a method: no frame, but something else is the answer")
    add("--garbage", default="text", choices=["text", "length", "binary", "json", "batch", "huge", "endless"])
    add("--reorder", type=int, default=0, help="answers so many requests at a time, last one first")
    add("--duplicate", action="store_true", help="every answer is sent twice, and once to an unknown id")
    add("--flood", type=int, default=0, help="so many diagnostics notifications after each change")
    add("--flood-bytes", type=int, default=0, help="one diagnostics notification of so many bytes")
    add(
        "--flood-items",
        type=int,
        default=0,
        help="so many files with 1,000 diagnostics each after each change",
    )
    add("--flood-requests", type=int, default=0, help="so many requests to the client at `initialized`")
    add("--hold", type=Path, help="no diagnostics are sent, published or asked for, while this file is there")
    add("--late-diagnostics", type=float, default=0, help="seconds until those of a version are published")
    add(
        "--stale-diagnostics",
        action="store_true",
        help="those of the version before come again after new ones",
    )
    add("--unversioned", action="store_true", help="diagnostics name no version")
    add("--silent", action="store_true", help="publishes no diagnostics")
    add(
        "--project",
        default="",
        choices=["", "answer", "never", "parts", "work", "flood", "wrong", "refuse"],
        help="how `workspace/diagnostic` is answered: whole, not at all, with parts and no end, with parts "
        "and the end of the work, with many parts (--flood), with wrong types, with an error",
    )
    add("--pull", action="store_true", help="diagnostics are pulled, and none are published")
    add("--wrong-types", default="", help="a method, or `all`: the answer is made of wrong types")
    add("--wrong", default="mixed", choices=sorted(WRONG), help="how the answer is wrong")
    add("--wrong-capabilities", action="store_true", help="capabilities of wrong types")
    add("--unknown-requests", action="store_true", help="asks for methods that nobody knows")
    add("--apply-edit", default="", metavar="URI", help="asks of its own accord to overwrite this file")
    add("--stderr-bytes", type=int, default=0, help="so much to stderr at start")
    add("--grow", type=int, default=0, metavar="MEGABYTES", help="takes so much memory at `initialized`")
    add("--children", type=int, default=0, help="leaves so many processes behind, in sessions of their own")
    add("--stop-reading", default="", help="a method after which nothing is read any more")
    add("--close-input", default="", help="a method after which its stdin is closed")
    add("--exit", default="good", choices=["good", "late", "never", "crash", "at-shutdown"])
    add("--exit-seconds", type=float, default=3)
    add("--encoding", default="utf-16", choices=["utf-8", "utf-16", "utf-32"])
    return parser.parse_args()


class Wire:
    """Frames to and from the client, by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._out = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
        self._in = os.fdopen(os.dup(0), "rb")

    def receive(self) -> dict[str, Any] | None:
        length = None
        while line := self._in.readline():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
            if not line.strip() and length is not None:
                message: dict[str, Any] = json.loads(self._in.read(length))
                return message
        return None

    def send(self, message: Any) -> None:
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_body(self, body: bytes) -> None:
        self.send_raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def send_raw(self, raw: bytes) -> None:
        try:
            with self._lock:
                self._out.write(raw)
                self._out.flush()
        except BrokenPipeError:
            os._exit(1)

    def close_input(self) -> None:
        os.close(self._in.fileno())
        os.close(0)


class Log:
    """What happened, a JSON object a line; tests read it while it grows."""

    def __init__(self, path: Path) -> None:
        before = path.read_bytes() if path.exists() else b""
        self.start = before.count(b'{"event": "started"') + 1
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.write("started", pid=os.getpid(), start=self.start, cwd=str(Path.cwd()), argv=sys.argv[1:])

    def write(self, event: str, **fields: Any) -> None:
        os.write(self._file, json.dumps({"event": event, **fields}).encode() + b"\n")


def wrong_mixed(uri: str) -> Any:
    position = {"line": "three", "character": None}
    return [
        None,
        7,
        "text",
        [],
        {"uri": 5, "range": "all"},
        {"uri": uri, "range": {"start": position, "end": []}},
        {
            "uri": uri,
            "range": {"start": {"line": 1.5, "character": True}, "end": {"line": -1, "character": -7}},
        },
        {"name": 1, "kind": "class", "location": None, "children": "many", "range": None},
        {"title": None, "edit": 5, "command": []},
        {"items": None, "kind": 3, "contents": {"kind": 1, "value": {}}},
    ]


def wrong_positions(uri: str) -> Any:
    far = {"line": 2**31, "character": 2**53}
    back = {"start": far, "end": {"line": 0, "character": 0}}
    return [{"uri": uri, "range": back}, {"uri": uri, "range": {"start": far, "end": far}}]


def wrong_uris(_uri: str) -> Any:
    start = {"line": 0, "character": 0}
    return [{"uri": uri, "range": {"start": start, "end": start}} for uri in FOREIGN_URIS]


def wrong_edit(uri: str) -> Any:
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    edit = {"range": span, "newText": "gone"}
    return {
        "changes": {uri: [edit, edit], **{foreign: [edit] for foreign in FOREIGN_URIS}},
        "documentChanges": [
            {"textDocument": {"uri": uri, "version": "old"}, "edits": [edit, edit]},
            {"kind": "delete", "uri": "file:///", "options": {"recursive": True}},
            {"kind": "rename", "oldUri": uri, "newUri": "file:///tmp/elsewhere"},
            {"kind": "explode"},
        ],
    }


def wrong_deep(_uri: str) -> Any:
    value: Any = []
    for _ in range(500):
        value = [value]
    return value


WRONG = {
    "mixed": wrong_mixed,
    "positions": wrong_positions,
    "uris": wrong_uris,
    "edit": wrong_edit,
    "deep": wrong_deep,
    "null": lambda _uri: None,
    "number": lambda _uri: 7,
    "string": lambda _uri: "text",
    "object": lambda _uri: {},
    "long": lambda uri: [{"uri": uri, "name": "x" * TEN_MEGABYTES, "contents": "y" * TEN_MEGABYTES}],
    "many": lambda uri: wrong_positions(uri) * 50_000,
}

GARBAGE = {
    "text": b"Traceback (most recent call last):\n  something went wrong\n",
    "length": b"Content-Length: -5\r\n\r\n{}",
    "binary": bytes(range(256)) * 64,
    "json": b"Content-Length: 9\r\n\r\n{not json",
    "batch": b"Content-Length: 2\r\n\r\n[]",
    "huge": b"Content-Length: 999999999999\r\n\r\n{}",
}


class Server:
    """The server; its methods are named after what they answer."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.log = Log(options.log)
        self.wire = Wire()
        self.documents: dict[str, tuple[int | None, str]] = {}
        self.held: list[dict[str, Any]] = []
        self.kept: list[bytes] = []
        self.shut_down = False
        self.root = Path()
        self.delays = dict(part.split("=") for part in options.delay)
        self.asked = 0
        self.waiting: queue.Queue[Callable[[], None]] = queue.Queue()
        if options.hold is not None:
            threading.Thread(target=self.send_held, daemon=True).start()

    def run(self) -> int:
        while (message := self.wire.receive()) is not None:
            self.log.write("received", message=message)
            method = message.get("method")
            if method is None:
                continue
            if method == self.options.crash_at and self.is_among(self.options.crash_times):
                self.crash()
            if method == self.options.hang_at and self.is_among(self.options.hang_times):
                self.hang()
            self.take(method, message)
            if method == self.options.close_input:
                self.wire.close_input()
                self.hang()
            if method == self.options.stop_reading:
                self.hang()
            if method == "exit":
                return self.exit()
        self.log.write("exiting", why="end of input")
        return 0 if self.shut_down else 1

    def is_among(self, times: int) -> bool:
        return times < 0 or self.log.start <= times

    def crash(self) -> None:
        self.log.write("exiting", why="crash")
        if self.options.half_answer:
            self.wire.send_raw(b'Content-Length: 500\r\n\r\n{"jsonrpc": "2.0", "id"')
        os._exit(3)

    def hang(self) -> None:
        self.log.write("hanging")
        while True:
            time.sleep(60)

    def exit(self) -> int:
        way = self.options.exit
        if way == "never":
            self.hang()
        if way == "late":
            time.sleep(self.options.exit_seconds)
        self.log.write("exiting", why="exit")
        return 5 if way == "crash" else 0

    def take(self, method: str, message: dict[str, Any]) -> None:
        params = message.get("params") or {}
        if "id" not in message:
            if method == "initialized":
                self.initialized()
            elif method.startswith("textDocument/did"):
                self.document_changed(method.removeprefix("textDocument/did"), params)
            return
        if method in self.options.never_answer:
            return
        if method == "workspace/diagnostic" and self.options.project:
            self.answer_for_project(message["id"], params)
            return
        if method == self.options.garbage_at:
            self.send_garbage()
            return
        if method == "shutdown":
            self.shut_down = True
            if self.options.exit == "at-shutdown":
                self.log.write("exiting", why="shutdown")
                os._exit(0)
        self.answer(message["id"], method, self.result(method, params))

    def send_garbage(self) -> None:
        while self.options.garbage == "endless":
            self.wire.send_raw(b"x" * 65536)
        self.wire.send_raw(GARBAGE[self.options.garbage])

    def once_let(self, send: Callable[[], None]) -> None:
        """Send at once, or when nobody holds it any more, in order."""
        if self.options.hold is None:
            send()
        else:
            self.waiting.put(send)

    def send_held(self) -> None:
        while True:
            send = self.waiting.get()
            while self.options.hold.exists():
                time.sleep(0.01)
            send()

    def answer(self, number: Any, method: str, result: Any) -> None:
        message = {"id": number, "result": result}
        if method == "textDocument/diagnostic" and self.options.hold is not None:
            self.once_let(partial(self.wire.send, message))
            return
        if method in self.delays:
            timer = threading.Timer(float(self.delays[method]), self.wire.send, [message])
            timer.daemon = True
            timer.start()
            return
        if self.options.reorder and method not in ("initialize", "shutdown"):
            self.held.append(message)
            if len(self.held) < self.options.reorder:
                return
            for one in reversed(self.held):
                self.wire.send(one)
            self.held.clear()
            return
        self.wire.send(message)
        if self.options.duplicate:
            self.wire.send({"id": number, "result": "a second answer"})
            self.wire.send({"id": 987_654_321, "result": "to nobody"})
            self.wire.send({"id": number, "error": {"code": "?", "message": []}})

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            self.root = Path(params.get("rootPath") or ".")
            return self.capabilities()
        if method == "shutdown":
            return None
        document = params.get("textDocument") or {}
        uri = document.get("uri", "file:///nothing")
        if self.options.wrong_types in (method, "all"):
            return WRONG[self.options.wrong](uri)
        if method == "textDocument/diagnostic":
            return {"kind": "full", "items": self.problems(self.documents.get(uri, (0, ""))[1])}
        if method in ("textDocument/hover", "textDocument/definition", "textDocument/references"):
            return self.about_word(method, uri, params["position"])
        return None

    def capabilities(self) -> Any:
        if self.options.wrong_capabilities:
            return {"capabilities": {"textDocumentSync": "full", "hoverProvider": [], "positionEncoding": 8}}
        offered: dict[str, Any] = {
            "positionEncoding": self.options.encoding,
            "textDocumentSync": {"openClose": True, "change": 1, "save": True},
            "hoverProvider": True,
            "definitionProvider": True,
            "referencesProvider": True,
            "documentSymbolProvider": True,
            "workspaceSymbolProvider": True,
            "renameProvider": True,
            "codeActionProvider": True,
        }
        if self.options.pull:
            whole = bool(self.options.project)
            offered["diagnosticProvider"] = {"interFileDependencies": False, "workspaceDiagnostics": whole}
        return {"capabilities": offered, "serverInfo": {"name": "hostile", "version": "1"}}

    def answer_for_project(self, number: Any, params: dict[str, Any]) -> None:
        way, parts, work = self.options.project, params["partialResultToken"], params["workDoneToken"]
        items = [
            {"uri": file.as_uri(), "version": None, "kind": "full", "items": self.problems(file.read_text())}
            for file in sorted(self.root.rglob("*.hostile"))
        ]
        if way == "refuse":
            self.wire.send({"id": number, "error": {"code": -32803, "message": "not now"}})
        elif way == "wrong":
            self.progress(parts, items)
            kinds = WRONG.keys() - {"long", "many"}
            for wrong in [WRONG[kind](items[0]["uri"]) for kind in sorted(kinds)]:
                self.progress(parts, wrong)
                self.progress(parts, {"items": wrong})
                self.progress(work, wrong)
            odd = [{**items[0], "uri": uri} for uri in FOREIGN_URIS]
            odd += [{**items[0], "kind": 7}, {**items[0], "items": {}}, {**items[0], "items": [None, 7, []]}]
            self.wire.send({"id": number, "result": {"items": odd}})
        elif way in {"parts", "work", "flood"}:
            self.progress(work, {"kind": "begin", "title": "checking"})
            for item in items:
                self.progress(parts, {"items": [{**item, "items": []}]})  # not looked at yet
                if way != "work" or item is not items[-1]:
                    self.progress(parts, {"items": [item]})
            if way == "work":
                self.progress(work, {"kind": "end"})
                time.sleep(0.2)
                self.progress(parts, {"items": items[-1:]})
            span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
            many = [{"range": span, "message": "flood" * 20}] * 5_000
            for count in range(self.options.flood if way == "flood" else 0):
                uri = (self.root / f"{count}.hostile").as_uri()
                self.progress(parts, {"items": [{"uri": uri, "kind": "full", "items": many}]})
        elif way == "answer":
            self.wire.send({"id": number, "result": {"items": items}})

    def progress(self, token: Any, value: Any) -> None:
        self.wire.send({"method": "$/progress", "params": {"token": token, "value": value}})

    def about_word(self, method: str, uri: str, position: dict[str, int]) -> Any:
        lines = self.documents.get(uri, (0, ""))[1].split("\n")
        line = lines[position["line"]] if position["line"] < len(lines) else ""
        words = [one for one in WORD.finditer(line) if one.start() <= position["character"] <= one.end()]
        if not words:
            return None
        word = words[0].group()
        if method == "textDocument/hover":
            return {"contents": {"kind": "plaintext", "value": word}}
        places = [{"uri": uri, "range": span} for span in spans(lines, word)]
        return places if method == "textDocument/references" else places[0]

    def initialized(self) -> None:
        for number in range(self.options.flood_requests):
            self.ask("workspace/configuration", {"items": [{"section": f"s{number}"}]})
        if self.options.unknown_requests:
            self.ask("hostile/unknown", {"a": 1})
            self.ask("", None)
            self.wire.send({"id": [1], "method": "hostile/list-id"})
            self.wire.send({"id": "text", "method": "window/workDoneProgress/create", "params": 5})
            self.ask("client/registerCapability", {"registrations": [{"id": 1, "method": None}, 7]})
            self.ask("workspace/configuration", {"items": "everything"})
            self.ask("window/showMessageRequest", [])
        if self.options.apply_edit:
            self.overwrite(self.options.apply_edit)
        if self.options.grow:
            self.kept += [b"\1" * 1_000_000 for _ in range(self.options.grow)]
        if self.options.crash_after and self.is_among(self.options.crash_times):
            timer = threading.Timer(self.options.crash_after, self.crash)
            timer.daemon = True
            timer.start()

    def ask(self, method: str, params: Any) -> None:
        self.asked += 1
        self.wire.send({"id": self.asked, "method": method, "params": params})

    def overwrite(self, uri: str) -> None:
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 10_000, "character": 0}}
        edit = {"changes": {uri: [{"range": span, "newText": "overwritten\n"}]}}
        self.ask("workspace/applyEdit", {"label": "hostile", "edit": edit})

    def document_changed(self, kind: str, params: dict[str, Any]) -> None:
        document = params["textDocument"]
        uri, before = document["uri"], self.documents.get(document["uri"])
        if kind == "Close":
            self.documents.pop(uri, None)
            return
        if kind == "Open":
            self.documents[uri] = document.get("version"), document["text"]
        elif kind == "Change":
            self.documents[uri] = document.get("version"), params["contentChanges"][-1]["text"]
        else:
            return
        if self.options.silent or self.options.pull:
            return
        if self.options.late_diagnostics:
            late = [uri, *self.documents[uri]]
            timer = threading.Timer(self.options.late_diagnostics, self.publish, late)
            timer.daemon = True
            timer.start()
        else:
            self.once_let(partial(self.publish, uri, *self.documents[uri]))
        if self.options.stale_diagnostics and before is not None:
            self.publish(uri, *before)

    def publish(self, uri: str, version: int | None, text: str) -> None:
        if self.options.wrong_types in ("textDocument/publishDiagnostics", "all"):
            wrong = WRONG[self.options.wrong](uri)
            for params in ({"uri": uri, "version": "x", "diagnostics": wrong}, {"diagnostics": 1}, [], wrong):
                self.wire.send({"method": "textDocument/publishDiagnostics", "params": params})
        params = {"uri": uri, "diagnostics": self.problems(text)}
        if not self.options.unversioned:
            params["version"] = version
        if self.options.flood_bytes:
            self.publish_bytes(params, self.options.flood_bytes)
        if self.options.flood_items:
            self.publish_items(self.options.flood_items)
        if self.options.flood:
            message = json.dumps(
                {"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params}
            )
            one = b"Content-Length: %d\r\n\r\n%b" % (len(message), message.encode())
            for start in range(0, self.options.flood, 1000):
                self.wire.send_raw(one * min(1000, self.options.flood - start))
        self.wire.send({"method": "textDocument/publishDiagnostics", "params": params})
        self.log.write("sent", published=version, uri=uri, count=len(params["diagnostics"]))

    def publish_items(self, files: int) -> None:
        """As many objects as there can be in the bytes."""
        place = '{"start":{"line":1,"character":1},"end":{"line":1,"character":2}}'
        one = f'{{"range":{place},"message":"x","data":[[],[],[]]}}'
        items = ",".join([one] * 1_000)
        for number in range(files):
            uri = f"file:///nowhere/{number}.hostile"
            params = f'{{"uri":"{uri}","diagnostics":[{items}]}}'
            body = (
                f'{{"jsonrpc":"2.0","method":"textDocument/publishDiagnostics","params":{params}}}'.encode()
            )
            self.wire.send_raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def publish_bytes(self, params: dict[str, Any], size: int) -> None:
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        problem = {"range": span, "severity": 2, "message": "flood" * 20}
        many = [problem] * max(1, size // len(json.dumps(problem)))
        body = {"method": "textDocument/publishDiagnostics", "params": {**params, "diagnostics": many}}
        self.wire.send(body)

    def problems(self, text: str) -> list[dict[str, Any]]:
        """Return an error for each word `bad`."""
        found = spans(text.split("\n"), "bad")
        return [
            {"range": span, "severity": 1, "code": "bad", "source": "hostile", "message": "this is bad"}
            for span in found
        ]


def spans(lines: list[str], word: str) -> list[dict[str, Any]]:
    """Return where a word is; columns count characters, which is UTF-16 in plain texts."""
    return [
        {
            "start": {"line": number, "character": found.start()},
            "end": {"line": number, "character": found.end()},
        }
        for number, line in enumerate(lines)
        for found in WORD.finditer(line)
        if found.group() == word
    ]


def prepare(options: argparse.Namespace, log: Log) -> None:
    """Do what is to be done before the first message."""
    if options.deaf:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: log.write("signal", number=number))
    for _ in range(options.children):
        child = subprocess.Popen(
            ["sleep", "600"],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        log.write("child", pid=child.pid)
    for start in range(0, options.stderr_bytes, 65536):
        os.write(2, b"noise\n" * (min(65536, options.stderr_bytes - start) // 6 + 1))


def main() -> int:
    options = arguments()
    server = Server(options)
    prepare(options, server.log)
    if options.crash_at_start and server.is_among(options.crash_times):
        server.log.write("exiting", why="crash")
        return 4
    return server.run()


if __name__ == "__main__":
    code = main()
    os._exit(code)
