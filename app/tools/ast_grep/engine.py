"""Runs ast-grep as a child process.

Owns: its command line, with our own configuration: a repository's could load native code. Never: which files
are searched; trust in its output.
"""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Literal

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.programs import ENVIRONMENT, found_program
from app.tools.ast_grep.found import Found, Lines, read_match
from app.tools.ast_grep.languages import LanguageName
from app.tools.ast_grep.pattern import Pattern, check_text, invalid_pattern, read_account

UNDERSTAND_SECONDS = 10.0
MAX_ACCOUNT = 4 * 1024 * 1024
BATCH_BYTES = 500_000
MEMORY = 1024 * 1024 * 1024
"""Bytes that one process may take. It holds all it will print of a file, and with each match the
whole line around it: a pattern that fits anywhere, on a file of one long line, would take all there
is."""
_CHUNK = 64 * 1024
_ENDED_WELL = frozenset({0, 1})
"""There were matches, and there were none."""

_FIELDS = ("identifier", "type_identifier", "field_identifier")
_IN_SCRIPTS = (
    *("identifier", "property_identifier", "private_property_identifier"),
    *("shorthand_property_identifier", "shorthand_property_identifier_pattern"),
)
_IDENTIFIERS: Mapping[LanguageName, tuple[str, ...]] = {
    "python": ("identifier",),
    "javascript": _IN_SCRIPTS,
    "typescript": (*_IN_SCRIPTS, "type_identifier"),
    "tsx": (*_IN_SCRIPTS, "type_identifier"),
    "go": (*_FIELDS, "package_identifier"),
    "rust": (*_FIELDS, "shorthand_field_identifier"),
    "c": _FIELDS,
    "cpp": (*_FIELDS, "namespace_identifier"),
}
"""The kinds of nodes that are names, by language: not comments, not strings."""

Ending = Literal["complete", "stopped", "timed_out"]
Take = Callable[[list[Found]], bool]
Query = tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """How a search ended: `stopped` by who took its matches. `failed` are the files, as named to
    ast-grep, on which it broke off; there may be matches in them."""

    ending: Ending = "complete"
    failed: list[str] = field(default_factory=list)


def by_pattern(pattern: Pattern, template: str | None = None) -> Query:
    """Return the options that search for `pattern`, and with `template` that say what would
    replace each match."""
    query = (f"--pattern={pattern.text}", f"--lang={pattern.language}", "--strictness=smart")
    return query if template is None else (*query, f"--rewrite={template}")


def identifiers(word: str, language: LanguageName, kinds: Sequence[str] = ()) -> Query | None:
    """Return the options that search for identifiers called exactly `word`, of these `kinds` of nodes or any;
    None for a language whose identifiers are not known."""
    kinds = kinds or _IDENTIFIERS.get(language, ())
    if not kinds:
        return None
    rule = {"regex": f"^{re.escape(word)}$", "any": [{"kind": kind} for kind in kinds]}
    whole = {"id": "identifier", "language": language, "rule": rule}
    return ("--inline-rules", json.dumps(whole))


def syntax_errors(language: LanguageName) -> Query:
    return ("--kind=ERROR", f"--lang={language}")


class AstGrep:
    def __init__(self, children: ChildStarter, environment: Mapping[str, str] = ENVIRONMENT) -> None:
        self._children = children
        self._program = found_program("ast-grep", environment)
        self._folder = Path(str(resources.files("app.tools.ast_grep")))

    def started_by(self, children: ChildStarter) -> AstGrep:
        """Return the same, with its processes started by `children`."""
        other = copy.copy(self)
        other._children = children
        return other

    async def understand(self, text: str, language: LanguageName) -> Pattern:
        """Return what `text` means as a pattern. Raises ToolError `invalid_pattern`."""
        check_text(text, language)
        query = (f"--pattern={text}", f"--lang={language}", "--strictness=smart", "--debug-query=pattern")
        try:
            done = await self._children.run(
                [*self._command(query), "--stdin"],
                owner="ast-grep",
                cwd=self._folder,
                env=ENVIRONMENT,
                seconds=UNDERSTAND_SECONDS,
                max_output=MAX_ACCOUNT,
            )
        except SpawnFailed as problem:
            raise not_startable("ast-grep", problem) from None
        account = done.stderr.decode("utf-8", "replace")
        if done.timed_out or done.truncated:
            raise invalid_pattern(text, language, "it takes too long to understand")
        if done.exit_code not in _ENDED_WELL or "Debug Pattern:" not in account:
            raise invalid_pattern(text, language, _reason(account))
        _, _, pattern = account.partition("Debug Pattern:\n")
        return read_account(text, language, pattern.partition("\n\n")[0])

    async def search(
        self, folder: int | Path, names: Sequence[str], query: Query, *, deadline: float, take: Take
    ) -> Outcome:
        """Search the files `names` below `folder`, a path or a descriptor, and pass matches to `take` until
        it returns False or the event loop's clock reaches `deadline`. ast-grep skips files that are not
        UTF-8. Matches of one file come in order, files in any order, each match once."""
        outcome = Outcome()
        search = _OneSearch(folder, query, deadline, take)
        pending = list(reversed(list(_batches(names))))
        while pending and outcome.ending == "complete":
            batch = pending.pop()
            ending = await self._run(search, batch)
            if ending != "failed":
                outcome.ending = ending
            elif len(batch) == 1:
                outcome.failed.append(batch[0])
            else:  # find the file that it is because of
                middle = len(batch) // 2
                pending += [batch[middle:], batch[:middle]]
        return outcome

    async def _run(self, search: _OneSearch, names: Sequence[str]) -> Ending | Literal["failed"]:
        lines = Lines()
        try:
            child = await self._children.start(
                [*self._command(search.query), "--", *(f"./{name}" for name in names)],
                owner="ast-grep",
                cwd=search.folder,
                env=ENVIRONMENT,
                stderr="null",
            )
        except SpawnFailed as problem:
            raise not_startable("ast-grep", problem) from None
        async with child:
            child.limit_memory(MEMORY)
            assert child.stdout is not None
            try:
                async with asyncio.timeout_at(search.deadline):
                    while chunk := await child.stdout.read(_CHUNK):
                        if not search.take([read_match(line) for line in lines.feed(chunk)]):
                            return "stopped"
                    code = await child.wait()
            except TimeoutError:
                return "timed_out"
        return "complete" if code in _ENDED_WELL and not lines.skipped else "failed"

    def _command(self, query: Query) -> list[str]:
        config = self._folder / "sgconfig.yml"
        options = (f"--config={config}", "--json=stream", "--color=never")
        command = "scan" if query[0] == "--inline-rules" else "run"
        return [self._program, command, *options, *query]


class _OneSearch:
    """The state of one search over its processes, with the matches reported so far."""

    def __init__(self, folder: int | Path, query: Query, deadline: float, take: Take) -> None:
        self.folder = folder
        self.query = query
        self.deadline = deadline
        self._take = take
        self._known: set[tuple[str, int, int]] = set()

    def take(self, found: list[Found]) -> bool:
        fresh = []
        for one in found:
            place = (one.file, one.start, one.end)
            if place not in self._known:
                self._known.add(place)
                fresh.append(one)
        return self._take(fresh)


def not_startable(program: str, problem: SpawnFailed) -> ToolError:
    """Return the error for a program that the daemon needs and cannot start."""
    return ToolError(
        "engine_unavailable",
        f"{program} could not be started ({problem.reason}); the operator has to install it again",
    )


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut the list so that each piece fits on a command line."""
    begin = size = 0
    for at, name in enumerate(names):
        size += len(name.encode()) + 12
        if size > BATCH_BYTES and at > begin:
            yield names[begin:at]
            begin, size = at, len(name.encode()) + 12
    if begin < len(names):
        yield names[begin:]


def _reason(account: str) -> str:
    """Return why ast-grep refused a pattern, in its words where they help."""
    if "Multiple AST nodes" in account:
        return "it is several nodes"
    if "No AST root" in account:
        return "there is nothing in it"
    if "multi meta variable" in account:
        return "$$$ alone stands for no node"
    return "ast-grep cannot parse it"
