"""A plugin that misbehaves as it is told to.

Owns: enough of the protocol that the daemon believes it, and every way of breaking it that the
arguments name. Never: anything outside of the standard library; it is run as a file.

    hostile_plugin.py LOG [--BEHAVIOUR [VALUE]] ...

Unless told otherwise it is a good plugin whose hooks answer `{"inject": "good"}` and whose tool answers
its parameters. To the log it writes `started PID`, `got METHOD`, `child PID`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

MEGABYTE = 1024 * 1024


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("log")
    add("--at", default="kaged.hook.on_session_start", help="the method that what follows is about")
    add("--times", type=int, default=1_000_000, help="misbehave in the first so many starts only")
    add("--die", action="store_true", help="exit with code 3 instead of answering")
    add("--half", action="store_true", help="with half of an answer before that")
    add("--die-after", type=float, default=0, help="seconds from the start to the end")
    add("--hang", action="store_true", help="answer nothing any more, read nothing any more")
    add("--silent", action="store_true", help="answer this method never, others well")
    add("--late", type=float, default=0, help="answer so many seconds late; others in time")
    add("--twice", action="store_true", help="answer twice, and unknown ids as well")
    add("--answer", default="", help="JSON: the result instead")
    add("--error", default="", help="JSON: the error instead of a result")
    add("--raw", default="", help="bytes to write instead of an answer")
    add("--deep", type=int, default=0, help="the result is nested so deep")
    add("--bytes", type=int, default=0, help="the result has so many bytes")
    add("--lists", type=int, default=0, help="the result is a map with so many empty lists")
    add("--endless", action="store_true", help="a line without an end instead of an answer")
    add("--lie", action="append", default=[], metavar="KEY=JSON", help="in the answer to initialize")
    add("--flood-stdout", action="store_true", help="notifications without end")
    add("--flood-empty", action="store_true", help="empty lines without end")
    add("--flood-stderr", action="store_true")
    add("--flood-log", type=int, default=0, help="so many log messages")
    add("--flood-requests", type=int, default=0, help="so many requests at once; the answers are counted")
    add("--ask", default="", help="JSON [method, params]: ask this first, answer with what was answered")
    add("--children", type=int, default=0, help="leave so many processes behind, in sessions of their own")
    add("--deaf", action="store_true", help="ignore shutdown, the end of the input and SIGTERM")
    add("--grow", type=int, default=0, metavar="MEGABYTES")
    return parser.parse_args()


class Hostile:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.lock = threading.Lock()
        self.answers = 0
        try:
            with open(options.log) as file:
                starts = sum(line.startswith("started ") for line in file)
        except OSError:
            starts = 0
        self.bad = starts < options.times
        self.note(f"started {os.getpid()}")

    def note(self, line: str) -> None:
        with open(self.options.log, "a") as file:
            file.write(line + "\n")

    def write(self, data: bytes) -> None:
        try:
            with self.lock:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            if not self.options.deaf:
                os._exit(1)

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def run(self) -> None:
        options = self.options
        if self.bad:
            self.begin()
        for line in sys.stdin.buffer:
            message = json.loads(line)
            method, number = message.get("method"), message.get("id")
            if method is None:
                self.answers += 1
                if options.flood_requests and self.answers == options.flood_requests:
                    self.note("all answered")
                continue
            self.note(f"got {method}")
            if number is None:
                continue
            if self.bad and method == options.at:
                self.misbehave(number, message)
            elif not (method == "shutdown" and options.deaf):
                self.send({"id": number, "result": self.result(method, message)})
        while options.deaf:
            time.sleep(60)

    def begin(self) -> None:
        options = self.options
        if options.deaf:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
        for _ in range(options.children):
            child = subprocess.Popen(
                [sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True
            )
            self.note(f"child {child.pid}")
        if options.grow:
            self.grown = b"x" * (options.grow * MEGABYTE)
        if options.die_after:
            threading.Timer(options.die_after, os._exit, [5]).start()
        for asked, work in (
            (options.flood_stdout, self.flood_stdout),
            (options.flood_empty, self.flood_empty),
            (options.flood_stderr, self.flood_stderr),
            (options.flood_log, self.flood_log),
            (options.flood_requests, self.flood_requests),
        ):
            if asked:
                threading.Thread(target=work, daemon=True).start()

    def flood_stdout(self) -> None:
        lines = b'{"jsonrpc":"2.0","method":"kaged.log","params":{"message":"flood"}}\n' * 1_000
        while True:
            self.write(lines)

    def flood_empty(self) -> None:
        while True:
            self.write(b"\n" * 65_536)

    def flood_stderr(self) -> None:
        while True:
            os.write(2, b"flood " * 10_000 + b"\n" * 100)

    def flood_log(self) -> None:
        for number in range(self.options.flood_log):
            params = {
                "level": "error",
                "message": f"\x1b[31mline {number}\n" + "x" * 5_000,
                "fields": {"a": 1},
            }
            self.send({"method": "kaged.log", "params": params})

    def flood_requests(self) -> None:
        for number in range(self.options.flood_requests):
            self.send({"id": number, "method": "kaged.storage.get", "params": {"key": "a"}})

    def misbehave(self, number: Any, message: dict[str, Any]) -> None:
        options = self.options
        if options.half:
            self.write(b'{"jsonrpc": "2.0", "id": %d, "res' % number)
        if options.die:
            os._exit(3)
        if options.hang:
            time.sleep(600)
        if options.silent:
            return
        while options.endless:
            self.write(b"x" * 65_536)
        if options.raw:
            self.write(options.raw.encode().decode("unicode_escape").encode("latin-1"))
            return
        answer: dict[str, Any] = {"id": number, "result": self.bad_result(message)}
        if options.error:
            answer = {"id": number, "error": json.loads(options.error)}
        if options.deep:
            answer = {"id": number, "result": None}
            nested = '{"a":' * options.deep + "1" + "}" * options.deep
            self.write(json.dumps(answer).replace("null", nested).encode() + b"\n")
            return
        if options.late:
            threading.Timer(options.late, self.send, [answer]).start()
            return
        if options.ask:
            self.ask(number)
            return
        self.send(answer)
        if options.twice:
            for strange in (number, number, 10**6, "x", None, [], {}, 1.5, True, -1):
                self.send({"id": strange, "result": {"inject": "again"}})

    def ask(self, number: int) -> None:
        method, params = json.loads(self.options.ask)
        self.send({"id": "asked", "method": method, "params": params})
        answer = json.loads(sys.stdin.buffer.readline())
        self.send({"id": number, "result": {"answer": answer}})

    def bad_result(self, message: dict[str, Any]) -> Any:
        options = self.options
        if options.answer:
            return json.loads(options.answer)
        if options.bytes:
            return {"inject": "x" * options.bytes}
        if options.lists:
            return {"inject": [[] for _ in range(options.lists)]}
        return self.result(message["method"], message)

    def result(self, method: str, message: dict[str, Any]) -> Any:
        if method == "initialize":
            hello = {
                "name": "hostile",
                "version": "1.0.0",
                "api_version": 1,
                "methods": ["kaged.hook.on_session_start", "kaged.hook.pre_compact", "hostile.harm"],
                "notifications": [],
                "capabilities_used": [],
            }
            lies = [lie.partition("=") for lie in self.options.lie if self.bad]
            return {**hello, **{key: json.loads(value) for key, _, value in lies}}
        if method.startswith("kaged.hook."):
            return {"inject": "good"}
        return message.get("params")


if __name__ == "__main__":
    Hostile(arguments()).run()
