"""evaluate: an expression in a frame of the program.

Owns: keeping `watch` to looking: what certainly changes something is refused, what an adapter watches
over is asked in the way that it refuses, what nobody can tell is answered with a warning. Never:
running code anywhere but in the program.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from app.bridges.dap.manager import DebugSession
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.frames import frame_of
from app.tools.debug.results import DebugResult
from app.tools.debug.shown import Shown
from app.tools.debug.values import reference_of
from app.tools.processes.foreign_text import clean, one_line

MAX_RESULT = 20_000
MAX_NAME = 300
_STRINGS = re.compile(r"\"(?>(?:\\.|[^\"\\])*)(?P<end>\")?|'(?>(?:\\.|[^'\\])*)(?P<close>')?", re.DOTALL)
_ASSIGNS = re.compile(
    r"(?<![=!<>~:])=(?![=>~])|:=|(?:<<|>>)=|(?<=\w)(?:\+\+|--)(?!\w)|(?<!\w)(?:\+\+|--)(?=[A-Za-z_])"
)
_CALLS = re.compile(r"[\w\])!?]\s*\(|`|\$\(|\b(?:await|new|delete|del|yield|call|set|print)\b")
_VARIABLE = re.compile(r"[$@%&]{0,2}\{?[A-Za-z_]\w*(?:\[[\w'\"$:]*\])?\}?")
_SHELLS = frozenset({"bash", "perl", "ruby"})
"""Languages in which = may compare, or calls have no brackets: only plain variables are sure to be none."""
_REFUSED = re.compile(r"side[ -]?effect", re.IGNORECASE)
_UNCERTAIN = (
    "This may have called code of the program, and {adapter} cannot tell whether that changed anything. "
    "Prefer variables where it will do."
)


async def evaluate(call: DebugCall) -> DebugResult:
    """Evaluate in the frame. Raises ToolError `side_effects_refused` in `watch`."""
    params, session = call.params, call.session
    expression = (params.expression or "").strip()
    watching = params.context == "watch"
    frame = await frame_of(call)
    if watching:
        answer = await value_of(call, frame, expression)
    else:
        answer = await call.ask(
            "evaluate",
            expression=session.behaviour.evaluation.free_prefix + expression,
            frameId=frame["id"],
            context=session.behaviour.evaluation.free_context,
        )
    shown = Shown(call)
    reference = reference_of(answer)
    children = None
    if reference and params.depth > 1:
        children = await shown.of_reference(reference, params.depth - 1)
    unwatched = watching and session.behaviour.evaluation.safe_context is None
    warns = unwatched and may_change(_language(session), expression)
    return DebugResult(
        result=clean(answer.get("result"), MAX_RESULT),
        type=one_line(answer.get("type"), MAX_NAME) or None,
        expandable=True if reference else None,
        children=children,
        memory_reference=one_line(answer.get("memoryReference"), MAX_NAME) or None,
        warning=_UNCERTAIN.format(adapter=session.adapter) if warns else None,
    )


async def value_of(call: DebugCall, frame: dict[str, Any], expression: str) -> dict[str, Any]:
    """Return the adapter's answer to an expression that only looks. Raises ToolError
    `side_effects_refused`."""
    session = call.session
    safe = session.behaviour.evaluation.safe_context
    if certainly_changes(_language(session), expression):
        raise _refused("it assigns or is no expression")
    try:
        return await call.ask("evaluate", expression=expression, frameId=frame["id"], context=safe or "watch")
    except ToolError as error:
        if safe is not None and _REFUSED.search(error.message):
            raise _refused(one_line(error.message, 500)) from None
        raise


def _language(session: DebugSession) -> str:
    return "python" if session.behaviour.name == "debugpy" else session.runtime


def certainly_changes(language: str, expression: str) -> bool:
    """Tell whether an expression assigns, whatever its values are."""
    if language == "python":
        return _python_statement(expression)
    return language not in _SHELLS and _ASSIGNS.search(_without_strings(expression)) is not None


def may_change(language: str, expression: str) -> bool:
    """Tell whether an expression may run code of the program that changes something."""
    if language == "python":
        return _python_calls(expression)
    if language in _SHELLS:
        return _VARIABLE.fullmatch(expression) is None
    return _CALLS.search(_without_strings(expression)) is not None


def _without_strings(expression: str) -> str:
    """Return the expression with every closed string empty. What follows an unclosed quote stays."""
    return _STRINGS.sub(lambda found: "''" if found["end"] or found["close"] else found[0], expression)


def _python_statement(expression: str) -> bool:
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        try:
            ast.parse(expression, mode="exec")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False  # the adapter says what is wrong with it
        return True
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))


def _python_calls(expression: str) -> bool:
    try:
        tree = ast.parse(expression, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    running = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(node, running) for node in ast.walk(tree))


def _refused(why: str) -> ToolError:
    return ToolError(
        "side_effects_refused",
        f"In watch an expression only looks, and this one was not evaluated to the end: {why}. Look at "
        'variables instead, or use context "repl" where the program may be changed.',
        detail={"context": "watch"},
    )
