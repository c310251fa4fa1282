"""The type and the text of a C++ exception that is being thrown, read from the call that throws it.

Owns: the expressions for it, and the names in the form of the compilers. Never: calling code of the
program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.processes.foreign_text import clean

THROWING = "__cxa_throw"
MAX_TEXT = 2_000
_REGISTERS: Mapping[str, tuple[str, str, str]] = {
    "lldb-dap": ("", "$arg1", "$arg2"),
    "codelldb": ("/nat ", "$arg1", "$arg2"),
    "gdb": ("", "$rdi", "$rsi"),
}
"""By adapter: what an expression begins with, the exception and its type as the call has them."""
_TYPE = "{prefix}(char*)(*(long*)({type}+8))"
_TEXT = "{prefix}*(char**)({exception}+8)"
"""Where the classes of the standard library keep what `what` returns."""
_WITH_TEXT = re.compile(
    r"St\d+(?:logic|domain|length|runtime|range|overflow|underflow|system)_error|St\d+invalid_argument|"
    r"St\d+out_of_range|NSt10filesystem7__cxx1116filesystem_errorE"
)
_LITERAL = re.compile(r'\A[^"]*+"((?>(?:[^"\\]|\\.)*))"')


async def thrown_by_cpp(call: DebugCall, frame: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return type and text, as far as they are known, of what the call in a frame throws."""
    registers = _REGISTERS.get(call.session.behaviour.name)
    name = str(frame.get("name", ""))
    if registers is None or not name.partition("(")[0].endswith(THROWING):
        return None, None
    prefix, exception, kind = registers
    mangled = await _text(call, frame, _TYPE.format(prefix=prefix, type=kind))
    if mangled is None:
        return None, None
    has_text = _WITH_TEXT.fullmatch(mangled) is not None
    words = _TEXT.format(prefix=prefix, exception=exception) if has_text else ""
    return demangled(mangled), await _text(call, frame, words) if words else None


async def _text(call: DebugCall, frame: dict[str, Any], expression: str) -> str | None:
    try:
        answer = await call.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")
    except ToolError:
        return None
    found = _LITERAL.search(clean(answer.get("result"), MAX_TEXT))
    return found[1] if found else None


def demangled(name: str) -> str:
    """Return the name of a class (`St11logic_error`, `N3app7RefusedE`) as a source has it, if it is plain."""
    rest, parts = name.removeprefix("*"), []
    if rest.startswith("St"):
        parts, rest = ["std"], rest[2:]
    elif rest.startswith("N") and rest.endswith("E"):
        rest = rest[1:-1]
    while found := re.match(r"\d+", rest):
        end = found.end() + int(found[0][:4])
        parts.append(rest[found.end() : end])
        rest = rest[end:]
    return "::".join(parts) if parts and not rest else name
