"""Checks every path of a list of changes at once, before and after its moves.

Owns: the list of paths that the caller may not write. Never: changing anything. Blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.cages.protected_names import is_protected
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.tools.project_files.file_operations import (
    Arranged,
    Create,
    FileOperation,
    Move,
    Names,
    Rewrite,
    arrange,
    paths_of,
)
from app.workspace import Workspace

MAX_OPERATIONS = 10_000
MAX_NAME_CHANGES = 1_000
"""How many creations, moves and removals one list may have."""
MAX_SHOWN = 20
MAX_NAMED = 1_000
_NOT_ALLOWED = frozenset({"capability_denied", "permission_denied", "invalid_path"})


def plainly_named(workspace: Workspace, operations: Sequence[FileOperation]) -> list[FileOperation]:
    """Return the operations with normalised paths below the root. Raises ToolError `too_many_files`, and
    `rename_scope_exceeds_cage` with all paths that lie outside."""
    changes = sum(not isinstance(one, Rewrite) for one in operations)
    if len(operations) > MAX_OPERATIONS or changes > MAX_NAME_CHANGES:
        raise ToolError(
            "too_many_files",
            f"at most {MAX_OPERATIONS} files are changed at once, and {MAX_NAME_CHANGES} made, renamed "
            "or deleted; divide the change",
        )
    plain: dict[str, str] = {}
    outside: list[str] = []
    for path in paths_of(operations):
        try:
            location = workspace.locate(path)
        except ToolError:
            outside.append(path)
            continue
        if location.aside is not None or not location.parts:
            outside.append(path)
        shown = "/".join(location.parts)
        plain[path] = f"./{shown}" if shown.startswith("~") else shown
    if outside:
        raise exceeds_scope(workspace, outside)
    return [
        replace(one, old=plain[one.old], new=plain[one.new])
        if isinstance(one, Move)
        else replace(one, path=plain[one.path])
        for one in operations
    ]


def arrange_allowed(workspace: Workspace, operations: Sequence[FileOperation]) -> Arranged:
    """Return the operations as they will be applied, all within what the caller may write. Raises ToolError
    `rename_scope_exceeds_cage` with all paths that are not, and as `arrange` does."""
    found = dict.fromkeys(not_writable(workspace, paths_of(operations)))
    try:
        arranged = arrange(workspace.without_policy(), operations)
    except ToolError:
        if found:
            raise exceeds_scope(workspace, list(found)) from None
        raise
    found |= dict.fromkeys(_not_writable_within(workspace, arranged))
    if found:
        raise exceeds_scope(workspace, list(found))
    return arranged


def not_writable(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Return those of the paths, in order, that the caller may not write. Names that steer programs
    are among them for every caller, as the changes come from a server."""
    return [path for path in dict.fromkeys(paths) if not _may_write(workspace, path)]


def _may_write(workspace: Workspace, path: str) -> bool:
    """By the path itself, and by what it leads to when it is a link."""
    try:
        if any(map(is_protected, workspace.locate(path).parts)):
            return False
        with workspace.entry(path) as entry:
            return not any(map(is_protected, entry.parts))
    except ToolError as problem:
        if problem.code != "symbolic_link":
            return problem.code not in _NOT_ALLOWED
    try:
        with workspace.target(path) as target:
            return not any(map(is_protected, target.parts))
    except ToolError as problem:
        return problem.code not in _NOT_ALLOWED


def _not_writable_within(workspace: Workspace, arranged: Arranged) -> list[str]:
    """The same of the names that rewritten files have now, and of all that is in folders which
    move or go."""
    found = not_writable(workspace, (one.path for one in arranged.rewrites))
    names = Names()
    for one in arranged.names:
        if not isinstance(one, Create):
            path, goes_to = (one.old, one.new) if isinstance(one, Move) else (one.path, None)
            origin = names.origin(path)
            if isinstance(origin, str):
                if not _may_write(workspace, origin):
                    found.append(origin)
                    continue
                elsewhere = None if goes_to is None else workspace.locate(goes_to).parts
                with workspace.entry(origin) as entry:
                    if entry.is_folder:
                        found += workspace.closed_within(entry, elsewhere)
        names.add(one)
    return found


def exceeds_scope(workspace: Workspace, paths: Sequence[str]) -> ToolError:
    """Return the error for a change that reaches beyond what the caller may write. What it may not
    even read is counted, not named."""
    named = sorted(path for path in set(paths) if _may_name(workspace, path))
    count = len(set(paths))
    lines = [", ".join(named[:MAX_SHOWN]) + (", ..." if len(named) > MAX_SHOWN else "")] if named else []
    if count > len(named):
        lines.append(f"{count - len(named)} files that may not be named")
    return ToolError(
        "rename_scope_exceeds_cage",
        f"nothing was changed: this would also change {' and '.join(lines)}, which you may not write. Ask "
        "for a wider cage, or leave the change to an agent that has one.",
        detail={"files": named[:MAX_NAMED], "count": count},
        rpc_code=RPC_CAPABILITY_DENIED,
    )


def _may_name(workspace: Workspace, path: str) -> bool:
    try:
        return workspace.may_read(workspace.locate(path).parts)
    except ToolError:
        return not workspace.is_bounded
