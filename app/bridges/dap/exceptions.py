"""At which exceptions a program stops: what an agent chose, in the words of each adapter.

Owns: the modes, which of them an adapter has, and the requests that set them. Never: which stops pass by
(`exception_screen`), or what an exception says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.capabilities import FILTERS
from app.errors import ToolError

Mode = Literal["none", "uncaught", "user", "raised"]
MODES: tuple[Mode, ...] = get_args(Mode)
MAX_FILTERS = 100
LIBRARIES = frozenset({"site-packages", "dist-packages", "node_modules", ".cargo", ".rustup", "vendor"})
"""Folders of a project in which code of others lies."""
_OF_TYPES = (
    "(types => {{ for (let at = error; at != null; at = Object.getPrototypeOf(at)) "
    "if (types.includes(at.constructor?.name)) return true; return false; }})({types})"
)
"""For js-debug: that an error is of one of these classes, or of one that is derived from them."""
_OF_PROJECT = (
    "(() => {{ const before = [Error.stackTraceLimit, Error.prepareStackTrace]; try {{ "
    "Error.stackTraceLimit = 100; Error.prepareStackTrace = undefined; "
    "const stack = new Error().stack; "
    "const own = stack.split('\\n').some(line => {{ "
    "const path = {roots}.map(root => line.split(root)[1]).find(one => one !== undefined); "
    "return path !== undefined && !path.split('/').some(one => {libraries}.includes(one)); }}); "
    "{counted} return own; }} catch {{ return true; }} "
    "finally {{ [Error.stackTraceLimit, Error.prepareStackTrace] = before; }} }})()"
)
"""For js-debug: that code of the project is among the callers of what throws. The stack is that of the throw,
in the engine's own form, whatever the program makes of stacks."""
THROWN = "globalThis[Symbol.for('kaged.thrown')]"
"""What js-debug counts in, in the realm of what throws: `count` of the errors, and the `stacks` of them."""
_COUNTED = (
    f"if (own) {{ const thrown = ({THROWN} ??= {{ count: 0, stacks: new Set() }}); thrown.count += 1; "
    "if (thrown.count < MOST) { const { size } = thrown.stacks; "
    "return thrown.stacks.add(stack).size > size; } }"
)


@dataclass(frozen=True, slots=True)
class ExceptionChoice:
    """`none`: the program never stops at an exception. `uncaught`: at one that ends it. `user`: also at one
    that leaves the project's code for a library that catches it. `raised`: at each that comes to the
    project's code. `types` are names of classes; empty: all. `once_until`: until so many were raised, those
    with a stack that was seen before are no stops, where the adapter can tell; 0: they are."""

    mode: Mode = "uncaught"
    types: tuple[str, ...] = ()
    once_until: int = 0


def check_choice(behaviour: AdapterBehaviour, adapter: str, choice: ExceptionChoice) -> None:
    """Raise ToolError `action_not_supported` for a mode or for types that an adapter has not."""
    known = behaviour.exceptions.modes
    if known is not None and choice.mode != "none" and choice.mode not in known:
        modes = ", ".join(["none", *(mode for mode in MODES if mode in known)])
        raise _lacks(adapter, f"exceptions {choice.mode}", f"it has {modes}")
    if choice.types and choice.mode != "none" and behaviour.exceptions.types is None:
        raise _lacks(adapter, "exception_types", "leave them out; the answer of each stop has the type")


def _lacks(adapter: str, what: str, advice: str) -> ToolError:
    return ToolError(
        "action_not_supported",
        f"{adapter} does not offer {what}; {advice}",
        detail={"adapter": adapter, "capability": what, "action": "set_exceptions"},
    )


def panic_functions(behaviour: AdapterBehaviour, choice: ExceptionChoice, runtime: str) -> tuple[str, ...]:
    """Return the functions that a runtime calls for a panic, where the adapter has no other way to stop."""
    return behaviour.exceptions.panics.get(runtime, {}).get(choice.mode, ())


def filter_arguments(
    advertised: Mapping[str, Any], behaviour: AdapterBehaviour, choice: ExceptionChoice, root: Path
) -> dict[str, Any]:
    """Return the arguments of `setExceptionBreakpoints`. `root` is the real folder of the project."""
    filters = _filters(advertised.get(FILTERS), behaviour, choice)
    if behaviour.exceptions.types != "condition":
        return {"filters": filters}
    options = [{"filterId": name, **_condition(name, choice, root)} for name in filters]
    if not any("condition" in one for one in options):
        return {"filters": filters}
    return {"filters": [], "filterOptions": options}


def _condition(name: str, choice: ExceptionChoice, root: Path) -> dict[str, str]:
    """Return the condition of one filter. js-debug joins those of all filters by `or`: two kinds of them
    cannot be told apart."""
    if choice.types:
        return {"condition": _OF_TYPES.format(types=json.dumps(choice.types))}
    if choice.mode != "raised" or name == "uncaught":
        return {}
    roots = json.dumps([*dict.fromkeys((f"{root}/", f"{quote(str(root))}/"))])
    counted = _COUNTED.replace("MOST", str(choice.once_until)) if choice.once_until else ""
    values = {"roots": roots, "libraries": json.dumps(sorted(LIBRARIES)), "counted": counted}
    return {"condition": _OF_PROJECT.format(**values)}


def _filters(offered: Any, behaviour: AdapterBehaviour, choice: ExceptionChoice) -> list[str]:
    """Return the adapter's filters for a mode; of an unknown adapter what it sets by itself."""
    entries = offered[:MAX_FILTERS] if isinstance(offered, list) else []
    known = [one for one in entries if isinstance(one, dict) and isinstance(one.get("filter"), str)]
    if choice.mode == "none":
        return []
    if behaviour.exceptions.modes is not None:
        wanted: Sequence[str] = behaviour.exceptions.modes.get(choice.mode, ())
        return [one["filter"] for one in known if one["filter"] in wanted]
    every = choice.mode == "raised"
    return [one["filter"] for one in known if every or one.get("default") is True]
