"""What servers find in all files of a folder at once, where these are too many to ask about one by one.

Owns: which files such an answer covers, and the folders of those that nobody has looked at. Never: getting
the answer; that is the bridge's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.bridges.lsp.manager import Diagnosed, LanguageServer, OpenText, ProjectReport
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, reason_of, shown_path
from app.tools.code.file_lines import lines_or_none
from app.tools.code.left_out import beside_the_build
from app.tools.code.results import NotLookedAt, Unanswered

REPORT_SECONDS = 20.0
"""How long a server may take for its answer about the project, as part of the time of the call."""
MAX_FOLDERS = 20
NOT_FINISHED = "no whole answer about the project in time"
CHANGED = "files have changed during the answer about the project"


@dataclass(slots=True)
class WholeAnswer:
    """`diagnosed` has the files in which something was found, with their servers. Of the files `settled` this
    is all; `unanswered` says why it is not for others."""

    diagnosed: list[tuple[Named, LanguageServer, Diagnosed]] = field(default_factory=list)
    settled: set[str] = field(default_factory=set)
    unanswered: list[Unanswered] = field(default_factory=list)


async def whole_project(call: CodeCall, chosen: Sequence[Named]) -> WholeAnswer:
    """Return what servers find in these files by themselves."""
    found = WholeAnswer()
    groups: dict[LanguageServer, list[Named]] = {}
    for one in chosen:
        try:
            groups.setdefault(await call.server(one), []).append(one)
        except ToolError:
            continue  # asking about the file tells why
    for server, files in groups.items():
        seconds = min(REPORT_SECONDS, call.seconds_left())
        try:
            report = await server.project_diagnostics(files[0].relative, seconds=seconds)
        except ToolError as error:
            found.unanswered.append(Unanswered(language=server.language, reason=reason_of(call, error)))
            continue
        await call.aside(_take, call, server, files, report, found)
    return found


def _take(
    call: CodeCall, server: LanguageServer, files: Sequence[Named], report: ProjectReport, found: WholeAnswer
) -> None:
    """Blocking."""
    names = [one.relative for one in files]
    whole = report.finished and report.fresh
    if report.way == "reported":
        settled = set(report.files) if whole else set()
        if not whole:
            reason = CHANGED if report.finished else NOT_FINISHED
            found.unanswered.append(Unanswered(language=server.language, reason=reason))
    elif whole and server.language == "go":
        settled = set(names) - beside_the_build(server.project_root, names) - report.unknown
    else:
        settled = set()
    found.settled.update(settled.intersection(names))
    for one in files:
        items = report.items(one.relative)
        if not items:
            continue
        lines = lines_or_none(call.tooling.lines, call.workspace, one.shown)
        if lines is None:
            found.settled.discard(one.relative)
            continue
        text = OpenText(one.relative, "", 0, lines.text, lines)
        found.diagnosed.append((one, server, Diagnosed(items, one.relative in settled, text)))


def folders_of(named: Named, left: Iterable[Named], reason: str) -> list[NotLookedAt]:
    """Return how many of these files are in which folder; in folders above these where there are many."""
    parts = [one.parts[:-1] for one in left]
    depth = max(map(len, parts), default=0)
    while depth > len(named.parts) and len({one[:depth] for one in parts}) > MAX_FOLDERS:
        depth -= 1
    counted = Counter(one[:depth] for one in parts)
    return [
        NotLookedAt(path=shown_path(folder), files=count, reason=reason)
        for folder, count in sorted(counted.items())
    ]
