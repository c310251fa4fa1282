"""Commands that name the daemon's own folder, which holds the operator's token, or that decide in its place.

Owns: these judgements, by the text of a command. Never: keeping a program from opening the folder once it
runs; that is the sandbox's.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from app.tools.authorisation.known_variables import filled_in
from app.tools.authorisation.shell_script import Part, Word
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.workspace import below, may_read_scratch

LONG_COMMAND = 2_000
_HOME = re.compile(r"(?<![\w/.-])(?:~|\$HOME|\$\{HOME\})(?=/)")
_QUOTES = re.compile(r"[\"'\\]")
_PATH = re.compile(r"(?<![\w.~/-])/[^\s;|&<>()`,:=*?\[\]{}$]*")


class DaemonWatchdog:
    """Refuses commands that name `data_dir`, by whichever of its names, or something in it.

    The agent's own files in the session's scratch folder may be named, since answers name them; so may a
    project that lies in the folder. `home` is what `~` stands for in commands.
    """

    def __init__(self, data_dir: Path, *, home: Path) -> None:
        self._closed = tuple(dict.fromkeys((os.path.abspath(data_dir), os.path.realpath(data_dir))))
        self._home = str(home)

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        folder = os.path.join(context.project_root, effects.directory)
        place = _Place(folder, str(context.project_root), context.scratch_dir, context.agent_path)
        for command in effects.commands:
            both = f"{command}\n{filled_in(command, effects.environment)}"
            if len(both) > LONG_COMMAND:
                named = await asyncio.to_thread(self._names, both, place)
            else:
                named = self._names(both, place)
            if named:
                reason = f"`{command[:200]}`: it reaches into the daemon's own files, with its access token"
                return Verdict("deny", reason, (command,))
        return ALLOW

    def _names(self, command: str, place: _Place) -> bool:
        for path in _paths(command, self._home, place.folder):
            for closed in self._closed:
                in_project = not _is_in(closed, place.project) and _is_in(path, place.project)
                if _is_in(path, closed) and not in_project and not place.own(path):
                    return True
        return False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a command runs, and as whom."""

    folder: str
    project: str
    scratch: Path
    agent_path: str

    def own(self, path: str) -> bool:
        """Tell whether it is a scratch file of the agent, or of one below it."""
        parts = below(self.scratch, tuple(path.split("/")[1:]))
        return parts is not None and may_read_scratch(parts, self.agent_path)


def _paths(command: str, home: str, folder: str) -> list[str]:
    """Return what looks like a path in a command, whole and normal. Takes time in proportion to it."""
    text = _HOME.sub(lambda _: home, _QUOTES.sub("", command))
    absolute = (match[0] for match in _PATH.finditer(text))
    relative = (f"{folder}/{word}" for word in text.split() if "/" in word or word == "..")
    return [os.path.normpath("/" + path.lstrip("/")) for path in (*absolute, *relative)]


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


_PYTHON = re.compile(r"python[0-9.]*")
_MODULES = ("app", "app.__main__")


def judge_trust(part: Part) -> Verdict | None:
    """Deny `kaged trust`, also where it is not certain what `kaged` is told."""
    words = _told(part)
    operand = next((word for word in words if not (word.is_certain and word.text.startswith("-"))), None)
    if operand is None or (operand.is_certain and operand.text != "trust"):
        return None
    reason = f"`{part.text[:200]}`: only an operator decides whether a project may act"
    return Verdict("deny", reason, (part.text,))


def _told(part: Part) -> tuple[Word, ...]:
    """The words that the command `kaged` is given by this part; none when it is another command."""
    if part.name == "kaged":
        return part.words[1:]
    if _PYTHON.fullmatch(part.name):
        texts = [word.text for word in part.words]
        for index in range(1, len(texts) - 1):
            if texts[index] == "-m" and texts[index + 1] in _MODULES:
                return part.words[index + 2 :]
    return ()
