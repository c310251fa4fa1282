"""For authors of plugins: a plugin in Python is a few functions.

Owns: the wire (JSON-RPC, a document a line, on stdio), the handshake, and the threads that functions
run in. Never: anything of the daemon; a plugin is a program of its own, and this has to start fast.

    from app.plugins.sdk import Call, Plugin

    plugin = Plugin("memory", "1.0.0", capabilities=["kaged:storage:read", "kaged:storage:write"])

    @plugin.hook("on_session_start")
    def recall(call: Call):
        return {"inject": plugin.storage.get("notes", "")}

    @plugin.tool("remember")
    def remember(call: Call, note: str):
        plugin.storage.set("notes", note)

    plugin.run()
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeVar

API_VERSION = 1
ANSWER_SECONDS = 30.0
"""How long an answer of the daemon is waited for."""
MAX_BYTES = 1024 * 1024
"""How large a message to the daemon may be: it takes no larger answer, and ends a plugin that sends one of
twice the size."""
MAX_ERROR = 4_000
_METHOD_NOT_FOUND, _FAILED = -32601, -32000
_HOOK = "kaged.hook."
_LISTED = 1_000
Function = TypeVar("Function", bound=Callable[..., Any])


class PluginError(Exception):
    """Raise it in a function to send this message to the daemon; or got from the daemon, which does
    not do what was asked."""


class _DaemonGone(Exception):
    """The daemon takes no messages any more."""


class Call:
    """One call of a function. `params` is what came with it; `session_id` is None outside of a session;
    `dry_run`: leave no traces."""

    __slots__ = ("agent_path", "context", "dry_run", "method", "params", "project_root", "role", "session_id")

    def __init__(self, method: str, params: Mapping[str, Any]) -> None:
        self.method = method
        # A tool may have a parameter `role` of its own.
        extra = {"_context", "role"} if method.startswith(_HOOK) else {"_context"}
        self.params = {name: value for name, value in params.items() if name not in extra}
        self.role: str = params["role"] if "role" in extra and "role" in params else "observer"
        self.context: Mapping[str, Any] = params.get("_context") or {}
        self.session_id: str | None = self.context.get("session_id")
        self.agent_path: str = self.context.get("agent_path", "")
        self.project_root: str = self.context.get("project_root", "")
        self.dry_run: bool = bool(self.context.get("dry_run"))


class Storage:
    """What the plugin remembers for the project: JSON values by key. For the functions of the plugin, since
    the daemon answers only while it serves. Raises PluginError for what the daemon refuses."""

    def __init__(self, ask: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self._ask = ask

    def get(self, key: str, default: Any = None) -> Any:
        value = self._ask("kaged.storage.get", {"key": key})["value"]
        return default if value is None else value

    def set(self, key: str, value: Any) -> None:
        self._ask("kaged.storage.set", {"key": key, "value": value})

    def delete(self, key: str) -> bool:
        """Tell whether there was a value."""
        return bool(self._ask("kaged.storage.delete", {"key": key})["deleted"])

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with `prefix`, in their order."""
        after = ""
        while True:
            page = self._ask("kaged.storage.list", {"prefix": prefix, "after": after, "limit": _LISTED})[
                "keys"
            ]
            yield from page
            if len(page) < _LISTED:
                return
            after = page[-1]


class _Calls:
    """The daemon's calls, by number: those that are not answered, those of them that it has given up, and
    those that a thread works on."""

    def __init__(self) -> None:
        self.open: set[Any] = set()
        self.cancelled: set[Any] = set()
        self.running: set[Any] = set()

    def over(self, number: Any) -> None:
        for numbers in (self.running, self.open, self.cancelled):
            numbers.discard(number)


class _Questions:
    """What the plugin has asked the daemon, by number, until it is answered."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}

    def begin(self) -> tuple[int, queue.SimpleQueue[dict[str, Any]]]:
        number = next(self._numbers)
        answer = self._waiting[number] = queue.SimpleQueue()
        return number, answer

    def answered(self, number: Any, message: dict[str, Any]) -> None:
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is not None:
            waiting.put(message)

    def end(self, number: int) -> None:
        del self._waiting[number]


class Plugin:
    """A plugin. `name` and `version` are those of its manifest, `capabilities` those that it uses.
    `threads` functions run at the same time. `config`, `system_config` and `project` are there once the
    daemon has said hello, which is before any function is called."""

    def __init__(
        self, name: str, version: str, *, capabilities: Iterable[str] = (), threads: int = 1
    ) -> None:
        self.name = name
        self.version = version
        self.config: dict[str, Any] = {}
        self.system_config: dict[str, Any] = {}
        self.project: dict[str, Any] = {}
        self.storage = Storage(self._ask)
        self._capabilities = list(capabilities)
        self._threads = threads
        self._functions: dict[str, Callable[[Call], Any]] = {}
        self._at_start: list[Callable[[], Any]] = []
        self._work: queue.SimpleQueue[tuple[Any, Callable[[], Any]]] = queue.SimpleQueue()
        self._calls = _Calls()
        self._questions = _Questions()
        self._lock = threading.Lock()
        self._output: IO[bytes] | None = None

    def hook(self, name: str) -> Callable[[Function], Function]:
        """Have a function called for a hook: with a `Call`; it returns a map or None."""

        def keep(function: Function) -> Function:
            self._functions[_HOOK + name] = function
            return function

        return keep

    def tool(self, name: str) -> Callable[[Function], Function]:
        """Have a function called for a tool: with a `Call` and the parameters by name; it returns JSON."""

        def keep(function: Function) -> Function:
            self._functions[f"{self.name}.{name}"] = lambda call: function(call, **call.params)
            return function

        return keep

    def at_start(self, function: Function) -> Function:
        """Have a function called without arguments once the daemon has said hello."""
        self._at_start.append(function)
        return function

    def log(self, level: str, message: str, **fields: object) -> None:
        """Write to the daemon's log; `level` is debug, info, warning or error."""
        entry = {"level": level, "message": message, "fields": fields}
        try:
            self._send({"method": "kaged.log", "params": entry})
        except PluginError:  # too large; the daemon keeps no more of a line than this anyway
            self._send(
                {"method": "kaged.log", "params": {"level": level, "message": str(message)[:MAX_ERROR]}}
            )

    def run(self) -> None:
        """Serve until the daemon ends the conversation. What is printed goes to stderr, since stdout is
        for messages only. What follows the end of it does nothing."""
        if self._output is not None:
            return
        take = os.fdopen(os.dup(0), "rb")
        self._output = _take_output()
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)  # else a program that a function starts reads the daemon's messages
        for number in range(self._threads):
            threading.Thread(target=self._run_work, name=f"functions {number}", daemon=True).start()
        try:
            for line in take:
                if line.strip():
                    self._take(json.loads(line))
        except (_DaemonGone, KeyboardInterrupt):
            pass

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        params = message.get("params") or {}
        if method is None:
            self._questions.answered(number, message)
        elif method == "initialize":
            self._send({"id": number, "result": self._hello(params)})
        elif method == "initialized":
            for function in self._at_start:
                self._work.put((None, function))
        elif method == "shutdown" or (method == "ping" and not self._is_stuck()):
            self._send({"id": number, "result": {}})
        elif method == "$/cancelRequest":
            self._calls.cancelled |= {params.get("id")} & self._calls.open
        elif number is not None:
            self._call(number, method, params)

    def _is_stuck(self) -> bool:
        """Whether every thread works on a call that the daemon has given up, so that none can be served.
        The daemon restarts a plugin that then leaves a ping unanswered."""
        return len(self._calls.running & self._calls.cancelled) >= self._threads

    def _hello(self, params: Mapping[str, Any]) -> dict[str, Any]:
        self.config = params.get("config") or {}
        self.system_config = params.get("system_config") or {}
        self.project = params.get("project") or {}
        return {
            "name": self.name,
            "version": self.version,
            "api_version": API_VERSION,
            "methods": sorted(self._functions),
            "notifications": [],
            "capabilities_used": self._capabilities,
        }

    def _call(self, number: Any, method: str, params: Mapping[str, Any]) -> None:
        function = self._functions.get(method)
        if function is None:
            self._fail(number, _METHOD_NOT_FOUND, f"there is no method {method}")
            return
        call = Call(method, params)
        self._calls.open.add(number)
        self._work.put((number, lambda: function(call)))

    def _run_work(self) -> None:
        while True:
            number, work = self._work.get()
            try:
                if number not in self._calls.cancelled:
                    self._calls.running.add(number)
                    self._done(number, work)
            except _DaemonGone:
                return
            finally:
                self._calls.over(number)

    def _done(self, number: Any, work: Callable[[], Any]) -> None:
        try:
            result = work()
        except PluginError as problem:
            if number is None:
                _show_failure()
            self._fail(number, _FAILED, str(problem))
        except _DaemonGone:
            raise
        except BaseException as problem:  # noqa: BLE001  (also SystemExit: it would end this thread unheard)
            _show_failure()
            self._fail(number, _FAILED, f"{type(problem).__name__}: {problem}")
        else:
            if number is not None:
                try:
                    self._send({"id": number, "result": result})
                except PluginError as problem:
                    self._fail(number, _FAILED, f"the result is too large: {problem}")
                except (TypeError, ValueError, RecursionError) as problem:
                    self._fail(number, _FAILED, f"the result is no JSON: {problem}")

    def _fail(self, number: Any, code: int, message: str) -> None:
        if number is not None:
            self._send({"id": number, "error": {"code": code, "message": message[:MAX_ERROR]}})

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        if self._output is None:
            raise PluginError(
                f"{method} is answered only while the plugin serves; ask in one of its functions"
            )
        number, answer = self._questions.begin()
        try:
            self._send({"id": number, "method": method, "params": params})
            message = answer.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise PluginError(f"{method} was not answered within {ANSWER_SECONDS:g} s") from None
        finally:
            self._questions.end(number)
        if "error" in message:
            raise PluginError(message["error"].get("message", "the daemon refused"))
        return message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, allow_nan=False) + "\n"
        data = line.encode("utf-8", "replace")
        if len(data) > MAX_BYTES:
            raise PluginError(f"{len(data)} bytes as JSON, {MAX_BYTES} are allowed")
        with self._lock:
            if self._output is not None:
                try:
                    self._output.write(data)
                    self._output.flush()
                except BrokenPipeError:
                    raise _DaemonGone from None


_taken: list[IO[bytes]] = []


def _take_output() -> IO[bytes]:
    """Return stdout for messages, always the same; what is printed goes to stderr from then on."""
    if not _taken:
        _taken.append(os.fdopen(os.dup(1), "wb"))
        os.dup2(2, 1)
        sys.stdout = sys.stderr
    return _taken[0]


def _show_failure() -> None:
    import traceback

    traceback.print_exc()


def run_file(path: str) -> None:
    """Run the plugin that a file defines, also when it does not call `run` itself. What the file prints
    while it is read goes to stderr, too."""
    import runpy

    _take_output()
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    found = runpy.run_path(path, run_name="__plugin__")
    for value in found.values():
        if isinstance(value, Plugin):
            value.run()
            return
    raise SystemExit(f"{path} defines no Plugin")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m app.plugins.sdk FILE")
    # The file imports this module by its name, which makes it another one than `__main__`.
    from app.plugins import sdk

    sdk.run_file(sys.argv[1])
