"""One of two language servers that work together, as Vue's and TypeScript's do.

Run as a program with its role (`first` or `second`) and a folder. `script.json` there has what the second
asks when a document is opened (`asks`: the parameters of each request), how it takes changes (`sync`), and
whether it ends at once (`dies`). Both write what they get to `log`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ROLE, FOLDER = sys.argv[1], Path(sys.argv[2])
SCRIPT = json.loads((FOLDER / "script.json").read_text())
NEVER, REFUSE = "_vue:never", "_vue:refuse"


def main() -> None:
    log({"event": "started", "pid": os.getpid()})
    if ROLE == "second" and SCRIPT.get("dies"):
        return
    while (message := read()) is not None:
        method, params = message.get("method"), message.get("params")
        log({"event": "received", "method": method, "params": params})
        if method == "exit":
            return
        if "id" in message:
            answer(message["id"], method, params)
        elif method == "textDocument/didOpen" and ROLE == "second":
            for asked in SCRIPT.get("asks", ()):
                send({"method": "tsserver/request", "params": asked})


def answer(number: int, method: str, params: Any) -> None:
    result: Any = [ROLE]
    if method == "initialize":
        sync = SCRIPT.get("sync", 2) if ROLE == "second" else 2
        result = {"capabilities": {"textDocumentSync": sync}}
    elif method == "textDocument/hover" and ROLE == "first":
        result = None
    elif method == "textDocument/diagnostic":
        result = {"kind": "full", "items": [{"message": ROLE}, 1]}
    elif method == "workspace/executeCommand":
        if params["arguments"][0] == NEVER:
            return
        if params["arguments"][0] == REFUSE:
            send({"id": number, "error": {"code": 1, "message": "No Project."}})
            return
        result = {"success": True, "body": params["arguments"]}
    send({"id": number, "result": result})


def log(entry: dict[str, Any]) -> None:
    with open(FOLDER / "log", "a") as file:
        file.write(json.dumps({"role": ROLE, **entry}) + "\n")


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def read() -> dict[str, Any] | None:
    length = 0
    while (line := sys.stdin.buffer.readline()) not in {b"", b"\r\n"}:
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else None


if __name__ == "__main__":
    main()
