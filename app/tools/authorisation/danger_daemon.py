"""Commands that name the daemon's own folder, which holds the operator's token, or decide for the operator.

Owns: these judgements, by the text of a command with its known variables. Never: access of a running program
(the sandbox).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from app.observability import names_secret
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
    """Denies commands that name `data_dir` or something in it. The agent's own files in the session's scratch
    folder are allowed, since answers name them; so is a project in that folder. `home` is the value of `~`.
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
_RUN_MODULE = re.compile(r"-[A-Za-ln-z]*m(.*)", re.DOTALL)


_DECIDES = {
    ("trust",): "whether a project may act",
    ("session", "mode"): "how much a session asks",
    ("session", "plan"): "about a plan",
    ("answer",): "what an agent asks",
}
"""What only an operator decides, by the words of the command `kaged`."""


def judge_trust(part: Part) -> Verdict | None:
    """Deny what only an operator decides, also where the arguments of `kaged` are uncertain."""
    words = _words(part)
    operands = [word for word in words if not (word.is_certain and word.text.startswith("-"))]
    if not operands:
        return None
    for named, what in _DECIDES.items():
        given = operands[: len(named)]
        fits = all(not one.is_certain or one.text == name for one, name in zip(given, named, strict=False))
        if fits and (len(given) == len(named) or not given[-1].is_certain):
            return Verdict("deny", f"`{part.text[:200]}`: only an operator decides {what}", (part.text,))
    if any(word.text.partition("=")[0] == "--session-mode" for word in words):
        return Verdict("deny", f"`{part.text[:200]}`: only an operator chooses a mode", (part.text,))
    return None


def _words(part: Part) -> tuple[Word, ...]:
    """The words that the command `kaged` is given by this part; none when it is another command."""
    if part.name == "kaged":
        return part.words[1:]
    if _PYTHON.fullmatch(part.name):
        texts = [word.text for word in part.words]
        for index, text in enumerate(texts):
            option = _RUN_MODULE.fullmatch(text)
            if option is None:
                continue
            module = option[1] or "".join(texts[index + 1 : index + 2])
            if module in _MODULES:
                return part.words[index + (1 if option[1] else 2) :]
    return ()


MAX_VALUE = 4_096
MAX_PLACES = 100
_USE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_SET = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=(?:\"([^\"$`\\]*)\"|'([^']*)'|([^\s;&|()<>$`'\"\\]+))")


def filled_in(command: str, environment: Iterable[tuple[str, str]]) -> str:
    """Return the command with the variables of `environment` (name, value), and those that it sets to plain
    values, written out. Values of variables that are called secrets are not."""
    known = {name: text for name, *texts in _SET.findall(command) if (text := "".join(texts))}
    known |= {name: value[:MAX_VALUE] for name, value in environment if not names_secret(name)}

    def value(use: re.Match[str]) -> str:
        return known.get(use[1] or use[2], use[0])[:MAX_VALUE]

    return _USE.sub(value, command, count=MAX_PLACES) if known else command
