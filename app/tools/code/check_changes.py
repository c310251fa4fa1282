"""check_changes: the errors that are new since the last commit, in changed files and in those that import
them.

Owns: which files are looked at, and telling new errors from older ones by a second server that has the
committed contents. Never: finding out what has changed (`git_changes`), or what an error is (`known_errors`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.bridges.lsp.manager import Diagnosed, LanguageServer
from app.errors import ToolError
from app.tools.after_edit.known_errors import Rows, error_rows, new_errors
from app.tools.code.call import CodeCall, Named, reason_of
from app.tools.code.diagnostic_rows import errors_shown
from app.tools.code.diagnostics import AT_ONCE, MAX_UNANSWERED, MESSAGES_WITHHELD, ONE_BY_ONE
from app.tools.code.git_changes import GitChanges, committed, git_changes
from app.tools.code.importers import importers, known_as
from app.tools.code.places import Files
from app.tools.code.reach import text_imports
from app.tools.code.results import Diagnostic, LspResult, Unanswered
from app.tools.code.shown import finished, part_of
from app.tools.code.source_list import DATA

MAX_CHANGED = 200
MAX_IMPORTERS = 100
BEFORE_SECONDS = 30.0
_NO_ANSWER = "no answer for the present content in time"
_OLDER = "Errors of files whose committed state could not be checked may be older."


@dataclass(slots=True)
class _Judged:
    """What a server finds in one file now, and what it found in the committed state; None where that is not
    known."""

    name: str
    server: LanguageServer
    now: Rows
    diagnosed: Diagnosed
    before: Rows | None = None


@dataclass(slots=True)
class _Found:
    judged: list[_Judged] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    looked_at: int = 0
    left_out: int = 0


async def check_changes(call: CodeCall) -> LspResult:
    """Return the new errors by path and position. `clean` says whether there are none, where that is known.
    Raises ToolError `no_commit` where there is nothing to compare with."""
    named = await call.named()
    changes = await git_changes(call)
    if changes is None:
        raise ToolError(
            "no_commit",
            "there is no git commit to compare with here; diagnostics looks at all files of a folder",
        )
    ours = await call.aside(_ours, call, named, changes)
    found = _Found()
    for names in _by_root(call, ours).values():
        await _look(call, names, changes, found)
    suspects = [one for one in found.judged if one.now]
    await _compare(call, suspects, changes)
    return await call.aside(_result, call, named, len(ours), suspects, found)


def _ours(call: CodeCall, named: Named, changes: GitChanges) -> list[str]:
    """Return what has changed below the folder, as far as the caller may read it and servers know its
    language; programs before data. Blocking."""
    below = "" if not named.parts else named.relative
    every = (*changes.there, *changes.deleted)
    return sorted(
        (
            name
            for name in every
            if (not below or name == below or name.startswith(f"{below}/"))
            and call.project.language_of(name) is not None
            and call.workspace.may_read(tuple(name.split("/")))
        ),
        key=lambda name: (call.project.language_of(name) in DATA, name),
    )


def _by_root(call: CodeCall, names: Sequence[str]) -> dict[tuple[str | None, str], list[str]]:
    found: dict[tuple[str | None, str], list[str]] = {}
    for name in names:
        found.setdefault((call.project.language_of(name), call.project.root_of(name)), []).append(name)
    return found


async def _look(call: CodeCall, names: Sequence[str], changes: GitChanges, found: _Found) -> None:
    """Have one server look at its changed files and at those that import them."""
    there = [name for name in names if name in set(changes.there)]
    first = Named(tuple(names[0].split("/")), is_directory=False)
    try:
        server = await call.server(first)
        await call.loaded(first, server)
        others = await importers(call, server, names, MAX_IMPORTERS)
    except ToolError as error:
        found.unanswered.append(
            Unanswered(language=call.project.language_of(names[0]), reason=reason_of(call, error))
        )
        return
    readable = [name for name in others if call.workspace.may_read(tuple(name.split("/")))]
    gate = asyncio.Semaphore(1 if server.language in ONE_BY_ONE else AT_ONCE)
    async with asyncio.TaskGroup() as group:
        for name in (*there[:MAX_CHANGED], *readable):
            group.create_task(_of_one(call, name, gate, found))
    found.left_out += max(0, len(there) - MAX_CHANGED)


async def _of_one(call: CodeCall, name: str, gate: asyncio.Semaphore, found: _Found) -> None:
    async with gate:
        found.looked_at += 1
        try:
            server = await call.server(Named(tuple(name.split("/")), is_directory=False))
            diagnosed = await server.diagnostics(name, seconds=call.seconds_left())
        except ToolError as error:
            found.unanswered.append(Unanswered(path=f"./{name}", reason=reason_of(call, error)))
            return
    if not diagnosed.fresh:
        found.unanswered.append(Unanswered(path=f"./{name}", reason=_NO_ANSWER))
    rows = await call.aside(error_rows, diagnosed, server.encoding)
    found.judged.append(_Judged(name, server, rows, diagnosed))


async def _compare(call: CodeCall, suspects: Sequence[_Judged], changes: GitChanges) -> None:
    """Find out which errors the committed state has in the files that have some now."""
    by_server: dict[LanguageServer, list[_Judged]] = {}
    for one in suspects:
        if one.name in changes.added:
            one.before = ()
        elif one.server.checks_open_texts:
            by_server.setdefault(one.server, []).append(one)
    for server, judged in by_server.items():
        names = [*changes.changed, *changes.deleted]
        own = [name for name in names if call.project.language_of(name) == server.language]
        own = [name for name in own if server.reading.readable.allows(tuple(name.split("/")))][:MAX_CHANGED]
        contents: Mapping[str, bytes] = {
            **await committed(call, own),
            **dict.fromkeys(_new(call, server, changes), b""),
        }
        await _judge_before(call, server, judged, contents)
        gone = known_as(server.language, changes.deleted)
        for one in judged:
            if one.before is not None and gone:
                # A server looks on disk for what is imported: in the committed state it was there.
                one.before = tuple(row for row in one.before if not text_imports(row.near, gone))


def _new(call: CodeCall, server: LanguageServer, changes: GitChanges) -> list[str]:
    return [name for name in changes.added if call.project.language_of(name) == server.language][:MAX_CHANGED]


async def _judge_before(
    call: CodeCall, server: LanguageServer, judged: Sequence[_Judged], contents: Mapping[str, bytes]
) -> None:
    try:
        async with (
            asyncio.timeout(BEFORE_SECONDS + server.load_seconds),
            call.project.server_before(judged[0].name, contents, server.reading.readable) as before,
        ):
            await before.load(judged[0].name)
            await before.open_all(list(contents))
            for one in judged:
                diagnosed = await before.diagnostics(one.name, seconds=BEFORE_SECONDS)
                if diagnosed.fresh:
                    one.before = await call.aside(error_rows, diagnosed, before.encoding)
    except (ToolError, TimeoutError):
        return  # what is not known stays None


def _result(
    call: CodeCall, named: Named, changed: int, suspects: Sequence[_Judged], found: _Found
) -> LspResult:
    """Blocking."""
    rows = sorted(
        (row for one in suspects for row in _new_rows(call, one)),
        key=lambda row: (row.path or "", row.line, row.character),
    )
    part = part_of(rows, call.params)
    fresh = not found.unanswered and not found.left_out
    older = any(one.before is None for one in suspects)
    notes = [_OLDER] if older else []
    if found.left_out:
        notes.append(f"{found.left_out} changed files were not looked at; name a smaller folder.")
    notes += [MESSAGES_WITHHELD] if call.withholds else []
    result = LspResult(
        path=named.shown,
        diagnostics=part,
        count=len(rows),
        clean=False if rows and not older else None if rows or not fresh else True,
        changed=changed,
        files=found.looked_at,
        fresh=fresh,
        not_fresh=sorted(found.unanswered, key=lambda one: one.path or "")[:MAX_UNANSWERED] or None,
        may_be_older=True if older else None,
        note=" ".join(notes) or None,
    )
    return finished(result, rows, len(part), call.params, call.context)


def _new_rows(call: CodeCall, one: _Judged) -> list[Diagnostic]:
    """Return the new errors of one file as answers have them."""
    new = new_errors(one.now, one.before or ())
    wanted = Counter((row.line, row.character, row.code) for row in new)
    chosen: list[Diagnostic] = []
    files = Files(call, one.server.encoding, one.diagnosed.text)
    for row in errors_shown(call, one.diagnosed, one.server.encoding, files):
        key = (row.line, row.character, row.code)
        if wanted[key]:
            wanted[key] -= 1
            chosen.append(row.model_copy(update={"path": f"./{one.name}"}))
    return chosen
