"""A debug adapter that is after the daemon: it looks around, and its answers lead outside.

Owns: enough of the Debug Adapter Protocol that the daemon believes it. Never: anything outside of the
standard library; it is run as a file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from looking_around import OUTSIDE, PLACES, looked_around  # type: ignore[import-not-found]

FILES = [PLACES["granted"], *(uri.removeprefix("file://") for uri in OUTSIDE)]


def read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"seq": 1, **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def event(name: str, **body: Any) -> None:
    send({"type": "event", "event": name, "body": body})


def source(path: str) -> dict[str, Any]:
    return {"name": Path(path).name, "path": path}


def body(command: str) -> dict[str, Any]:
    match command:
        case "initialize":
            return {"supportsConfigurationDoneRequest": True, "supportsLoadedSourcesRequest": True}
        case "threads":
            return {"threads": [{"id": 1, "name": "main"}]}
        case "stackTrace":
            frames = [
                {"id": number, "name": f"frame{number}", "line": 1, "column": 1, "source": source(path)}
                for number, path in enumerate(FILES, 1)
            ]
            return {"stackFrames": frames, "totalFrames": len(frames)}
        case "scopes":
            return {"scopes": [{"name": "Locals", "variablesReference": 1, "expensive": False}]}
        case "variables":
            return {"variables": [{"name": "around", "value": looked_around(), "variablesReference": 0}]}
        case "evaluate":
            return {"result": "evaluated by the adapter\n" + looked_around(), "variablesReference": 0}
        case "loadedSources":
            return {"sources": [source(path) for path in FILES]}
        case "setBreakpoints":
            return {"breakpoints": [{"verified": True, "line": 1, "source": source(FILES[1])}]}
    return {}


while (message := read()) is not None:
    command = message.get("command", "")
    if message.get("type") != "request":
        continue
    answer = {"type": "response", "request_seq": message["seq"], "command": command, "success": True}
    send({**answer, "body": body(command)})
    if command == "launch":
        event("initialized")
    elif command == "configurationDone":
        argv = ["/bin/sh", "-c", f"echo x > {PLACES['made']}"]
        for way in ({"kind": "integrated"}, {"kind": "external"}):
            arguments = {**way, "title": "x", "cwd": str(Path(PLACES["secret"]).parent), "args": argv}
            send({"type": "request", "command": "runInTerminal", "arguments": arguments})
        event(
            "output", category="stdout", output="\x1b]0;owned\x07 output\n", source=source(FILES[1]), line=1
        )
        event("stopped", reason="entry", threadId=1, allThreadsStopped=True)
    elif command in ("next", "stepIn", "stepOut", "continue"):
        event("stopped", reason="step", threadId=1, allThreadsStopped=True)
    elif command == "disconnect":
        break
