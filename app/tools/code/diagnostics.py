"""diagnostics: what is wrong in a file, or in the files below a folder.

Owns: the order, filter and shape of what servers report, and saying what has no answer yet. Never:
waiting for a server to settle; that is the bridge's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from app.bridges.lsp.manager import Diagnosed, LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, reason_of
from app.tools.code.diagnostic_rows import rows, wanted
from app.tools.code.git_changes import git_changes
from app.tools.code.limited import limited
from app.tools.code.places import Files
from app.tools.code.results import Diagnostic, LspResult, Unanswered
from app.tools.code.shown import finished, part_of
from app.tools.code.source_list import Sources, sources_below
from app.tools.code.whole_project import folders_of, whole_project
from app.tools.processes.foreign_text import one_line

MAX_FILES = 200
"""How many files are asked about one by one in any case."""
MOST_FILES = 2_000
SECONDS_FOR_OTHERS = 10.0
"""Files beyond these are asked about while a call has more time left than this."""
TOO_MANY = "too many files for one call"
AT_ONCE = 8
ONE_BY_ONE = frozenset({"bash"})
"""Languages whose server forgets about a document when the next one is opened at once."""
MAX_DOING = 300
MAX_UNANSWERED = 50
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
        found = wanted(call, rows(diagnosed, server.encoding, files))
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
    """`wrong` counts files with an error, `looked_at` all that were looked at; `left` are the others."""

    rows: list[Diagnostic] = field(default_factory=list)
    unanswered: list[Unanswered] = field(default_factory=list)
    errors: list[ToolError] = field(default_factory=list)
    diagnosed: list[Diagnosed] = field(default_factory=list)
    left: list[Named] = field(default_factory=list)
    unasked: bool = False
    wrong: int = 0
    looked_at: int = 0

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
    ordered = await _changed_first(call, chosen)
    await _ask(call, ordered[:MAX_FILES], gathered)
    if not gathered.answered and gathered.errors:
        raise gathered.errors[-1]
    if rest := ordered[MAX_FILES:]:
        await _of_rest(call, rest, gathered)
    return await call.aside(_folder_result, call, named, sources, len(chosen), gathered)


async def _of_rest(call: CodeCall, rest: list[Named], gathered: _Gathered) -> None:
    """Look at more files than are asked about in any case: as servers do of their own, and one by one while
    there is time."""
    answer = await whole_project(call, rest)
    gathered.looked_at += len(answer.settled)
    open_ones = [one for one in rest if one.relative not in answer.settled]
    await _ask(call, open_ones[:MOST_FILES], gathered, until=SECONDS_FOR_OTHERS)
    gathered.left += open_ones[MOST_FILES:]
    left = {one.relative for one in gathered.left}
    languages = {call.project.language_of(name) for name in left}
    gathered.unanswered += [one for one in answer.unanswered if one.language in languages]
    for named, server, diagnosed in answer.diagnosed:
        if named.relative in answer.settled or named.relative in left:
            gathered.unasked = gathered.unasked or named.relative in left
            await _take(call, named, server, diagnosed, gathered)


async def _ask(call: CodeCall, files: list[Named], gathered: _Gathered, *, until: float = 0.0) -> None:
    """Ask about each file; where `until` is set, as long as the call has so many seconds left."""
    gate, narrow = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(1)
    async with asyncio.TaskGroup() as group:
        for one in files:
            alone = call.project.language_of(one.relative) in ONE_BY_ONE
            group.create_task(_of_one(call, one, gathered, narrow if alone else gate, until))


async def _changed_first(call: CodeCall, chosen: list[Named]) -> list[Named]:
    """Return the files with those first that differ from the last commit, then those that a server has
    open."""
    if len(chosen) <= MAX_FILES:
        return chosen
    changes = await git_changes(call)
    changed = set() if changes is None else set(changes.there)
    opened = call.project.open_paths()
    return sorted(chosen, key=lambda one: (one.relative not in changed, one.relative not in opened))


async def _of_one(
    call: CodeCall, named: Named, gathered: _Gathered, gate: asyncio.Semaphore, until: float
) -> None:
    async with gate:
        left = call.seconds_left()
        if until and left <= until:
            gathered.left.append(named)
            return
        gathered.looked_at += 1
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
    if not diagnosed.fresh:
        reason = "no answer for the present content in time"
        gathered.unanswered.append(Unanswered(path=named.shown, reason=reason))
    await _take(call, named, server, diagnosed, gathered)


async def _take(
    call: CodeCall, named: Named, server: LanguageServer, diagnosed: Diagnosed, gathered: _Gathered
) -> None:
    def taken() -> tuple[list[Diagnostic], bool]:
        files = Files(call, server.encoding, diagnosed.text)
        every = rows(diagnosed, server.encoding, files)
        found = [one.model_copy(update={"path": named.shown}) for one in wanted(call, every)]
        return found, any(one.severity == "error" for one in every)

    found, wrong = await call.aside(taken)
    gathered.diagnosed.append(diagnosed)
    gathered.rows += found
    gathered.wrong += wrong and diagnosed.fresh


def _folder_result(
    call: CodeCall, named: Named, sources: Sources, known: int, gathered: _Gathered
) -> LspResult:
    """Blocking."""
    found = sorted(gathered.rows, key=lambda one: (one.path or "", one.line, one.character))
    part = part_of(found, call.params)
    unanswered = sorted(gathered.unanswered, key=lambda one: (one.path or "", one.language or ""))
    notes = [NOT_FRESH.replace("The server has", "A server has")] if unanswered else []
    if len(unanswered) > MAX_UNANSWERED:
        notes.append(f"{len(unanswered) - MAX_UNANSWERED} more files than not_fresh lists have no answer.")
    if gathered.left:
        notes.append(
            f"Only {gathered.looked_at} of {known} files were looked at, changed ones first; name a "
            "smaller folder for the others (not_looked_at). check_changes reports the new errors of all "
            "changed files."
        )
    if gathered.unasked:
        notes.append("What is listed in files that were not looked at is what a server published unasked.")
    if not sources.complete:
        notes.append("The list of files is not complete; name a smaller folder.")
    if sources.left_out:
        names = ", ".join(sources.left_out)
        notes.append(f"Files in these languages are there too, and were not looked at: {names}.")
    notes += [MESSAGES_WITHHELD] if call.withholds else []
    whole = not gathered.left and sources.complete and not sources.left_out
    known_clean = whole and not unanswered and call.problem() is None
    result = LspResult(
        path=named.shown,
        diagnostics=part,
        count=len(found),
        files=gathered.looked_at,
        clean=False if gathered.wrong else True if known_clean else None,
        fresh=not unanswered,
        not_fresh=unanswered[:MAX_UNANSWERED] or None,
        not_looked_at=folders_of(named, gathered.left, TOO_MANY) or None,
        truncated=None if not gathered.left and sources.complete else True,
        note=" ".join(notes) or None,
    )
    return limited(call, finished(result, found, len(part), call.params, call.context), *gathered.diagnosed)
