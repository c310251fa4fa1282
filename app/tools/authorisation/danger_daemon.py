"""Commands that name the daemon's own folder, which holds the token that speaks for the operator.

Owns: that judgement, by the text of a command. Never: keeping a program from opening the folder once it
runs; that is the sandbox's.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from pydantic import BaseModel

from app.tools.authorisation.known_variables import filled_in
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.call import ToolCallContext
from app.tools.definition import ToolDefinition

LONG_COMMAND = 2_000
_HOME = re.compile(r"(?<![\w/.-])(?:~|\$HOME|\$\{HOME\})(?=/)")
_QUOTES = re.compile(r"[\"'\\]")
_PATH = re.compile(r"(?<![\w.~/-])/[^\s;|&<>()`,:=*?\[\]{}$]*")


class DaemonWatchdog:
    """Refuses commands that name `data_dir`, by whichever of its names, or something in it.

    The session's scratch folder may be named, since answers name files there; so may a project that
    lies in the folder. `home` is what `~` stands for in commands.
    """

    def __init__(self, data_dir: Path, *, home: Path) -> None:
        self._closed = tuple(dict.fromkeys((os.path.abspath(data_dir), os.path.realpath(data_dir))))
        self._home = str(home)

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        folder = os.path.join(context.project_root, effects.directory)
        free = [str(path) for path in (context.scratch_dir, context.project_root)]
        for command in effects.commands:
            both = f"{command}\n{filled_in(command, effects.environment)}"
            if len(both) > LONG_COMMAND:
                named = await asyncio.to_thread(self._names, both, folder, free)
            else:
                named = self._names(both, folder, free)
            if named:
                reason = f"`{command[:200]}`: it reaches into the daemon's own files, with its access token"
                return Verdict("deny", reason, (command,))
        return ALLOW

    def _names(self, command: str, folder: str, free: list[str]) -> bool:
        for path in _paths(command, self._home, folder):
            for closed in self._closed:
                opened = (one for one in free if not _is_in(closed, one))
                if _is_in(path, closed) and not any(_is_in(path, one) for one in opened):
                    return True
        return False


def _paths(command: str, home: str, folder: str) -> list[str]:
    """Return what looks like a path in a command, whole and normal. Takes time in proportion to it."""
    text = _HOME.sub(lambda _: home, _QUOTES.sub("", command))
    absolute = (match[0] for match in _PATH.finditer(text))
    relative = (f"{folder}/{word}" for word in text.split() if "/" in word or word == "..")
    return [os.path.normpath("/" + path.lstrip("/")) for path in (*absolute, *relative)]


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
