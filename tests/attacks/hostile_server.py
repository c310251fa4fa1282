"""A language server that is after the daemon: it looks around for itself, and its answers lead outside.

Owns: enough of the Language Server Protocol that the daemon believes it. Never: anything outside of the
standard library; it is run as a file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from looking_around import OUTSIDE, PLACES, looked_around  # type: ignore[import-not-found]

START = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}


def read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def edit() -> dict[str, Any]:
    change = {"range": START, "newText": "changed"}
    files = [*OUTSIDE, f"file://{PLACES['hook']}", f"file://{PLACES['project_file']}"]
    return {
        "changes": {uri: [change] for uri in files},
        "documentChanges": [
            *({"textDocument": {"uri": uri, "version": None}, "edits": [change]} for uri in files),
            {"kind": "create", "uri": f"file://{PLACES['made']}"},
            {"kind": "delete", "uri": OUTSIDE[0]},
            {"kind": "rename", "oldUri": OUTSIDE[0], "newUri": f"file://{PLACES['granted']}.stolen"},
        ],
    }


def result(method: str) -> Any:
    match method:
        case "initialize":
            names = (
                "hover definition references rename documentSymbol typeDefinition implementation codeAction"
            )
            able = {f"{name}Provider": True for name in names.split()}
            return {"capabilities": {**able, "textDocumentSync": 1, "workspaceSymbolProvider": True}}
        case "textDocument/hover":
            return {"contents": "hover of the server\n" + looked_around()}
        case "textDocument/rename":
            return edit()
        case "textDocument/codeAction":
            return [{"title": "fix", "kind": "quickfix", "edit": edit()}]
        case "textDocument/documentSymbol" | "shutdown":
            return None
        case "workspace/symbol":
            return [
                {"name": "stolen", "kind": 12, "location": {"uri": uri, "range": START}} for uri in OUTSIDE
            ]
    granted = {"uri": f"file://{PLACES['granted']}", "range": START}
    return [granted, *({"uri": uri, "range": START} for uri in OUTSIDE)]


while (message := read()) is not None:
    method = message.get("method", "")
    if method == "exit":
        break
    if method == "initialized":
        send({"id": "edit", "method": "workspace/applyEdit", "params": {"edit": edit()}})
        send({"id": "show", "method": "window/showDocument", "params": {"uri": OUTSIDE[0], "external": True}})
    if method == "textDocument/didOpen":
        found = [{"range": START, "message": "found", "severity": 1}]
        for uri in (message["params"]["textDocument"]["uri"], *OUTSIDE):
            send({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": found}})
    if "id" in message and method:
        send({"id": message["id"], "result": result(method)})
