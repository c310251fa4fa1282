"""A language server that answers what a script says, also what no honest server would.

Run as a program: the first argument is a JSON file with `capabilities` and `answers` (by method; a
list under `$each` is given one by one, the last for ever; `$error` is an error, `$never` no answer,
`$exit` the end of the process). `{root}` in a text is the URI of the project's root. What is
published for a document is under `publish`: `items`, and `version` false to leave the version out.
`statuses` are sent as its status once it is initialized. It loads the project until there is the file
`loading`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

ALL = {
    "textDocumentSync": 1,
    "definitionProvider": True,
    "typeDefinitionProvider": True,
    "referencesProvider": True,
    "hoverProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": True,
    "renameProvider": True,
    "codeActionProvider": {"resolveProvider": True},
}


SENDING = threading.Lock()


class Server:
    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.root = ""

    def run(self) -> None:
        while (message := read()) is not None:
            method, params = message.get("method"), message.get("params")
            if "id" in message and method is not None:
                self.answer(message["id"], method, params)
            elif method in {"textDocument/didOpen", "textDocument/didChange"}:
                self.publish(params["textDocument"])
            elif method == "initialized":
                threading.Thread(target=self.load, daemon=True).start()
                for status in self.script.get("statuses", ()):
                    send({"method": "experimental/serverStatus", "params": status})
            elif method == "exit":
                return

    def load(self) -> None:
        """Load the project, as long as the script says."""
        steps = [{"kind": "begin", "title": "loading"}]
        if loading := self.script.get("loading"):
            steps += [{"kind": "report", "message": "5/9", "percentage": 55}]
        for value in [*steps, {"kind": "end"}]:
            while loading and value["kind"] == "end" and not Path(loading).exists():
                time.sleep(0.01)
            send({"method": "$/progress", "params": {"token": "load", "value": value}})

    def answer(self, number: Any, method: str, params: Any) -> None:
        if method == "initialize":
            self.root = params["rootUri"]
            capabilities = self.script.get("capabilities", ALL)
            send({"id": number, "result": {"capabilities": capabilities, "serverInfo": {"name": "scripted"}}})
            return
        answer = self.script.get("answers", {}).get(method)
        if isinstance(answer, dict) and "$each" in answer:
            each = answer["$each"]
            answer = each.pop(0) if len(each) > 1 else each[0]
        if isinstance(answer, dict) and "$never" in answer:
            return
        if isinstance(answer, dict) and "$exit" in answer:
            sys.exit(3)
        if isinstance(answer, dict) and "$error" in answer:
            send({"id": number, "error": answer["$error"]})
            return
        send({"id": number, "result": self.placed(answer)})

    def publish(self, document: dict[str, Any]) -> None:
        given = self.script.get("publish")
        if given is not None:
            told = {"uri": document["uri"], "diagnostics": self.placed(given["items"])}
            if given.get("version", True):
                told["version"] = document["version"]
            send({"method": "textDocument/publishDiagnostics", "params": told})

    def placed(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("{root}", self.root)
        if isinstance(value, list):
            return [self.placed(one) for one in value]
        if isinstance(value, dict):
            return {self.placed(key): self.placed(one) for key, one in value.items()}
        return value


def read() -> dict[str, Any] | None:
    length = 0
    while (line := sys.stdin.buffer.readline()) not in {b"\r\n", b""}:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not line:
        return None
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with SENDING:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    Server(json.loads(Path(sys.argv[1]).read_text())).run()
