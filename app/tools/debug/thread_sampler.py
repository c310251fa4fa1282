"""What the threads of a Python program do, seen from inside: run in the program that is looked at.

Owns: the frames of each thread, the lock that it waits for, and which locks its `with` blocks hold. Never:
changing, calling or stopping anything of the program; nor importing what is not in Python's library, for its
text is all that gets there.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import sys
import threading
from types import FrameType
from typing import Any

MAX_THREADS = 100
MAX_FRAMES = 30
MAX_FILE_LINES = 20_000
_LIBRARY = ("threading.py", "queue.py", "_base.py")
_OWNER = re.compile(r"owner=(\d+)")
_FOLDER = threading.__file__.rpartition("/")[0]
_NOTHING = object()
_TREES: dict[str, Any] = {}


def sampled(seconds: float) -> str:
    """Return all threads as JSON. `moves` tells of each whether it has got further after so many seconds."""
    before = {number: (id(top), top.f_lasti) for number, top in sys._current_frames().items()}
    threading.Event().wait(seconds)
    now = sys._current_frames()
    threads = [one for one in threading.enumerate() if not _is_debuggers(one)][:MAX_THREADS]
    stacks = {one.ident: _stack(now.get(one.ident or 0)) for one in threads}
    holders: dict[int, int] = {}
    for one in threads:
        for frame in stacks[one.ident]:
            for lock in _held(frame, is_top=frame is stacks[one.ident][0]):
                if one.ident is not None and getattr(lock, "locked", bool)() is not False:
                    holders.setdefault(id(lock), one.ident)
    rows = [_thread(one, stacks[one.ident], holders) for one in threads]
    for row in rows:
        top = now.get(row["id"])
        row["moves"] = top is not None and before.get(row["id"]) != (id(top), top.f_lasti)
    return json.dumps(rows)


def _is_debuggers(thread: threading.Thread) -> bool:
    marks = ("pydev_do_not_trace", "is_pydev_daemon_thread")
    return any(getattr(thread, mark, False) for mark in marks) or thread.ident == threading.get_ident()


def _stack(top: FrameType | None) -> list[FrameType]:
    frames: list[FrameType] = []
    while top is not None and len(frames) < MAX_FRAMES:
        frames.append(top)
        top = top.f_back
    return frames


def _thread(thread: threading.Thread, frames: list[FrameType], holders: dict[int, int]) -> dict[str, Any]:
    waits = _awaited(frames)
    row: dict[str, Any] = {
        "id": thread.ident,
        "name": thread.name,
        "frames": [
            {"name": one.f_code.co_name, "path": one.f_code.co_filename, "line": one.f_lineno}
            for one in frames
        ],
    }
    if waits is not None:
        kind, name, lock = waits
        row["waits"] = {"kind": kind, "name": name, "thread": _owner(lock, holders)}
    return row


def _owner(lock: Any, holders: dict[int, int]) -> int | None:
    if isinstance(lock, threading.Thread):
        return lock.ident
    named = _OWNER.search(repr(lock)) if type(lock).__name__ == "RLock" else None
    return int(named[1]) or None if named else holders.get(id(lock))


def _awaited(frames: list[FrameType]) -> tuple[str, str | None, Any] | None:
    """Return what a thread waits for: its kind, its name in the source, and the object."""
    own = 0
    while own < len(frames) and _is_library(frames[own]):
        own += 1
    if own:
        return _awaited_by_library(frames[own - 1], frames[own] if own < len(frames) else None)
    if not frames:
        return None
    for expression in _acquired_at(frames[0]):
        lock = _lock(_value(frames[0], expression))
        if lock is not None:
            return "lock", ast.unparse(expression), lock
    return None


def _is_library(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    folder = path.rpartition("/")[0]
    return path.endswith(_LIBRARY) and folder in {_FOLDER, f"{_FOLDER}/concurrent/futures"}


def _awaited_by_library(frame: FrameType, caller: FrameType | None) -> tuple[str, str | None, Any] | None:
    """`frame` is the outermost one in the library: its `self` is what the program has called."""
    it = frame.f_locals.get("self", _NOTHING)
    if it is _NOTHING or (isinstance(it, threading.Thread) and frame.f_code.co_name != "join"):
        return None
    if isinstance(it, threading.Thread):
        return "thread", it.name, it
    entering = frame.f_code.co_name in {"__enter__", "acquire"}
    lock = _lock(it) if entering else None
    name = next((ast.unparse(one) for one in _acquired_at(caller)), None) if caller and entering else None
    return ("lock" if lock is not None else type(it).__name__.lower()), name, lock


def _lock(it: Any) -> Any:
    """Return the lock of an object that is one or has one, else None."""
    if isinstance(it, threading.Condition):
        it = it.__dict__.get("_lock")
    return it if type(it).__name__ in {"lock", "RLock", "_RLock"} else None


def _acquired_at(frame: FrameType | None) -> list[ast.expr]:
    """Return the expressions of locks that the line at which a frame stands acquires."""
    if frame is None:
        return []
    line, found = frame.f_lineno, []
    for node in _nodes(frame):
        if isinstance(node, ast.With):
            found += [one.context_expr for one in node.items if one.context_expr.lineno == line]
        elif isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found += _receiver(node, "acquire")
    return found


def _held(frame: FrameType, *, is_top: bool) -> list[Any]:
    """Return the locks that a frame has acquired before the line at which it stands."""
    line = frame.f_lineno
    expressions: list[ast.expr] = []
    acquired: dict[str, tuple[int, ast.expr]] = {}
    released: dict[str, int] = {}
    for node in _nodes(frame):
        if isinstance(node, ast.With) and node.body[0].lineno <= line <= (node.end_lineno or 0):
            expressions += [one.context_expr for one in node.items]
        elif isinstance(node, ast.Call) and node.lineno < line:
            for one in _receiver(node, "acquire"):
                acquired[ast.unparse(one)] = node.lineno, one
            for one in _receiver(node, "release"):
                released[ast.unparse(one)] = node.lineno
    expressions += [one for name, (at, one) in acquired.items() if released.get(name, 0) < at]
    found = [_lock(_value(frame, one)) for one in expressions]
    return [one for one in found if one is not None]


def _receiver(node: ast.Call, method: str) -> list[ast.expr]:
    function = node.func
    return [function.value] if isinstance(function, ast.Attribute) and function.attr == method else []


def _nodes(frame: FrameType) -> list[ast.AST]:
    """Return the parts of the function that a frame runs."""
    path, code = frame.f_code.co_filename, frame.f_code
    if path not in _TREES:
        lines = linecache.getlines(path)
        try:
            _TREES[path] = ast.parse("".join(lines)) if 0 < len(lines) <= MAX_FILE_LINES else None
        except (SyntaxError, ValueError, RecursionError):
            _TREES[path] = None
    tree = _TREES[path]
    if tree is None or code.co_name == "<module>":
        return [] if tree is None else _own_nodes(tree)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = [node.lineno, *(one.lineno for one in node.decorator_list)]
            if code.co_firstlineno in first:
                return _own_nodes(node)
    return []


def _own_nodes(root: ast.AST) -> list[ast.AST]:
    """Return the parts of a function or module, without those of the functions in it."""
    found: list[ast.AST] = []
    left = list(ast.iter_child_nodes(root))
    while left:
        node = left.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found.append(node)
            left += ast.iter_child_nodes(node)
    return found


def _value(frame: FrameType, expression: ast.expr) -> Any:
    """Return what a name, an attribute or an item of a constant key is worth, without running code of the
    program."""
    if isinstance(expression, ast.Name):
        names = frame.f_locals
        return names.get(expression.id, frame.f_globals.get(expression.id))
    if isinstance(expression, ast.Attribute):
        owner = _value(frame, expression.value)
        for place in (owner, *(type(owner).__mro__ if not isinstance(owner, type) else owner.__mro__)):
            found = getattr(place, "__dict__", {}).get(expression.attr, _NOTHING)
            if found is not _NOTHING:
                return found
    if isinstance(expression, ast.Subscript):
        owner, part = _value(frame, expression.value), expression.slice
        key = part.value if isinstance(part, ast.Constant) else _value(frame, part)
        if type(owner) in {list, tuple, dict} and type(key) in {int, str}:
            try:
                return owner[key]
            except (LookupError, TypeError):
                return None
    return None
