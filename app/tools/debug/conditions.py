"""Checks, when a breakpoint is set, that its condition can be an expression at all.

Owns: parsing it in the language of the breakpoint's file. Never: evaluating it, or languages whose debuggers
take conditions in a language of their own (Rust, Zig, shells).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from app.errors import ToolError
from app.tools.ast_grep.languages import LanguageName
from app.tools.debug.call import DebugCall
from app.tools.debug.wrong_parameter import wrong

_PYTHON = "python"
_BY_ENDING: Mapping[str, LanguageName] = {
    **dict.fromkeys((".py", ".pyw"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".java": "java",
    ".c": "c",
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp"), "cpp"),
}
_BY_RUNTIME: Mapping[str, LanguageName] = {
    "python": "python",
    "node": "javascript",
    "bun": "typescript",
    "go": "go",
    "java": "java",
    "c": "c",
    "cpp": "cpp",
}
_OWN_VARIABLES = "$"
"""Debuggers have variables of their own by this sign; no language's parser knows them."""


async def check_condition(call: DebugCall, condition: str | None, ending: str) -> None:
    """Raise ToolError `invalid_params` for what is no expression of the language. `ending` is that of the
    breakpoint's file, empty where it has none."""
    if not condition:
        return
    language = _BY_ENDING.get(ending.lower()) or _of_session(call, ending)
    if language is None or _OWN_VARIABLES in condition:
        return
    problem = _python(condition) if language == _PYTHON else await _parsed(call, condition, language)
    if problem:
        raise wrong("condition", f"is no expression of {language}: {problem}")


def check_value(runtime: str, value: str) -> None:
    """Raise ToolError `invalid_params` for a value that is no expression of Python, which debugpy ignores."""
    problem = _python(value) if runtime == _PYTHON else None
    if problem:
        raise wrong("value", f"is no expression of {_PYTHON}: {problem}")


def _of_session(call: DebugCall, ending: str) -> LanguageName | None:
    session = call.adapters.session(call.owner)
    return None if ending or session is None else _BY_RUNTIME.get(session.runtime)


def _python(condition: str) -> str | None:
    try:
        ast.parse(condition.strip(), mode="eval")
    except SyntaxError as error:
        where = f" (column {error.offset})" if error.offset else ""
        return f"{error.msg}{where}"
    except (ValueError, RecursionError, MemoryError):
        return "it cannot be parsed"
    return None


async def _parsed(call: DebugCall, condition: str, language: LanguageName) -> str | None:
    """What the parser itself cannot be asked for is no fault of the condition."""
    try:
        await call.tooling.syntax.understand(condition, language)
    except ToolError as error:
        return "it cannot be parsed" if error.code == "invalid_pattern" else None
    return None
