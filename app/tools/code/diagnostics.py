"""diagnostics: what is wrong in a file, or in the files below a folder.

Owns: the order, filter and shape of what servers report, and saying what has no answer yet. Never:
waiting for a server to settle; that is the bridge's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.bridges.lsp.manager import Diagnosed, Encoding, LanguageServer
from app.errors import ToolError
from app.tools.after_edit.server_scope import WITHHELD
from app.tools.code.call import CodeCall, Named, reason_of
from app.tools.code.git_changes import git_changes
from app.tools.code.limited import limited
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.results import Diagnostic, LspResult, Related, Unanswered
from app.tools.code.shown import finished, part_of
from app.tools.code.source_list import Sources, sources_below
from app.tools.processes.foreign_text import clean, objects, one_line

MAX_FILES = 200
AT_ONCE = 8
ONE_BY_ONE = frozenset({"bash"})
"""Languages whose server forgets about a document when the next one is opened at once."""
MAX_ITEMS = 10_000
MAX_MESSAGE = 2_000
MAX_DOING = 300
MAX_RELATED = 5
MAX_UNANSWERED = 50
SEVERITIES = ("error", "warning", "information", "hint")
_TAGS = {1: "unnecessary", 2: "deprecated"}
NOT_FRESH = (
    "The server has not answered for the present content: what is listed may be out of date, and "
    "nothing listed does not mean that nothing is wrong. Ask again."
)


MESSAGES_WITHHELD = (
    "The messages are withheld: the language server reads more of the project than this agent may, as no "
    "cage here hides a part of it."
)


async def diagnostics(call: CodeCall) -> LspResult:
    """Return the diagnostics by path and position. `fresh` is false where an answer for the present
    content is missing."""
    named = await call.named()
    if named.is_directory:
        return await _of_folder(call, named)
    server = await call.server(named)
    await call.loaded(named, server)
    diagnosed = await server.diagnostics(named.relative, seconds=call.seconds_left())

    def shown() -> LspResult:
        files = Files(call, server.encoding, diagnosed.text)
        found = _wanted(call, rows(diagnosed, server.encoding, files))
        part = part_of(found, call.params)
        result = LspResult(
            path=named.shown,
            diagnostics=part,
            count=len(found),
            fresh=diagnosed.fresh,
            note=" ".join(_notes(call, server, fresh=diagnosed.fresh)) or None,
        )
        return limited(call, finished(result, found, len(part), call.params, call.context), diagnosed)

    return await call.aside(shown)


def _notes(call: CodeCall, server: LanguageServer, *, fresh: bool) -> list[str]:
    doing = one_line(server.doing, MAX_DOING)
    loading = [] if fresh or not doing or call.view.restricts else [f"It is at: {doing}."]
    return [
        *([] if fresh else [NOT_FRESH]),
        *loading,
        *([MESSAGES_WITHHELD] if call.withholds else []),
    ]


@dataclass(slots=True)
class _Gathered:
    rows: list[Diagnostic] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    errors: list[ToolError] = field(default_factory=list)
    diagnosed: list[Diagnosed] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return len(self.diagnosed)


async def _of_folder(call: CodeCall, named: Named) -> LspResult:
    sources = await sources_below(call, named)
    gathered = _Gathered()
    chosen: list[Named] = []
    for language, files in sources.by_language.items():
        try:
            await call.loaded(files[0], await call.server(files[0]))
        except ToolError as error:
            gathered.errors.append(error)
            gathered.unanswered.append(Unanswered(language=language, reason=reason_of(call, error)))
        else:
            chosen += files
    if not chosen:
        raise gathered.errors[0]
    asked = (await _changed_first(call, chosen))[:MAX_FILES]
    gate, narrow = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(1)
    async with asyncio.TaskGroup() as group:
        for one in asked:
            alone = call.project.language_of(one.relative) in ONE_BY_ONE
            group.create_task(_of_one(call, one, gathered, narrow if alone else gate))
    if not gathered.answered and gathered.errors:
        raise gathered.errors[-1]
    return await call.aside(_folder_result, call, named, sources, len(asked), len(chosen), gathered)


async def _changed_first(call: CodeCall, chosen: list[Named]) -> list[Named]:
    """Return the files with those first that differ from the last commit, then those that a server has
    open."""
    if len(chosen) <= MAX_FILES:
        return chosen
    changes = await git_changes(call)
    changed = set() if changes is None else set(changes.there)
    opened = call.project.open_paths()
    return sorted(chosen, key=lambda one: (one.relative not in changed, one.relative not in opened))


async def _of_one(call: CodeCall, named: Named, gathered: _Gathered, gate: asyncio.Semaphore) -> None:
    async with gate:
        left = call.seconds_left()
        if left <= 0:
            gathered.unanswered.append(Unanswered(path=named.shown, reason="time ran out before it"))
            return
        try:
            server = await call.server(named)
            diagnosed = await server.diagnostics(named.relative, seconds=left)
        except ToolError as error:
            gathered.errors.append(error)
            gathered.unanswered.append(Unanswered(path=named.shown, reason=reason_of(call, error)))
            return
    gathered.diagnosed.append(diagnosed)
    if not diagnosed.fresh:
        reason = "no answer for the present content in time"
        gathered.unanswered.append(Unanswered(path=named.shown, reason=reason))

    def taken() -> list[Diagnostic]:
        files = Files(call, server.encoding, diagnosed.text)
        found = _wanted(call, rows(diagnosed, server.encoding, files))
        return [one.model_copy(update={"path": named.shown}) for one in found]

    gathered.rows += await call.aside(taken)


def _folder_result(
    call: CodeCall, named: Named, sources: Sources, asked: int, known: int, gathered: _Gathered
) -> LspResult:
    """Blocking."""
    found = sorted(gathered.rows, key=lambda one: (one.path or "", one.line, one.character))
    part = part_of(found, call.params)
    unanswered = sorted(gathered.unanswered, key=lambda one: (one.path or "", one.language or ""))
    notes = [NOT_FRESH.replace("The server has", "A server has")] if unanswered else []
    if len(unanswered) > MAX_UNANSWERED:
        notes.append(f"{len(unanswered) - MAX_UNANSWERED} more files than not_fresh lists have no answer.")
    if asked < known:
        notes.append(
            f"Only {asked} of {known} files were looked at, changed ones first; name a smaller folder for "
            "the others. check_changes reports the new errors of all changed files."
        )
    if not sources.complete:
        notes.append("The list of files is not complete; name a smaller folder.")
    if sources.left_out:
        names = ", ".join(sources.left_out)
        notes.append(f"Files in these languages are there too, and were not looked at: {names}.")
    notes += [MESSAGES_WITHHELD] if call.withholds else []
    result = LspResult(
        path=named.shown,
        diagnostics=part,
        count=len(found),
        files=asked,
        fresh=not unanswered,
        not_fresh=unanswered[:MAX_UNANSWERED] or None,
        truncated=True if asked < known or not sources.complete else None,
        note=" ".join(notes) or None,
    )
    return limited(call, finished(result, found, len(part), call.params, call.context), *gathered.diagnosed)


def _wanted(call: CodeCall, found: list[Diagnostic]) -> list[Diagnostic]:
    severity = call.params.severity
    if call.withholds:
        found = [one.model_copy(update={"message": WITHHELD, "related": None}) for one in found]
    return found if severity == "all" else [one for one in found if one.severity == severity]


def errors_shown(call: CodeCall, diagnosed: Diagnosed, encoding: Encoding, files: Files) -> list[Diagnostic]:
    """Return the errors of one file by position, as the caller may read them. Blocking."""
    return _wanted(call, [one for one in rows(diagnosed, encoding, files) if one.severity == "error"])


def rows(diagnosed: Diagnosed, encoding: Encoding, files: Files) -> list[Diagnostic]:
    """Return what a server reported for one file, by position. Blocking."""
    found = [
        row
        for one in objects(list(diagnosed.items))[:MAX_ITEMS]
        if (row := _row(one, diagnosed, encoding, files)) is not None
    ]
    return sorted(found, key=lambda one: (one.line, one.character, SEVERITIES.index(one.severity)))


def _row(one: Mapping[str, Any], diagnosed: Diagnosed, encoding: Encoding, files: Files) -> Diagnostic | None:
    start, end = start_of(one.get("range")), end_of(one.get("range"))
    message = _message(one.get("message"))
    if line_of(start) is None or line_of(end) is None or not message:
        return None
    lines = diagnosed.text.lines
    (line, column), (end_line, end_column) = (lines.from_server(each, encoding) for each in (start, end))
    source = one_line(one.get("source"), 100) or None
    tags = one.get("tags")
    return Diagnostic(
        line=line + 1,
        character=column,
        end_line=end_line + 1,
        end_character=end_column,
        severity=_severity(one.get("severity")),
        message=message,
        code=_code(one.get("code"), source),
        source=source,
        tags=[_TAGS[tag] for tag in tags if tag in (1, 2)] or None if isinstance(tags, list) else None,
        related=_related(one.get("relatedInformation"), files) or None,
    )


def _severity(value: Any) -> str:
    """A diagnostic without a severity is an error: better looked at than missed."""
    return SEVERITIES[value - 1] if type(value) is int and 1 <= value <= 4 else "error"


def _message(value: Any) -> str:
    text = value.get("value") if isinstance(value, Mapping) else value
    return clean(text, MAX_MESSAGE)


def _code(value: Any, source: str | None) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("value")
    if type(value) is int:
        return f"ts({value})" if source in {"typescript", "ts"} else str(value)
    return one_line(value, 100) or None


def _related(given: Any, files: Files) -> list[Related]:
    found = []
    for one in objects(given)[:MAX_RELATED]:
        location = one.get("location")
        if not isinstance(location, Mapping):
            continue
        place = files.place(location.get("uri"), start_of(location.get("range")))
        if place is None:
            continue
        message = None if place.outside_cage else one_line(one.get("message"), MAX_MESSAGE) or None
        found.append(
            Related(path=place.path, line=place.line, message=message, outside_cage=place.outside_cage)
        )
    return found
