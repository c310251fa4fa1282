"""A language client with nothing but the protocol: blocking pipes and the standard library.

`code.lsp` is measured against it: it tracks open documents and its own changes, sends requests, waits for
answers, and does nothing else.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class RawClient:
    """One server, asked one thing at a time."""

    def __init__(
        self,
        command: Sequence[str],
        root: Path,
        environment: Mapping[str, str],
        *,
        initialization_options: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        self.root = root
        self._settings = settings
        self._process = subprocess.Popen(
            command,
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._into, self._from = self._process.stdin, self._process.stdout
        self._number = 0
        self._versions: dict[str, int] = {}
        self.published: dict[str, int] = {}
        self.registered: set[str] = set()
        answer = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": root.as_uri(),
                "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
                "initializationOptions": dict(initialization_options),
                "capabilities": {
                    "workspace": {"configuration": True, "workspaceFolders": True},
                    "textDocument": {
                        "publishDiagnostics": {"versionSupport": True},
                        "diagnostic": {"dynamicRegistration": True},
                        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
                        "hover": {"contentFormat": ["markdown"]},
                    },
                },
            },
        )
        self.capabilities: dict[str, Any] = answer["capabilities"]
        self.tell("initialized", {})
        if settings:
            self.tell("workspace/didChangeConfiguration", {"settings": dict(settings)})

    def open(self, path: str, language_id: str) -> None:
        self._versions[path] = 1
        text = (self.root / path).read_text()
        item = {"uri": self.uri(path), "languageId": language_id, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": item})

    def change(self, path: str, text: str) -> int:
        version = self._versions[path] = self._versions[path] + 1
        document = {"uri": self.uri(path), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        self.tell("textDocument/didSave", {"textDocument": {"uri": self.uri(path)}})
        return version

    def wait_for_publish(self, path: str, version: int) -> None:
        while self.published.get(self.uri(path), 0) < version:
            self._take(self._read())

    def wait_for_registration(self, method: str) -> None:
        while method not in self.registered:
            self._take(self._read())

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def at(self, path: str, line: int, character: int) -> dict[str, Any]:
        return {
            "textDocument": {"uri": self.uri(path)},
            "position": {"line": line - 1, "character": character},
        }

    def ask(self, method: str, params: Any) -> Any:
        return self.ask_together([(method, params)])[0]

    def ask_together(self, requests: Sequence[tuple[str, Any]]) -> list[Any]:
        """Send all requests, then wait for all answers."""
        numbers = []
        for method, params in requests:
            self._number += 1
            numbers.append(self._number)
            self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answers: dict[int, Any] = {}
        while len(answers) < len(numbers):
            message = self._read()
            if "method" not in message and message.get("id") in numbers:
                if "error" in message:
                    raise RuntimeError(f"{requests[0][0]}: {message['error']}")
                answers[message["id"]] = message.get("result")
            else:
                self._take(message)
        return [answers[number] for number in numbers]

    def tell(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._into.close()
        self._from.close()

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method == "textDocument/publishDiagnostics":
            self.published[params["uri"]] = params.get("version") or 0
        if method == "client/registerCapability":
            self.registered |= {entry["method"] for entry in params["registrations"]}
        if method is None or "id" not in message:
            return
        result: Any = None
        if method == "workspace/configuration":
            result = [
                self._settings.get(str(item.get("section", "")).split(".")[0]) for item in params["items"]
            ]
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        self._into.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._into.flush()

    def _read(self) -> dict[str, Any]:
        length = 0
        while (line := self._from.readline().strip()) or not length:
            if not line and not length:
                raise RuntimeError("the server has ended")
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self._from.read(length))
        return message
