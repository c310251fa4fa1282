"""Changes that a server works out, made to the project's files as one.

Owns: that an edit is for what the files hold now, that all of it is within the caller's reach, and
what an answer reports of it. Never: writing some of the files; `ProjectFiles` writes all or none.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import (
    CreateFile,
    DeleteFile,
    EditPlan,
    LanguageServer,
    MalformedEdit,
    Operation,
    RenameFile,
    TextEdits,
    apply_text_edits,
    parse_workspace_edit,
    prevailing_line_end,
)
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.tools.code.call import CodeCall
from app.tools.code.places import Files, Found
from app.tools.code.results import FileChange
from app.tools.processes.foreign_text import one_line
from app.tools.project_files.file_operations import Create, Delete, FileOperation, Move, Names, Rewrite
from app.tools.project_files.read_tracker import Digest, digest_of
from app.tools.project_files.text_format import UTF_8, from_utf8, to_utf8
from app.workspace import MAX_WHOLE_FILE, changed_since_read

MAX_ROUNDS = 4
MAX_LISTED = 50
MAX_GIVEN = 200
"""Fewer than documents are kept open, so that all of these are at once."""

Ask = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Checked:
    """A plan that may be carried out, with the digests of the files that it is for, by their paths
    before it."""

    plan: EditPlan
    digests: Mapping[str, Digest]


async def worked_out(call: CodeCall, server: LanguageServer, ask: Ask) -> Checked:
    """Return the server's edit, for what is on disk.

    The server is asked until all files of its answer were read before it was asked: then what it
    knew is what was read, and is compared again when the files are written. A server that is busy and
    leaves files out is found out by that, too. Files that it would read otherwise than they are read here
    are given to it in between. Raises ToolError `rename_scope_exceeds_cage` and `lsp_request_failed`.
    """
    digests: dict[str, Digest] = {}
    before: EditPlan | None = None
    for _ in range(MAX_ROUNDS):
        await server.synchronise()
        plan = _parsed(server, await ask())
        await call.aside(check_reach, call, plan)
        plan = await call.aside(_each_file_once, plan)
        same = before is not None and alike(plan, before) and await _same_versions(call, server, plan)
        now, read_otherwise = await call.aside(_look, call, plan)
        if same and now == digests:
            return Checked(plan, digests)
        await _give(call, server, read_otherwise)
        before, digests = plan, now
    raise ToolError(
        "lsp_request_failed",
        f"{server.name} gave another answer each time: the files are being changed; try again in a moment",
    )


def _each_file_once(plan: EditPlan) -> EditPlan:
    """Return the plan without edits that it has a second time, under the name of a symbolic link: servers
    take a link and what it leads to for two files. Blocking."""
    texts = [one for one in plan.operations if isinstance(one, TextEdits) and one.edits]
    real = {one.path: Path(os.path.realpath(one.path)) for one in texts}
    kept: dict[Path, TextEdits] = {}
    for one in sorted(texts, key=lambda one: one.path != real[one.path]):
        kept.setdefault(real[one.path], one)

    def again(one: Operation) -> bool:
        if not isinstance(one, TextEdits) or one.path not in real:
            return False
        first = kept[real[one.path]]
        return first.path != one.path and set(first.edits) == set(one.edits)

    return replace(plan, operations=tuple(one for one in plan.operations if not again(one)))


def _parsed(server: LanguageServer, answer: Any) -> EditPlan:
    try:
        return parse_workspace_edit(answer)
    except MalformedEdit as problem:
        raise ToolError(
            "lsp_request_failed",
            f"{server.name} answered an edit that cannot be used: {one_line(str(problem), 500)}",
        ) from None


def alike(one: EditPlan, other: EditPlan) -> bool:
    """Tell whether two plans do the same: some servers name the files in another order each time."""
    return _by_place(one) == _by_place(other) and set(one.annotations) == set(other.annotations)


def _by_place(plan: EditPlan) -> list[Operation]:
    """Return the operations with the edits between two of another kind by file, and those of a file by
    where they begin; edits at one place keep their order."""
    ordered: list[Operation] = []
    run: list[TextEdits] = []
    for one in (*plan.operations, None):
        if isinstance(one, TextEdits):
            by_start = sorted(one.edits, key=lambda edit: (edit.start, edit.end))
            run.append(replace(one, edits=tuple(by_start)))
        else:
            run.sort(key=lambda edits: edits.path)
            ordered += run
            run = []
            if one is not None:
                ordered.append(one)
    return ordered


async def _same_versions(call: CodeCall, server: LanguageServer, plan: EditPlan) -> bool:
    """Tell whether the versions that the edit names are those of the documents. Some servers say 0 of a file
    that is not open: as no document has that, it is as if they named none."""
    files = Files(call, "utf-16")
    for one in plan.operations:
        if isinstance(one, TextEdits) and one.version is not None:
            found = files.of_path(one.path)
            assert found.parts is not None
            path = "/".join(found.parts)
            if one.version == 0 and not server.has_open(path):
                continue
            if (await server.document(path)).version != one.version:
                return False
    return True


def check_reach(call: CodeCall, plan: EditPlan) -> None:
    """Raise ToolError `rename_scope_exceeds_cage` unless the caller may write all files. Blocking."""
    files = Files(call, "utf-16")
    inside: list[Found] = []
    beyond: list[Found] = []
    for path in plan.paths:
        found = files.of_path(path)
        (beyond if found.parts is None else inside).append(found)
    denied = set(
        call.tooling.files.paths_not_writable(["/".join(one.parts or ()) for one in inside], call.context)
    )
    beyond += [one for one in inside if "/".join(one.parts or ()) in denied]
    if beyond:
        raise _exceeds(beyond)


def _exceeds(beyond: list[Found]) -> ToolError:
    named = sorted(one.shown for one in beyond if one.verdict != "hidden")
    unnamed = len(beyond) - len(named)
    listed = ", ".join(named[:MAX_LISTED]) + (", ..." if len(named) > MAX_LISTED else "")
    rest = f"{unnamed} files that may not be named" if unnamed else ""
    return ToolError(
        "rename_scope_exceeds_cage",
        "nothing was changed: this would also change files that this agent may not write: "
        f"{' and '.join(filter(None, (listed, rest)))}. Ask the operator for a wider cage, or leave it to "
        "an agent that has one.",
        detail={"files": named[:1_000], "count": len(beyond)},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


async def _give(call: CodeCall, server: LanguageServer, paths: list[str]) -> None:
    """Open the files in the server. What it reads from disk by itself it takes for plain UTF-8: it counts a
    byte order mark as a character, and two bytes of another encoding as two."""
    own = [one for one in paths if call.project.language_of(one) == server.language]
    if len(own) > MAX_GIVEN:
        raise ToolError(
            "lsp_request_failed",
            f"nothing was changed: this concerns {len(own)} files that are not plain UTF-8, and at most "
            f"{MAX_GIVEN} can be changed together; write them as UTF-8 without a byte order mark first",
        )
    for one in own:
        await server.document(one)


def _look(call: CodeCall, plan: EditPlan) -> tuple[dict[str, Digest], list[str]]:
    """Return the digests of the files, which those that do not exist have not, and the paths of those that
    are not plain UTF-8. Blocking."""
    course = _Course(call)
    found: dict[str, Digest] = {}
    otherwise: list[str] = []
    for one in plan.operations:
        if isinstance(one, TextEdits):
            origin = course.origin(one.path)
            if isinstance(origin, str) and origin not in found:
                try:
                    content = _on_disk(call, origin)
                except ToolError as problem:
                    if problem.code != "file_not_found":
                        raise
                    continue
                if content is not None:
                    found[origin] = digest_of(content)
                    if (known := to_utf8(content)) is not None and known[1] != UTF_8:
                        otherwise.append(origin.removeprefix("./"))
        else:
            course.operation(one)
    return found, otherwise


def _on_disk(call: CodeCall, path: str) -> bytes | None:
    """Return a file's content as the caller may read it, None when it is a folder or too large.
    Raises ToolError as the workspace does. Blocking."""
    with call.workspace.open(f"./{path.removeprefix('./')}") as opened:
        if opened.is_directory or opened.status.st_size > MAX_WHOLE_FILE:
            return None
        with os.fdopen(os.dup(opened.descriptor), "rb") as file:
            return file.read(MAX_WHOLE_FILE + 1)


async def carry_out(call: CodeCall, server: LanguageServer | None, checked: Checked) -> None:
    """Make all of the changes, or none, and tell the servers.

    Raises ToolError `file_changed_since_read`, `file_busy`, `lsp_request_failed` and what the
    workspace raises."""
    operations = await call.aside(_operations, call, server, checked)

    def report(_: object) -> None:
        who = {"caller": call.context.agent_path, "request_id": call.context.request_id}
        for change in changed_files(call, checked.plan):
            event = {"path": change.path, "replacements": change.edits or 0}
            if change.operation is not None:
                event |= {"operation": change.operation, "new_path": change.new_path}
            call.context.ports.audit("file.edited", event | who)

    await call.tooling.files.apply_operations(operations, call.context, report)
    await call.project.synchronise()


def _operations(call: CodeCall, server: LanguageServer | None, checked: Checked) -> list[FileOperation]:
    """Return the plan with the new contents. Blocking."""
    course = _Course(call)
    made = _Contents(call, course, checked.digests)
    operations: list[FileOperation] = []
    for one in checked.plan.operations:
        if not isinstance(one, TextEdits):
            operations.append(course.operation(one))
        elif one.edits:
            before = made.content(one.path)
            after = _edited(call, server, one, before)
            made.put(one.path, after)
            operations.append(Rewrite(course.relative(one.path), digest_of(before), after))
    return operations


def new_contents(call: CodeCall, server: LanguageServer, checked: Checked) -> dict[str, bytes] | None:
    """Return what the files would hold, by their paths from the root; None where the plan does more than edit
    texts. Raises ToolError as `carry_out`. Blocking."""
    operations = _operations(call, server, checked)
    rewritten = [one for one in operations if isinstance(one, Rewrite)]
    if len(rewritten) < len(operations):
        return None
    return {one.path.removeprefix("./"): one.content for one in rewritten}


class _Course:
    """Where files lie in the course of a plan: an edit may name a file by what an operation before it
    has made of its name."""

    def __init__(self, call: CodeCall) -> None:
        self._files = Files(call, "utf-16")
        self._names = Names()

    def relative(self, path: Path) -> str:
        found = self._files.of_path(path)
        assert found.parts is not None, "its reach was checked"
        text = "/".join(found.parts)
        return f"./{text}" if text.startswith("~") else text

    def origin(self, path: Path) -> str | Create | None:
        """Return where the file lies on disk, or the creation that makes it; None when it is gone."""
        origin = self._names.origin(self.relative(path))
        return origin if isinstance(origin, str | Create) else None

    def operation(self, one: CreateFile | RenameFile | DeleteFile) -> Create | Move | Delete:
        """Return the operation on the project's files, and go on from there."""
        made: Create | Move | Delete
        if isinstance(one, CreateFile):
            made = Create(self.relative(one.path), b"", one.overwrite, one.ignore_if_exists)
        elif isinstance(one, RenameFile):
            old, new = self.relative(one.old), self.relative(one.new)
            made = Move(old, new, one.overwrite, one.ignore_if_exists)
        else:
            made = Delete(self.relative(one.path), one.recursive, one.ignore_if_missing)
        self._names.add(made)
        return made


class _Contents:
    """What files hold in the course of a plan. Blocking."""

    def __init__(self, call: CodeCall, course: _Course, digests: Mapping[str, Digest]) -> None:
        self._call = call
        self._course = course
        self._digests = digests
        self._now: dict[str | Create, bytes] = {}

    def content(self, path: Path) -> bytes:
        """Return the content, which for a file on disk must be the one that the edit is for."""
        origin = self._course.origin(path)
        if origin is None:
            raise changed_since_read(self._course.relative(path))
        if origin in self._now:
            return self._now[origin]
        if isinstance(origin, Create):
            return origin.content
        content = _on_disk(self._call, origin)
        if content is None or digest_of(content) != self._digests.get(origin):
            raise changed_since_read(origin)
        return content

    def put(self, path: Path, content: bytes) -> None:
        origin = self._course.origin(path)
        assert origin is not None, "it was read"
        self._now[origin] = content


def _edited(call: CodeCall, server: LanguageServer | None, one: TextEdits, before: bytes) -> bytes:
    """Return the file's new content, in its encoding and with its line ends."""
    known = to_utf8(before)
    shown = Files(call, "utf-16").of_path(one.path).shown
    if known is None:
        raise ToolError("not_text", f"nothing was changed: {shown} is a binary file")
    assert server is not None
    text = known[0].decode("utf-8", "surrogatepass")
    try:
        after = apply_text_edits(text, one.edits, server.encoding, line_end=prevailing_line_end(text))
        return from_utf8(after.encode("utf-8", "surrogatepass"), known[1])
    except MalformedEdit as problem:
        raise ToolError(
            "lsp_request_failed",
            f"nothing was changed: {server.name} answered an edit of {shown} that cannot be used: "
            f"{one_line(str(problem), 500)}",
        ) from None


def check_confirmed(call: CodeCall, plan: EditPlan) -> None:
    """Raise ToolError `confirmation_needed` for what the server wants confirmed, unless it is."""
    notes = plan.needs_confirmation
    if notes and not call.params.confirm:
        lines = [
            one_line(f"{note.label}: {note.description}" if note.description else note.label, 300)
            for note in notes[:MAX_LISTED]
        ]
        raise ToolError(
            "confirmation_needed",
            f"nothing was changed: the server wants these changes confirmed: {'; '.join(lines)}. "
            "Set confirm to true if they are wanted.",
            detail={"changes": lines},
        )


def changed_files(call: CodeCall, plan: EditPlan) -> list[FileChange]:
    """Return what was done to each file, by path."""
    files = Files(call, "utf-16")
    edits: dict[str, int] = {}
    other: list[FileChange] = []
    for one in plan.operations:
        if isinstance(one, TextEdits):
            shown = files.of_path(one.path).shown
            edits[shown] = edits.get(shown, 0) + len(one.edits)
        elif isinstance(one, RenameFile):
            old, new = files.of_path(one.old).shown, files.of_path(one.new).shown
            other.append(FileChange(path=old, operation="rename", new_path=new))
        elif isinstance(one, CreateFile | DeleteFile):
            kind = "create" if isinstance(one, CreateFile) else "delete"
            other.append(FileChange(path=files.of_path(one.path).shown, operation=kind))
    changed = [FileChange(path=path, edits=count) for path, count in edits.items() if count]
    return sorted([*changed, *other], key=lambda one: (one.path, one.operation or ""))
