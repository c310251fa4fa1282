"""At which exceptions a program stops: what an agent chose, in the words of each adapter.

Owns: the modes, which of them an adapter has, and the requests that set them. Never: which stops pass by
(`exception_screen`), or what an exception says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from app.bridges.dap.adapter_entry import AdapterBehaviour
from app.bridges.dap.capabilities import FILTERS
from app.errors import ToolError

Mode = Literal["none", "uncaught", "user", "raised"]
MODES: tuple[Mode, ...] = get_args(Mode)
MAX_FILTERS = 100
_OF_TYPES = (
    "(types => {{ for (let at = error; at != null; at = Object.getPrototypeOf(at)) "
    "if (types.includes(at.constructor?.name)) return true; return false; }})({types})"
)
"""For js-debug: that an error is of one of these classes, or of one that is derived from them."""


@dataclass(frozen=True, slots=True)
class ExceptionChoice:
    """`none`: the program never stops at an exception. `uncaught`: at one that ends it. `user`: also at one
    that leaves the project's code for a library that catches it. `raised`: at each that comes to the
    project's code. `types` are names of classes; empty: all."""

    mode: Mode = "uncaught"
    types: tuple[str, ...] = ()


def check_choice(behaviour: AdapterBehaviour, adapter: str, choice: ExceptionChoice) -> None:
    """Raise ToolError `action_not_supported` for a mode or for types that an adapter has not."""
    known = behaviour.exception_modes
    if known is not None and choice.mode != "none" and choice.mode not in known:
        modes = ", ".join(["none", *(mode for mode in MODES if mode in known)])
        raise _lacks(adapter, f"exceptions {choice.mode}", f"it has {modes}")
    if choice.types and choice.mode != "none" and behaviour.exception_types is None:
        raise _lacks(adapter, "exception_types", "leave them out; the answer of each stop has the type")


def _lacks(adapter: str, what: str, advice: str) -> ToolError:
    return ToolError(
        "action_not_supported",
        f"{adapter} does not offer {what}; {advice}",
        detail={"adapter": adapter, "capability": what, "action": "set_exceptions"},
    )


def panic_functions(behaviour: AdapterBehaviour, choice: ExceptionChoice, runtime: str) -> tuple[str, ...]:
    """Return the functions that a runtime calls for a panic, where the adapter has no other way to stop."""
    return behaviour.panics.get(runtime, {}).get(choice.mode, ())


def filter_arguments(
    advertised: Mapping[str, Any], behaviour: AdapterBehaviour, choice: ExceptionChoice
) -> dict[str, Any]:
    """Return the arguments of `setExceptionBreakpoints`."""
    filters = _filters(advertised.get(FILTERS), behaviour, choice)
    if not choice.types or not filters:
        return {"filters": filters}
    if behaviour.exception_types == "condition":
        condition = _OF_TYPES.format(types=json.dumps(choice.types))
        options = [{"filterId": name, "condition": condition} for name in filters]
        return {"filters": [], "filterOptions": options}
    return {"filters": filters}


def _filters(offered: Any, behaviour: AdapterBehaviour, choice: ExceptionChoice) -> list[str]:
    """Return the adapter's filters for a mode; of an unknown adapter what it sets by itself."""
    entries = offered[:MAX_FILTERS] if isinstance(offered, list) else []
    known = [one for one in entries if isinstance(one, dict) and isinstance(one.get("filter"), str)]
    if choice.mode == "none":
        return []
    if behaviour.exception_modes is not None:
        wanted: Sequence[str] = behaviour.exception_modes.get(choice.mode, ())
        return [one["filter"] for one in known if one["filter"] in wanted]
    every = choice.mode == "raised"
    return [one["filter"] for one in known if every or one.get("default") is True]
