"""debugpy's adapter answers at once, with what it has received whole and in order."""

from __future__ import annotations

import os
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.bridges.dap import prompt_debugpy
from app.bridges.dap.prompt_debugpy import PromptStream
from bench.debug_client import RawDebugger

COMMAND = (sys.executable, "-P", str(Path(prompt_debugpy.__file__)))


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, PromptStream]]:
    """A connection: the sender's end, and the stream that reads the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    with sender, receiver, PromptStream(receiver) as stream:
        yield sender, stream


def test_lines_and_bodies_come_whole_however_they_were_sent(ends: tuple[socket.socket, PromptStream]) -> None:
    sender, stream = ends
    sender.sendall(b"Content-Length: 5\r\n\r\nhelloContent-Len")
    assert stream.readline() == b"Content-Length: 5\r\n"
    assert stream.readline() == b"\r\n"
    assert stream.read(3) + stream.read(2) == b"hello"
    sender.sendall(b"gth: 0\r\n")
    assert stream.readline() == b"Content-Length: 0\r\n"


def test_the_end_of_the_connection_is_the_end_of_the_stream(ends: tuple[socket.socket, PromptStream]) -> None:
    sender, stream = ends
    sender.sendall(b"cut")
    sender.shutdown(socket.SHUT_WR)
    assert stream.readline() == b"cut"
    assert stream.readline() == b""
    assert stream.read(10) == b""


def test_what_is_written_arrives(ends: tuple[socket.socket, PromptStream]) -> None:
    sender, stream = ends
    assert stream.write(b"answer") == 6
    assert sender.recv(100) == b"answer"


@pytest.mark.requirement("debugger.real.debugpy")
def test_no_answer_waits_for_a_delayed_acknowledgement(tmp_path: Path) -> None:
    script = tmp_path / "turns.py"
    script.write_text("total = 0\nfor turn in range(1000):\n    total += turn\n")
    debugger = RawDebugger(COMMAND, os.environ, tmp_path)
    try:
        debugger.launch(
            {"program": str(script), "console": "internalConsole", "python": [sys.executable]}, (script, 3)
        )
        assert debugger.look()[0] == 3
        taken = []
        for _ in range(40):
            began = time.perf_counter()
            debugger.channel.ask("threads", {})
            taken.append(time.perf_counter() - began)
    finally:
        debugger.close()
    # Each takes 40 ms and more where the acknowledgement is waited for; on a busy machine some do anyhow.
    assert statistics.quantiles(taken)[0] < 0.030
