"""A rename shown to the language servers before it is written, and the errors that it would leave.

Owns: asking the servers, and telling new errors from older ones. Never: writing, or the refusal
(`left_errors`). A server that does not answer in time stops nothing, and the answer says so.

Servers rename a symbol, not what has to have the same name: the method of a class that implements a protocol
without naming it, an override, what a base class of a library calls.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

from app.bridges.lsp.manager import Diagnosed, LanguageServer
from app.errors import ToolError
from app.tools.after_edit.known_errors import Rows, error_rows, new_errors
from app.tools.code.concerned import Renaming, by_server, concerned
from app.tools.code.edits import Checked, new_contents
from app.tools.code.left_errors import refuse_errors

SECONDS = 15.0
"""How long the servers may take to find the errors of the new contents, and as long for those of the old. On
a busy machine they need it: in a third of that time they left renames of families unchecked."""
AT_ONCE = 2
MAX_CHANGED = 100
MAX_FILES = 40
_TOO_MANY = f"The rename changes more than {MAX_CHANGED} files: it was not checked for new errors."
_NOT_ONLY_TEXTS = "The rename creates, moves or deletes files: it was not checked for new errors."
_NOT_CHECKED = "The rename was not checked for new errors: the language server gave no answer in time."
_IN_PART = "New errors were looked for in {} of the {} files that the rename can concern."
_IN_SOME = "New errors were looked for in some of the files that the rename can concern."


async def check_errors(renaming: Renaming, checked: Checked, confirmed: str) -> str | None:
    """Return what was not checked; None where all was, or where the server is not of the kind that can tell.

    Raises ToolError `rename_leaves_errors` when files would have errors that they do not have now, unless the
    caller confirms just this list. `confirmed` is the digest of another one, or empty."""
    call, server = renaming.call, renaming.server
    if not server.behaviour.previews:
        return None
    contents = await call.aside(new_contents, call, server, checked)
    if contents is None:
        return _NOT_ONLY_TEXTS
    if len(contents) > MAX_CHANGED:
        return _TOO_MANY
    contents = {
        name: text for name, text in contents.items() if call.project.language_of(name) == server.language
    }
    files, complete = await concerned(renaming, contents)
    asked = await call.aside(by_server, renaming, contents, files[:MAX_FILES])
    check = _Check(renaming, contents)
    for one, names in asked.items():
        await check.at(one, names)
    if check.found:
        await call.aside(refuse_errors, call, check.found, confirmed)
    if not check.answered:
        return _NOT_CHECKED
    if check.answered == len(files):
        return None if complete else _IN_SOME
    return _IN_SOME if call.view.restricts or not complete else _IN_PART.format(check.answered, len(files))


class _Check:
    """What the servers have found, all of them together in the time that they have: in how many files, and
    the new errors by file."""

    def __init__(self, renaming: Renaming, contents: Mapping[str, bytes]) -> None:
        self.found: dict[str, Rows] = {}
        self.answered = 0
        self._call = renaming.call
        self._contents = contents
        self._read = _as_one(renaming.position.word, renaming.new_name)
        self._until = _now() + SECONDS

    async def at(self, server: LanguageServer, names: Sequence[str]) -> None:
        """Look for new errors in the files of one server."""
        left = self._until - _now()
        if left <= 0 or not names:
            return
        try:
            after = await server.preview(self._contents, names, seconds=left)
        except ToolError:
            return
        rows = {name: await self._rows(server, diagnosed) for name, diagnosed in after.items()}
        self.answered += len(rows)
        gate = asyncio.Semaphore(AT_ONCE)

        async def compare(name: str) -> None:
            async with gate:
                before = await self._before(server, name)
            if before is None:
                self.answered -= 1
            elif new := new_errors(rows[name], before, self._read):
                self.found[name] = new

        async with asyncio.TaskGroup() as group:
            for name in rows:
                if rows[name]:
                    group.create_task(compare(name))

    async def _before(self, server: LanguageServer, name: str) -> Rows | None:
        left = max(0.0, self._until + SECONDS - _now())
        try:
            diagnosed = await server.diagnostics(name, seconds=left, hints=False)
        except ToolError:
            return None
        return await self._rows(server, diagnosed) if diagnosed.fresh else None

    async def _rows(self, server: LanguageServer, diagnosed: Diagnosed) -> Rows:
        return await self._call.aside(error_rows, diagnosed, server.encoding)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _as_one(old: str, new: str) -> Callable[[str], str]:
    """Return what makes both names the same one in a text."""
    names = re.compile(rf"(?<!\w)(?:{re.escape(old)}|{re.escape(new)})(?!\w)")
    return lambda text: names.sub("\0", text)
