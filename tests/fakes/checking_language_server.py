"""A language server that runs a compiler as rust-analyzer does, on a machine with much else to do.

Run as a program with a folder, where it keeps what happened in `log`. Its runs fail. It tells of them as
rust-analyzer does: the end of one that is stopped for a newer request looks like the end of any other, and
takes back what the last one has complained of; the newer one begins late.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[-1]) / "log"
START_SECONDS, RUN_SECONDS = 0.6, 0.3
COMPLAINT = "cargo check failed: unexpected argument"

asks: queue.Queue[str] = queue.Queue()
saved = threading.Event()
writing = threading.Lock()


def main() -> None:
    options: dict[str, Any] = {}
    threading.Thread(target=check, daemon=True).start()
    while (message := read()) is not None:
        method, params = message.get("method"), message.get("params")
        match method:
            case "exit":
                return
            case "initialize":
                options = params["initializationOptions"]
                log("options", options)
                capabilities = {"textDocumentSync": {"openClose": True, "change": 1, "save": True}}
                send(id=message["id"], result={"capabilities": {**capabilities, "diagnosticProvider": {}}})
            case "textDocument/didOpen":
                status("ok", "")
                if options.get("checkOnSave", True):
                    asks.put("loaded")
            case "textDocument/didSave":
                if options.get("checkOnSave", True):
                    asks.put("saved")
                saved.set()
            case "rust-analyzer/runFlycheck":
                log("asked", params["textDocument"])
                asks.put("asked")
            case _ if "id" in message:
                send(id=message["id"], result={"kind": "full", "items": []})


def check() -> None:
    """Run what is asked for, one after the other; what runs is stopped for the next."""
    runs = False
    while True:
        try:
            why = asks.get(timeout=RUN_SECONDS if runs else None)
        except queue.Empty:
            progress("end")
            status("warning", COMPLAINT)
            runs = False
            continue
        if runs:
            progress("end")
            status("ok", "")
        if why == "loaded":
            saved.wait()  # it is stopped as soon as it has begun
        else:
            time.sleep(START_SECONDS)
        progress("begin")
        runs = True


def progress(kind: str) -> None:
    log("progress", kind)
    token = "rust-analyzer/flycheck/0"
    send(method="$/progress", params={"token": token, "value": {"kind": kind, "title": "cargo check"}})


def status(health: str, words: str) -> None:
    params = {"health": health, "quiescent": True, **({"message": words} if words else {})}
    send(method="experimental/serverStatus", params=params)


def log(event: str, data: Any) -> None:
    with writing, LOG.open("a") as file:
        file.write(json.dumps([event, data]) + "\n")


def send(**message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with writing:
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
