"""`kaged.changes`: what subagents changed in workspaces of their own, seen and taken by the agent that called
them.

Owns: the tool's parameters and results, and writing what is taken into the caller's folder as edits are
written. Never: workspaces, or merging (the harness).
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from pydantic import Field

from app.errors import ToolError
from app.messages import Frozen
from app.tools.agents.taken_files import MAX_NAMED, NOT_TAKEN, Taking, take
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Delegation,
    Effects,
    FsRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.contract.ports import CHANGES_TOOL
from app.tools.project_files.project_files import ProjectFiles
from app.workspace import Workspace
from app.workspace.any_names import path_at
from app.workspace.file_status import MergeStatus

Action = Literal["list", "diff", "apply", "discard"]
ACTIONS: tuple[Action, ...] = ("list", "diff", "apply", "discard")
MAX_PATHS = 1_000
_EDITS = ("file.write",)
_AFTER_SLASH = chr(ord("/") + 1)


class ChangesParams(ToolParams):
    action: Action = Field(description="What to do with the changes of subagents.")
    run_id: str | None = Field(
        default=None,
        max_length=64,
        description="diff, apply, discard: the subagent's run. list: only this one.",
    )
    paths: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_PATHS,
        description="diff, apply: only these files and folders. Default: all.",
    )


class ChangedFile(Frozen):
    """`left` says why this tool cannot apply the change."""

    path: str
    status: MergeStatus
    additions: int | None = Field(default=None, description="Lines; absent for binary files.")
    deletions: int | None = None
    left: str | None = Field(default=None, description="Why only the operator can merge it.")


class ChildWork(Frozen):
    """What one subagent changed in its workspace, and nobody has taken yet."""

    run_id: str
    agent: str
    workspace: str
    state: Literal["working", "ended"]
    files: list[ChangedFile]


class ChangesResult(ToolResult):
    children: list[ChildWork] | None = Field(default=None, description="list: the oldest first.")
    run_id: str | None = None
    applied: list[str] | None = Field(default=None, description="apply: the files that were written.")
    left: dict[str, str] | None = Field(
        default=None, description="apply: the files that were not written, with the reason."
    )
    discarded: int | None = Field(default=None, description="discard: how many changed files were discarded.")
    diff: str | None = None


class TakeParams(ToolParams):
    """The files of one subagent that are taken; set by `kaged.changes`, never by a model."""

    run_id: str
    paths: list[str]


class SubagentChanges(Protocol):
    """The changes of the caller's own subagents, and of nobody else's. Every method may raise ToolError."""

    async def works(self, context: ToolCallContext, run_id: str | None) -> Sequence[ChildWork]:
        """Return what the subagents left, or the one of a run. Raises ToolError `changes_not_found`."""

    async def diff(self, context: ToolCallContext, run_id: str, paths: Sequence[str]) -> str:
        """Return the changes of these files as text."""

    def taking(
        self, context: ToolCallContext, run_id: str, paths: Sequence[str]
    ) -> AbstractAsyncContextManager[Taking]:
        """Merge the changes of these files with what is in the caller's folder now; nothing is written."""

    async def discard(self, context: ToolCallContext, run_id: str) -> ChildWork:
        """Give the changes up; the operator can restore them for some days."""


def build(files: ProjectFiles, changes: Callable[[], SubagentChanges] | None) -> ToolDefinition:
    """Return the tool. `changes` gives the daemon's, which are made of tools themselves; without them every
    call answers `unavailable`."""

    def there() -> SubagentChanges:
        if changes is None:
            raise ToolError("unavailable", f"{CHANGES_TOOL} works only inside the daemon.")
        return changes()

    taking = _taking_tool(files, there)

    async def run(params: ChangesParams, context: ToolCallContext) -> ChangesResult | Delegation:
        workspace = files.workspace(context)
        if params.action == "list":
            found = await there().works(context, params.run_id)
            return ChangesResult(children=[_seen(one, workspace) for one in found])
        run_id = _needed(params)
        if params.action == "discard":
            given_up = await there().discard(context, run_id)
            context.audit("changes.discarded", workspace=given_up.workspace, child_run_id=run_id)
            return ChangesResult(run_id=run_id, discarded=len(given_up.files))
        work = _seen((await there().works(context, run_id))[0], workspace)
        if params.action == "diff":
            named = [one.path for one in _named(work, params.paths)]
            return ChangesResult(run_id=run_id, diff=await there().diff(context, run_id, named))
        return _apply(taking, work, params.paths)

    return ToolDefinition(
        name=CHANGES_TOOL,
        title="Take the changes of subagents",
        description=load_description("app.tools.agents", "changes.md"),
        parameters=ChangesParams,
        result=ChangesResult,
        run=run,
        acp_kind="other",
        actions=ACTIONS,
        body_field="diff",
        effects_of=lambda params: Effects(exclusive=params.action in {"apply", "discard"}),
    )


def _needed(params: ChangesParams) -> str:
    if params.run_id is None:
        raise ToolError(
            "invalid_params",
            f"{params.action} needs run_id: {CHANGES_TOOL} with action `list` shows the runs",
            detail={"fields": {"run_id": "is missing"}},
        )
    return params.run_id


def _named(work: ChildWork, paths: Sequence[str] | None) -> list[ChangedFile]:
    """Return the files that are meant. Raises ToolError when one of the paths means none."""
    if paths is None:
        return work.files
    files = sorted(work.files, key=lambda one: one.path)
    names = [one.path for one in files]
    spans: list[tuple[int, int]] = []
    for path in paths:
        found = _spans(names, os.path.normpath(path))
        if not found:
            raise ToolError(
                "changes_not_found",
                f"{work.agent} changed nothing at {path}, or the change is applied already: action `list` "
                "shows what is left",
                detail={"path": path},
            )
        spans += found
    meant, at = [], 0
    for first, end in sorted(spans):
        meant += files[max(first, at) : end]
        at = max(at, end)
    return meant


def _spans(names: Sequence[str], wanted: str) -> list[tuple[int, int]]:
    """Return where in sorted names the file `wanted` is, and what lies below it."""
    if wanted == ".":
        spans = [(0, len(names))]
    else:
        spans = [
            (bisect_left(names, wanted), bisect_right(names, wanted)),
            (bisect_left(names, f"{wanted}/"), bisect_left(names, f"{wanted}{_AFTER_SLASH}")),
        ]
    return [(first, end) for first, end in spans if first < end]


def _seen(work: ChildWork, workspace: Workspace) -> ChildWork:
    """Return the work without the files that the caller may not know of. Such are the operator's to take."""
    files = [one for one in work.files if workspace.may_read(tuple(path_at(one.path).split("/")))]
    return work.model_copy(update={"files": files})


def _apply(taking: ToolDefinition, work: ChildWork, paths: Sequence[str] | None) -> Delegation:
    """Return the call that writes the files: it is judged as an edit of each of them."""
    meant = _named(work, paths)
    left = {one.path: one.left for one in meant if one.left is not None}
    wanted = [one.path for one in meant if one.left is None]
    if not wanted:
        why = "; ".join(f"{path}: {reason}" for path, reason in list(left.items())[:MAX_NAMED])
        raise ToolError(
            NOT_TAKEN,
            f"{work.agent} has no changes that you can apply" + (f" ({why})." if why else "."),
            detail={"left": left},
        )

    def finish(result: ChangesResult) -> ChangesResult:
        return result.model_copy(update={"left": left or None})

    return Delegation(
        tool=taking,
        arguments={"run_id": work.run_id, "paths": wanted},
        finish=finish,
        explain=lambda error: error,
    )


def _taking_tool(files: ProjectFiles, there: Callable[[], SubagentChanges]) -> ToolDefinition:
    async def run(params: TakeParams, context: ToolCallContext) -> ChangesResult:
        async with there().taking(context, params.run_id, params.paths) as taking:
            applied = await take(files, taking, context)
            context.audit("changes.applied", child_run_id=params.run_id, paths=applied)
            return ChangesResult(run_id=params.run_id, applied=applied)

    return ToolDefinition(
        name="edit.text",
        title="Take the changes of a subagent",
        description="",
        parameters=TakeParams,
        result=ChangesResult,
        run=run,
        acp_kind="edit",
        requires=(FsRequirement("rw"),),
        effects_of=lambda params: Effects(
            writes=tuple(f"./{path}" for path in params.paths), exclusive=True, judged_as=_EDITS
        ),
    )
