"""A command line that names a program, taken apart as a debugger starts it.

Owns: which runtime it is for, and what is script, module and arguments. Never: a shell, whose signs are
words here.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from app.tools.debug.project_test import Runner
from app.tools.debug.runner_command import NODE_VALUES, read_runner
from app.tools.debug.wrong_parameter import wrong

_PYTHON = re.compile(r"python[\d.]*")
_BY_WORD = {
    "node": "node",
    "nodejs": "node",
    "bun": "bun",
    "ruby": "ruby",
    "bash": "bash",
    "sh": "bash",
    "perl": "perl",
}
_CODE = frozenset({"-c", "-e", "-p", "--eval", "--print", "-m"})
"""Options that name something else to run than a file."""
_WITH_VALUE = frozenset({"-X", "-W", *NODE_VALUES})
_MODULES = frozenset({"pytest", "unittest"})
_EXAMPLE = (
    "give `python app.py`, `python -m package`, `node app.js`, `node --test a.test.js`, `npx jest`, "
    "`go run ./pkg`, `./program`, or a test"
)


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """`script` is the file as the caller wrote it; None where a module runs, or a `runner` of Node's tests
    that the project has."""

    runtime: str
    script: str | None
    args: tuple[str, ...] = ()
    module: str | None = None
    options: tuple[str, ...] = ()
    runner: Runner | None = None


def read_command(text: str, runtime: str | None) -> ProgramCommand:
    """Take a command apart; `runtime` is that of a built program. Raises ToolError `invalid_params`."""
    try:
        words = shlex.split(text)
    except ValueError as problem:
        raise wrong("command", f"cannot be read: {problem}") from None
    if not words:
        raise wrong("command", f"is empty; {_EXAMPLE}")
    first, rest = words[0], words[1:]
    name = first.rpartition("/")[2]
    tests = read_runner(words)
    if tests is not None:
        return ProgramCommand("node", tests.script, tests.args, options=tests.options, runner=tests.runner)
    if first in _MODULES:
        return ProgramCommand("python", None, tuple(rest), module=first)
    if name == "go" and rest[:1] == ["run"] and len(rest) > 1:
        return ProgramCommand("go", rest[1], tuple(rest[2:]))
    known = "python" if _PYTHON.fullmatch(name) else _BY_WORD.get(name)
    if known is None:
        if "/" not in first:
            raise wrong("command", f"starts {first}, which no debugger here starts; {_EXAMPLE}")
        return ProgramCommand(runtime or "cpp", first, tuple(rest))
    if known == "python" and rest[:1] == ["-m"] and len(rest) > 1:
        return ProgramCommand(known, None, tuple(rest[2:]), module=rest[1])
    at = _script_place(rest)
    if at is None:
        raise wrong("command", f"names no file; {_EXAMPLE}")
    return ProgramCommand(known, rest[at], tuple(rest[at + 1 :]), options=tuple(rest[:at]))


def _script_place(words: list[str]) -> int | None:
    """Return which word after an interpreter's name is the file that it runs."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] in _CODE:
            return None
        at += 2 if words[at] in _WITH_VALUE else 1
    return at if at < len(words) else None
