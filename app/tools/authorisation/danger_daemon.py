"""Commands that name the daemon's own folder, which holds the operator's token, or decide for the operator.

Owns: these judgements, by the text of a command with its known variables. Never: access of a running program
(the sandbox).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import BaseModel

from app.observability import names_secret
from app.tools.authorisation.shell_script import Part, Word
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.workspace import below, may_read_scratch
from app.workspace.own_places import WORKSPACES_FOLDER, clone_around

LONG_COMMAND = 2_000
_HOME = re.compile(r"(?<![\w/.-])(?:~|\$HOME|\$\{HOME\})(?=/)")
_ENTERS = re.compile(r"(?:(?<![^\s;&|(])(?:cd|pushd)|\s-C)\s+([^\s;&|()<>-][^\s;&|()<>]*)")
MAX_ENTERED = 8
_EXPANDED = frozenset("*?[{$`")
_QUOTES = re.compile(r"[\"'\\]")
_PATH = re.compile(r"(?<![\w.~/-])/[^\s;|&<>()`,:=*?\[\]{}$]*")


class DaemonWatchdog:
    """Denies commands that name `data_dir` or something in it. The agent's own files in the session's scratch
    folder are allowed, since answers name them; so is a project in that folder, or the clone that it is in.
    `home` is the value of `~`.
    """

    def __init__(self, data_dir: Path, *, home: Path) -> None:
        self._closed = tuple(dict.fromkeys((os.path.abspath(data_dir), os.path.realpath(data_dir))))
        self._data = (data_dir,)
        self._home = str(home)

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        folder = os.path.join(context.project_root, effects.directory)
        project = clone_around(context.project_root, self._data) or context.project_root
        place = _Place(folder, str(project), context.scratch_dir, context.agent_path)
        known = (("KAGED_WORKSPACE", str(context.project_root)), *effects.environment)
        for command in effects.commands:
            texts = dict.fromkeys((command, filled_in(command, known)))
            if sum(map(len, texts)) > LONG_COMMAND:
                named = await asyncio.to_thread(
                    lambda texts: [self._names(one, place) for one in texts], texts
                )
            else:
                named = [self._names(one, place) for one in texts]
            if any(named):
                reason = f"`{command[:200]}`: it reaches into the daemon's own files, with its access token"
                return Verdict("deny", reason, (command,))
        return ALLOW

    def _names(self, command: str, place: _Place) -> bool:
        text = _HOME.sub(lambda _: self._home, _QUOTES.sub("", command))
        if any(self._is_closed(_normal(match[0]), place) for match in _PATH.finditer(text)):
            return True
        words = dict.fromkeys(word for word in text.split() if "/" in word or word == "..")
        if not any(_is_in(place.project, closed) for closed in self._closed):
            return any(self._is_closed(_normal(f"{place.folder}/{word}"), place) for word in words)
        folders = [place.folder, *_entered(text, place)]
        return any(self._climbs_out(word, folders, place) for word in words)

    def _climbs_out(self, word: str, folders: Sequence[str], place: _Place) -> bool:
        """Tell whether a relative path leads out of a workspace, from wherever the command may be. What is
        not there is no file of the daemon: links are made with paths from where they lie."""
        paths = [_normal(f"{folder}/{word}") for folder in folders]
        if not all(self._is_closed(path, place) for path in paths):
            return False
        beside = all(
            any(_is_in(path, f"{one}/{WORKSPACES_FOLDER}") for one in self._closed) for path in paths
        )
        return not beside or not _EXPANDED.isdisjoint(word) or any(map(os.path.lexists, paths))

    def _is_closed(self, path: str, place: _Place) -> bool:
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


def _normal(path: str) -> str:
    return os.path.normpath("/" + path.lstrip("/"))


def _entered(text: str, place: _Place) -> list[str]:
    """Return the folders of the project that a command enters by `cd` and the like, also one after the other:
    a relative path from such a folder may stay in the project."""
    found, last = dict[str, None](), place.folder
    for match in islice(_ENTERS.finditer(text), MAX_ENTERED):
        for base in (place.folder, last):
            folder = os.path.normpath(os.path.join(base, match[1]))
            if _is_in(folder, place.project):
                found[folder], last = None, folder
    return list(found)


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
