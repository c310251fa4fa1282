"""The work that a scripted model does in the end-to-end tests: it reads and writes whole files.

Owns: the answers, by what the conversation holds, and the check that what the daemon sends is a
conversation that a real model would accept. Never: sockets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

from tests.fakes.provider_script import Answer, Delay, Part, RecordedRequest, Reply, Text, Thinking, ToolCall

LINES = 1_500
SHARED = "shared.txt"
_VERSION = re.compile(r"version (\d+)\n")


def whole(version: int) -> str:
    """Return the complete content of a file that the model wrote as its version `version`."""
    return f"version {version}\n" * LINES


def broken_files(root: Path) -> list[str]:
    """Return the files that hold something else than one whole version."""
    broken = []
    for file in (root / SHARED, *(root / "new").glob("*.txt")):
        text = file.read_text()
        found = _VERSION.match(text)
        if found is None or text != whole(int(found[1])):
            broken.append(f"{file.name}: {len(text)} characters, begins {text[:20]!r}")
    return broken


class Worker:
    """The model. One job is: read, write a new file; replace the shared file; say that it is done."""

    def __init__(self, *, pause: float = 0.003, deltas: int = 6) -> None:
        self.complaints: list[str] = []
        self._pause = pause
        self._deltas = deltas
        self._versions = count(1)
        self._calls = count(1)

    def __call__(self, request: RecordedRequest) -> Answer:
        messages = request.json["messages"]
        self.complaints += complaints_about(messages)
        match turns_of_this_job(messages):
            case 0:
                version = next(self._versions)
                path = f"new/{version}.txt"
                calls = [self._call("file_read", path=SHARED), self._write(path, version)]
            case 1:
                calls = [self._write(SHARED, next(self._versions)), self._call("file_read", path="README.md")]
            case _:
                calls = []
        return Reply(tuple(chain([Thinking("Let me see. ")], self._words(), calls)))

    def _words(self) -> Iterator[Part]:
        for number in range(self._deltas):
            yield Text(f"word {number} ")
            yield Delay(self._pause)

    def _write(self, path: str, version: int) -> ToolCall:
        return self._call("file_write", path=path, content=whole(version))

    def _call(self, name: str, **arguments: Any) -> ToolCall:
        return ToolCall(name, arguments, id=f"call_{next(self._calls)}")


def turns_of_this_job(messages: list[dict[str, Any]]) -> int:
    """Count the answers with calls since somebody last asked for something."""
    turns = 0
    for message in reversed(messages):
        if message["role"] == "user":
            break
        turns += bool(message.get("tool_calls"))
    return turns


def complaints_about(messages: list[dict[str, Any]]) -> list[str]:
    """Return what a provider would refuse: calls without exactly one result, results without a call."""
    complaints = []
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                complaints.append(f"a result for {message['tool_call_id']}, which is not open")
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            complaints.append(f"{open_calls} have no result before a {message['role']} message")
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    if open_calls:
        complaints.append(f"{open_calls} have no result at the end")
    return complaints
