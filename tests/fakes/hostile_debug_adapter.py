"""A debug adapter that misbehaves as it is told to.

Owns: enough of the Debug Adapter Protocol that a client believes it, and every way of breaking it that
the arguments name. Never: anything outside of the standard library; it is run as a file.

    hostile_debug_adapter.py --log FILE [--BEHAVIOUR [VALUE]] ...

Unless told otherwise it is a good adapter, by stdin and stdout, of one small language, of which a program
is a text: `print TEXT` writes, `loop` goes on for ever, `exit N` ends the program, and every other line
does nothing. Its variables are `line` and `user`. To the log it writes a JSON object a line:
`{"event": "started", "pid": N, "start": K}` where K counts the starts that the same log has seen,
`{"event": "received", "message": {...}}` for all that comes, and
`{"event": "signal" | "child" | "exiting" | "hanging" | "sent", ...}`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEN_MEGABYTES = 10_000_000
ASLEEP = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)"
INSPECTIONS = frozenset({"threads", "stackTrace", "scopes", "variables", "evaluate"})
REASONS = {"next": "step", "stepIn": "step", "stepOut": "step"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--log", type=Path, required=True)
    add("--port", type=int, default=0, help="listens there, for any number of conversations")
    add("--announce", default="", help="listens on a port that takes the place of PORT in this line")
    add("--late", type=float, default=0, help="seconds until it listens")
    add("--crash-at", default="", help="a command: exit with code 3 in the middle of answering it")
    add("--crash-times", type=int, default=-1, help="crash in the first so many starts only")
    add("--crash-at-start", action="store_true", help="exit with code 4 before anything is read")
    add("--crash-after", type=float, default=0, help="seconds from configurationDone to a crash")
    add("--half-answer", action="store_true", help="a crash comes after half of a frame")
    add("--hang-at", default="", help="a command: never answered, nor anything after it")
    add("--never-answer", action="append", default=[], help="a command that gets no answer; others do")
    add("--delay", action="append", default=[], metavar="COMMAND=SECONDS", help="answers late")
    add("--refuse", action="append", default=[], metavar="COMMAND=WORDS", help="answers with an error")
    add("--odd-refusals", action="store_true", help="errors without a message, and of wrong types")
    add("--deaf", action="store_true", help="ignores SIGTERM, SIGINT and SIGHUP")
    add("--garbage-at", default="", help="a command: no frame, but something else is the answer")
    add("--garbage", default="text", choices=[*sorted(GARBAGE), "endless"])
    add("--reorder", type=int, default=0, help="answers so many inspections at a time, last one first")
    add("--duplicate", action="store_true", help="every answer is sent twice, and once to nobody")
    add("--zero", action="store_true", help="all its messages have the number 0")
    add("--bare", action="store_true", help="answers and events without a body where it would be empty")
    add("--early-initialized", action="store_true", help="`initialized` comes before initialize's answer")
    add("--no-initialized", action="store_true", help="`initialized` never comes")
    add("--early-launch", action="store_true", help="launch is answered at once")
    add("--launch-error", default="", help="launch fails with these words, and `initialized` never comes")
    add("--stops", type=int, default=1, help="so many `stopped` events for each stop")
    add("--keeps-breakpoints", action="store_true", help="goes on stopping at those that were removed")
    add("--vague-stops", action="store_true", help="`stopped` names no thread")
    add("--no-stops", action="store_true", help="`stopped` is never told")
    add("--stop-for-ever", type=int, default=0, help="so many `stopped` events after the first one")
    add("--silent-end", action="store_true", help="the end of the program is not told")
    add("--half-end", default="", choices=["", "exited", "terminated"], help="only this is told of it")
    add("--endless-output", action="store_true", help="output without end while the program runs")
    add("--flood", type=int, default=0, help="so many output events whenever the program goes on")
    add("--flood-bytes", type=int, default=0, help="one output event of so many bytes likewise")
    add("--flood-requests", type=int, default=0, help="so many requests to the client before it stops")
    add("--unknown-requests", action="store_true", help="asks for commands that nobody knows, and wrongly")
    add("--terminal", default="", help="a command for a shell that it asks to have run in a terminal")
    add("--child-sessions", type=int, default=0, help="asks for so many child sessions")
    add("--wrong-types", default="", help="a command, or `all`: the answer is made of wrong types")
    add("--wrong", default="mixed", choices=sorted(WRONG), help="how the answer is wrong")
    add("--wrong-events", action="store_true", help="events of wrong types before each stop")
    add("--wrong-capabilities", action="store_true", help="capabilities of wrong types")
    add("--claim", action="append", default=[], help="a capability that it claims")
    add("--huge", type=int, default=0, help="so many variables, with values of 10 kB")
    add("--stderr-bytes", type=int, default=0, help="so much to stderr at start")
    add("--children", type=int, default=0, help="leaves so many deaf processes, in sessions of their own")
    add("--no-mark", action="store_true", help="which have an empty environment")
    add("--stop-reading", default="", help="a command after which nothing is read any more")
    add("--close-input", default="", help="a command after which its stdin is closed")
    add("--exit", default="good", choices=["good", "late", "never", "crash"], help="after disconnect")
    add("--exit-seconds", type=float, default=3)
    return parser.parse_args()


class Log:
    """What happened, a JSON object a line; tests read it while it grows."""

    def __init__(self, path: Path) -> None:
        before = path.read_bytes() if path.exists() else b""
        self.start = before.count(b'{"event": "started"') + 1
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.write("started", pid=os.getpid(), start=self.start, cwd=str(Path.cwd()), argv=sys.argv[1:])

    def write(self, event: str, **fields: Any) -> None:
        os.write(self._file, json.dumps({"event": event, **fields}).encode() + b"\n")


class Wire:
    """Frames to and from the client, by several threads."""

    def __init__(self, options: argparse.Namespace, incoming: int, outgoing: int) -> None:
        self._zero = options.zero
        self._bare = options.bare
        self._lock = threading.Lock()
        self._out = os.fdopen(outgoing, "wb", buffering=1 << 20)
        self._in = os.fdopen(incoming, "rb")
        self._seq = 0
        self._held = False

    @contextmanager
    def in_one_write(self) -> Iterator[None]:
        """Send what is sent meanwhile at once, so that no machine is too slow to read it at once."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.send_raw(b"")

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

    def send(self, kind: str, **fields: Any) -> None:
        with self._lock:
            self._seq += 1
            number = 0 if self._zero else self._seq
        if self._bare and not fields.get("body", True):
            del fields["body"]
        body = json.dumps({"seq": number, "type": kind, **fields}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def event(self, name: str, body: Any = None) -> None:
        self.send("event", event=name, body={} if body is None else body)

    def send_raw(self, raw: bytes) -> None:
        try:
            with self._lock:
                self._out.write(raw)
                if not self._held:
                    self._out.flush()
        except (BrokenPipeError, ConnectionError):
            os._exit(1)

    def close_input(self) -> None:
        os.close(self._in.fileno())


def deep() -> Any:
    value: Any = []
    for _ in range(500):
        value = [value]
    return value


def far_off() -> Any:
    return {
        "stackFrames": [
            {"id": 2**63, "name": "x", "line": 2**62, "column": -5, "source": {"path": "/etc/passwd"}},
            {"id": -1, "name": "y", "line": -1, "column": 0, "source": {"path": "../../../etc/shadow"}},
            {"id": 1, "name": "z", "line": 0, "column": 0, "source": {"path": "/proc/self/environ"}},
            {"id": 1, "name": "n", "line": 1, "column": 1, "source": {"path": "/\0", "name": "\ud83d"}},
        ],
        "totalFrames": -3,
        "threads": [{"id": 2**63, "name": "t"}, {"id": -4, "name": "u"}],
        "scopes": [{"name": "Locals", "variablesReference": -7, "expensive": False}],
        "variables": [{"name": "a", "value": "b", "variablesReference": 2**63}],
        "breakpoints": [{"id": 2**63, "verified": True, "line": -9}] * 3,
    }


LISTS = ("threads", "stackFrames", "scopes", "variables", "breakpoints", "modules", "sources", "instructions")
MIXED = [None, 7, "text", [], {}, {"id": "one", "name": 5, "line": None, "variablesReference": "x"}]
WRONG: dict[str, Any] = {
    "mixed": lambda: dict.fromkeys(LISTS, MIXED) | {"result": 5, "variablesReference": [], "data": {}},
    "objects": lambda: {name: {"0": {}} for name in LISTS} | {"result": {}, "totalFrames": "all"},
    "far": far_off,
    "deep": lambda: {name: [{"name": deep(), "id": deep()}] for name in LISTS} | {"result": deep()},
    "null": lambda: None,
    "number": lambda: 7,
    "string": lambda: "text",
    "list": lambda: [1, 2],
    "empty": dict,
    "long": lambda: {
        "result": "x" * TEN_MEGABYTES,
        "variables": [{"name": "n", "value": "y" * TEN_MEGABYTES}],
    },
    "many": lambda: {name: [{"id": 1, "name": "n", "value": "v", "line": 1}] * 10_000 for name in LISTS},
}
WRONG_EVENTS: tuple[tuple[Any, Any], ...] = (
    ("stopped", {"reason": 5, "threadId": "one", "hitBreakpointIds": "all", "allThreadsStopped": "x"}),
    ("stopped", [1]),
    ("continued", {"threadId": None}),
    ("thread", {"reason": [], "threadId": {}}),
    ("output", {"category": 7, "output": {"text": 1}}),
    ("output", "text"),
    ("breakpoint", {"reason": "changed", "breakpoint": {"id": "x", "verified": "maybe", "line": []}}),
    ("breakpoint", {"reason": "new", "breakpoint": 5}),
    ("capabilities", {"capabilities": [1]}),
    ("module", {"module": None}),
    ("process", {"systemProcessId": "me"}),
    ("invalidated", {"areas": 5}),
    ("hostile", deep()),
    ("", {}),
    (5, {}),
)
GARBAGE = {
    "text": b"Traceback (most recent call last):\n  something went wrong\n",
    "length": b"Content-Length: -5\r\n\r\n{}",
    "binary": bytes(range(256)) * 64,
    "json": b"Content-Length: 9\r\n\r\n{not json",
    "batch": b"Content-Length: 2\r\n\r\n[]",
    "huge": b"Content-Length: 999999999999\r\n\r\n{}",
}
ODD_REFUSALS: tuple[dict[str, Any], ...] = (
    {"success": False},
    {"success": "no", "message": 5, "body": [1]},
    {"success": 0, "message": None, "body": {"error": {"format": ["x"], "variables": 5}}},
    {"success": False, "message": "", "body": {"error": {"format": "{a}{b}", "variables": {"a": 1}}}},
)


class Adapter:
    """One conversation; its methods whose names begin with `do_` are the commands."""

    def __init__(self, options: argparse.Namespace, log: Log, wire: Wire) -> None:
        self.options = options
        self.log = log
        self.wire = wire
        self.delays = dict(part.split("=") for part in options.delay)
        self.refusals = dict(part.split("=", 1) for part in options.refuse)
        self.held: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.line = 1
        self.breakpoints: dict[str, set[int]] = {}
        self.path = ""
        self.entry = False
        self.launching: dict[str, Any] | None = None
        self.pausing = threading.Event()
        self.odd = 0

    def run(self) -> int:
        while (message := self.wire.receive()) is not None:
            self.log.write("received", message=message)
            command = message.get("command")
            if message.get("type") != "request" or not isinstance(command, str):
                continue
            if command == self.options.crash_at and self.is_among():
                self.crash()
            if command == self.options.hang_at:
                self.hang()
            self.take(command, message)
            if command == self.options.close_input:
                self.wire.close_input()
                self.hang()
            if command == self.options.stop_reading:
                self.hang()
            if command == "disconnect":
                return self.exit()
        self.log.write("exiting", why="end of input")
        return 0

    def is_among(self) -> bool:
        return self.options.crash_times < 0 or self.log.start <= self.options.crash_times

    def crash(self) -> None:
        self.log.write("exiting", why="crash")
        if self.options.half_answer:
            self.wire.send_raw(b'Content-Length: 500\r\n\r\n{"seq": 7, "type": "resp')
        os.write(2, b"the adapter has crashed\n")
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
        self.log.write("exiting", why="disconnect")
        return 5 if way == "crash" else 0

    def take(self, command: str, message: dict[str, Any]) -> None:
        if command in self.options.never_answer:
            return
        if command == self.options.garbage_at:
            while self.options.garbage == "endless":
                self.wire.send_raw(b"x" * 65536)
            self.wire.send_raw(GARBAGE[self.options.garbage])
            return
        given = message.get("arguments") or {}
        if command in self.refusals:
            self.answer(message, success=False, message=self.refusals[command])
            return
        act = getattr(self, f"do_{command}", None)
        if act is None and self.options.wrong_types in (command, "all"):
            self.answer(message)
        elif act is None and self.options.odd_refusals:
            self.odd += 1
            self.answer(message, **ODD_REFUSALS[self.odd % len(ODD_REFUSALS)])
        elif act is None:
            error = {"id": 9, "format": "no command {name}", "variables": {"name": command}}
            self.answer(message, success=False, message="unknown", body={"error": error})
        else:
            act(message, given)

    def answer(self, asked: dict[str, Any], *, success: Any = True, **fields: Any) -> None:
        command = asked["command"]
        if self.options.wrong_types in (command, "all") and command != "initialize" and success is True:
            fields["body"] = WRONG[self.options.wrong]()
        reply = {"request_seq": asked["seq"], "command": command, "success": success, **fields}
        if command in self.delays:
            later(float(self.delays[command]), lambda: self.wire.send("response", **reply))
        elif self.options.reorder and command in INSPECTIONS:
            self.held.append(reply)
            if len(self.held) >= self.options.reorder:
                for one in reversed(self.held):
                    self.wire.send("response", **one)
                self.held.clear()
        else:
            self.wire.send("response", **reply)
        if self.options.duplicate:
            self.wire.send("response", **{**reply, "body": {"again": True}})
            self.wire.send("response", **{**reply, "request_seq": 987_654_321})
            self.wire.send("response", **{**reply, "success": False, "message": []})
            self.wire.send("response", command=command)

    def do_initialize(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        if self.options.early_initialized:
            self.wire.event("initialized")
        offered: dict[str, Any] = {"supportsConfigurationDoneRequest": True, "supportsTerminateRequest": True}
        offered |= dict.fromkeys(self.options.claim, True)
        if self.options.wrong_capabilities:
            wrong = {
                "supportsModulesRequest": "yes",
                "exceptionBreakpointFilters": [7, {"filter": 5}],
            }
            offered |= wrong | {"supportsStepBack": None, "additionalModuleColumns": 1}
        self.answer(message, body=offered)
        quiet = self.options.no_initialized or self.options.launch_error or self.options.early_initialized
        if not quiet:
            self.wire.event("initialized")

    def do_launch(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        if self.options.launch_error:
            self.answer(message, success=False, message=self.options.launch_error)
            return
        self.path = str(given.get("program", ""))
        self.entry = bool(given.get("stopOnEntry"))
        self.lines = Path(self.path).read_text().splitlines() if self.path else ["loop"]
        if self.options.early_launch:
            self.answer(message)
        else:
            self.launching = message

    do_attach = do_launch

    def do_setBreakpoints(self, message: dict[str, Any], given: dict[str, Any]) -> None:  # noqa: N802
        wanted = [one["line"] for one in given.get("breakpoints", [])]
        before = self.breakpoints.get(given["source"]["path"], set())
        kept = before if self.options.keeps_breakpoints else set()
        self.breakpoints[given["source"]["path"]] = {*wanted, *kept}
        found = [{"id": line, "verified": True, "line": line} for line in wanted]
        self.answer(message, body={"breakpoints": found})

    def do_setExceptionBreakpoints(self, message: dict[str, Any], _given: dict[str, Any]) -> None:  # noqa: N802
        self.answer(message, body={})

    def do_configurationDone(self, message: dict[str, Any], _given: dict[str, Any]) -> None:  # noqa: N802
        self.answer(message, body={})
        if self.launching is not None:
            self.answer(self.launching, body={})
        self.wire.event("process", {"name": self.path, "startMethod": "launch"})
        self.wire.event("thread", {"reason": "started", "threadId": 1})
        self.ask_for_things()
        if self.options.crash_after and self.is_among():
            later(self.options.crash_after, self.crash)
        if self.entry:
            self.stop("entry")
        else:
            self.go(None)

    def ask_for_things(self) -> None:
        for _ in range(self.options.flood_requests):
            self.ask("runInTerminal", {"args": ["true"], "cwd": "/"})
        if self.options.unknown_requests:
            self.ask("hostile", {"a": 1})
            self.ask("", None)
            self.ask("runInTerminal", {"args": "sh -c true", "cwd": 5, "env": ["A=b"]})
            self.ask("runInTerminal", {"args": [], "cwd": "/"})
            self.ask("runInTerminal", {"args": [1, None], "cwd": "\0", "env": {"A": 5, "B": None}})
            self.ask("startDebugging", {"configuration": "all", "request": "explode"})
            self.ask("startDebugging", [])
            self.wire.send("request", command=5, arguments=None)
        if self.options.terminal:
            self.ask("runInTerminal", {"args": ["/bin/sh", "-c", self.options.terminal], "cwd": "/"})
        for number in range(self.options.child_sessions):
            inner = {"name": f"child {number}", "program": self.path, "stopOnEntry": self.entry}
            self.ask("startDebugging", {"request": "launch", "configuration": inner})

    def ask(self, command: str, given: Any) -> None:
        self.wire.send("request", command=command, arguments=given)

    def go(self, step: str | None) -> None:
        self.pausing.clear()
        threading.Thread(target=self.walk, args=(step,), daemon=True).start()

    def walk(self, step: str | None) -> None:
        for number in range(self.options.flood):
            self.wire.event("output", {"category": "stdout", "output": f"flood {number}\n"})
        if self.options.flood_bytes:
            self.wire.event("output", {"category": "stdout", "output": "f" * self.options.flood_bytes})
        while self.options.endless_output and not self.pausing.is_set():
            self.wire.event("output", {"category": "stdout", "output": "more and more\n" * 100})
        while self.line <= len(self.lines):
            words = self.lines[self.line - 1].partition(" ")
            if words[0] == "print":
                self.wire.event("output", {"category": "stdout", "output": words[2] + "\n"})
            elif words[0] == "exit":
                self.end(int(words[2]))
                return
            elif words[0] == "loop":
                self.pausing.wait()
            if self.pausing.is_set():
                self.stop("pause")
                return
            self.line += 1
            if self.line in self.breakpoints.get(self.path, ()):
                self.stop("breakpoint", hitBreakpointIds=[self.line])
                return
            if step is not None and self.line <= len(self.lines):
                self.stop(step)
                return
        self.end(0)

    def stop(self, reason: str, **fields: Any) -> None:
        with self.wire.in_one_write():
            self._tell_of_stop(reason, fields)
        self.log.write("sent", stopped=reason, line=self.line)

    def _tell_of_stop(self, reason: str, fields: dict[str, Any]) -> None:
        if self.options.wrong_events:
            for name, body in WRONG_EVENTS:
                self.wire.send("event", event=name, body=body)
        if self.options.no_stops:
            return
        body = {"reason": reason, "threadId": 1, "allThreadsStopped": True, **fields}
        if self.options.vague_stops:
            del body["threadId"]
        for _ in range(self.options.stops):
            self.wire.event("stopped", body)
        for _ in range(self.options.stop_for_ever):
            self.wire.event("stopped", {**body, "reason": "again"})

    def end(self, code: int) -> None:
        if self.options.silent_end:
            return
        if self.options.half_end != "terminated":
            self.wire.event("exited", {"exitCode": code})
        if self.options.half_end != "exited":
            self.wire.event("terminated")

    def do_continue(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message, body={"allThreadsContinued": True})
        self.go(None)

    def do_next(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message)
        self.go(REASONS[message["command"]])

    do_stepIn = do_stepOut = do_next  # noqa: N815  (the protocol's names)

    def do_pause(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message)
        self.pausing.set()

    def do_threads(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message, body={"threads": [{"id": 1, "name": "main"}]})

    def do_stackTrace(self, message: dict[str, Any], _given: dict[str, Any]) -> None:  # noqa: N802
        source = {"name": Path(self.path).name, "path": self.path}
        frame = {"id": 1000, "name": "main", "line": self.line, "column": 1, "source": source}
        self.answer(message, body={"stackFrames": [frame], "totalFrames": 1})

    def do_scopes(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        scope = {"name": "Locals", "presentationHint": "locals", "variablesReference": 1, "expensive": False}
        self.answer(message, body={"scopes": [scope]})

    def do_variables(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        line = {"name": "line", "value": str(self.line), "type": "int", "variablesReference": 0}
        user = {"name": "user", "value": "User", "type": "User", "variablesReference": 2}
        # An object that contains itself, for whoever goes down for ever.
        inner = [{"name": "self", "value": "User", "type": "User", "variablesReference": 2}]
        many = [
            {"name": f"v{number}", "value": "x" * 10_000, "variablesReference": 2}
            for number in range(self.options.huge)
        ]
        shown = [line, user, *many] if given.get("variablesReference") == 1 else inner
        self.answer(message, body={"variables": shown})

    def do_evaluate(self, message: dict[str, Any], given: dict[str, Any]) -> None:
        if given.get("expression") == "line":
            self.answer(message, body={"result": str(self.line), "type": "int", "variablesReference": 0})
        else:
            self.answer(message, success=False, message=f"there is no {given.get('expression')}")

    def do_terminate(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message)
        self.end(143)

    def do_disconnect(self, message: dict[str, Any], _given: dict[str, Any]) -> None:
        self.answer(message)


def later(seconds: float, act: Any) -> None:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


def listen(options: argparse.Namespace, log: Log) -> None:
    time.sleep(options.late)
    with socket.create_server(("127.0.0.1", options.port)) as server:
        if options.announce:
            line = options.announce.replace("PORT", str(server.getsockname()[1]))
            os.write(1, line.encode() + b"\n")
        while True:
            talk, _ = server.accept()
            wire = Wire(options, os.dup(talk.fileno()), os.dup(talk.fileno()))
            talk.close()
            threading.Thread(target=Adapter(options, log, wire).run, daemon=True).start()


def main() -> int:
    options = arguments()
    log = Log(options.log)
    if options.deaf:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda got, _frame: log.write("signal", number=got))
    for _ in range(options.children):
        env = {} if options.no_mark else None
        child = subprocess.Popen([sys.executable, "-ISc", ASLEEP], start_new_session=True, env=env)
        log.write("child", pid=child.pid)
    for start in range(0, options.stderr_bytes, 1000):
        os.write(2, b"e" * (min(1000, options.stderr_bytes - start) - 1) + b"\n")
    if options.crash_at_start:
        os.write(2, b"cannot start: something is missing\n")
        return 4
    if options.port or options.announce:
        listen(options, log)
    return Adapter(options, log, Wire(options, 0, 1)).run()


if __name__ == "__main__":
    os._exit(main())
