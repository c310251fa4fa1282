"""Stops at exceptions that an agent did not ask for: the program continues, and no answer shows them.

Owns: telling these stops from the others. Never: letting the program go on; nor any stop but at exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.exceptions import LIBRARIES, ExceptionChoice
from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal

_OF_PYTHON = (
    "(lambda walk: ([one.__name__ for one in __exception__[0].__mro__] + "
    "[one.__module__ + '.' + one.__name__ for one in __exception__[0].__mro__], "
    "walk(walk, __exception__[2].tb_next)))"
    "(lambda walk, at: at is not None and ((at.tb_frame.f_code.co_filename.startswith({root!r}) and not "
    "any(one in {libraries!r} for one in at.tb_frame.f_code.co_filename.split('/'))) or "
    "walk(walk, at.tb_next)))"
)
"""For debugpy: the names of an exception's classes, and whether it was a stop already, in code of the project
that it comes from."""


def is_of_project(path: Any, root: Path) -> bool:
    """Tell whether a file is of the project's own code."""
    if not isinstance(path, str) or not path.startswith(f"{root}/"):
        return False
    return LIBRARIES.isdisjoint(path[len(str(root)) :].split("/"))


class ExceptionScreen:
    """The screen of one session. `choice` returns what the agent has chosen by now."""

    def __init__(
        self,
        behaviour: AdapterBehaviour,
        root: Path,
        choice: Callable[[], ExceptionChoice],
        seconds: float,
    ) -> None:
        self._behaviour = behaviour
        self._root = root
        self._choice = choice
        self._seconds = seconds

    async def passes_by(self, link: Link, frame: dict[str, Any] | None) -> bool:
        """Tell whether the program is to go on from an exception, at which it stands in `frame`. Raises
        PeerClosed."""
        choice = self._choice()
        if choice.mode == "none":
            return True
        if self._behaviour.exceptions.types != "frame" or frame is None:
            return False
        if choice.mode != "raised" and not choice.types:
            return False
        source = frame.get("source")
        path = source.get("path") if isinstance(source, dict) else None
        if choice.mode == "raised" and not is_of_project(path, self._root):
            return True
        return await self._is_another(link, frame, choice)

    async def _is_another(self, link: Link, frame: dict[str, Any], choice: ExceptionChoice) -> bool:
        expression = _OF_PYTHON.format(root=f"{self._root}/", libraries=tuple(sorted(LIBRARIES)))
        arguments = {"expression": expression, "frameId": frame["id"], "context": "repl"}
        try:
            answer = await link.ask("evaluate", arguments, self._seconds)
            names, was_a_stop = ast.literal_eval(str(answer.get("result")))
        except (AdapterRefusal, TimeoutError, ValueError, SyntaxError, TypeError, RecursionError):
            return False
        if choice.mode == "raised" and was_a_stop is True:
            return True
        return bool(choice.types) and set(choice.types).isdisjoint(names)
