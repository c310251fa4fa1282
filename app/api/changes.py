"""Routes for what a session changed in the project's files, and for reverting it.

Owns: parsing and answering. Never: comparing or writing files (`harness.changes`).
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from app.api.dependencies import PageDep, PageRequest, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import CLAIMED, noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.changes import (
    PATH,
    ChangeAnswer,
    ChangeDiffAnswer,
    ChangePage,
    EditAnswer,
    RevertAnswer,
    RevertChange,
)
from app.api.schemas.hunks import HunkAnswer
from app.api.schemas.model import PageOf
from app.harness.changes.baselines import SINCE
from app.harness.changes.line_diffs import hunk_digest
from app.harness.changes.revert_steps import RevertWish
from app.harness.changes.service import ChangeList, FileDiff, Listed
from app.harness.checkpoints.stored_objects import TreeEntry
from app.storage.models import Revert
from app.tools.project_files.text_format import text_of, to_utf8
from app.workspace.any_names import address_of, name_at

router: APIRouter = noun_router("Changes")

MOST_HUNK_BYTES = 4 * 1024 * 1024
MOST_TEXT_BYTES = 1024 * 1024

Since = Annotated[str, Query(max_length=64, description=f"The baseline: {SINCE}.")]
ChangePath = Annotated[str, Path(max_length=8192, description=PATH)]
RevertId = Annotated[str, Path(description="A revert's id, `rvt_...`.", max_length=64)]


def _facts(listed: Listed) -> dict[str, Any]:
    change, counts = listed.change, listed.counts
    return {
        "path": address_of(change.path),
        "old_path": None if change.old_path is None else address_of(change.old_path),
        "status": change.status,
        "additions": counts.additions,
        "deletions": counts.deletions,
        "binary": counts.binary,
        "old_mode": _mode(change.then),
        "new_mode": _mode(change.now),
        "note": change.left_out or counts.note,
        "by": [EditAnswer.model_validate(edit) for edit in listed.by],
        "others": listed.others,
    }


def _mode(entry: TreeEntry | None) -> str | None:
    return None if entry is None else entry.mode or None


@router.get("/sessions/{session_id}/changes", summary="List the files that a session changed")
async def list_changes(
    services: ServicesDep, session_id: SessionId, page: PageDep, since: Since = "start"
) -> ChangePage:
    """The files that differ from the baseline, whoever changed them: agents, commands or people. Files that
    git ignores are left out. Uncommitted changes from before the session are part of the baseline `start`."""
    changes = services.management.folders.changes.list
    found = await changes.list(await changes.session(session_id), since)
    return await asyncio.to_thread(_page, found, page)


def _page(found: ChangeList, page: PageRequest) -> ChangePage:
    shown = page_by_name("changes", found.items, lambda one: address_of(one.change.path), page)
    return ChangePage(
        items=[ChangeAnswer(**_facts(one)) for one in shown.items],
        next_cursor=shown.next_cursor,
        total=shown.total,
        additions=found.additions,
        deletions=found.deletions,
        incomplete=found.incomplete,
    )


@router.get(
    "/sessions/{session_id}/changes/{path:path}",
    summary="Show what changed in a file",
    response_model=ChangeDiffAnswer,
)
async def get_change(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    path: ChangePath,
    since: Since = "start",
    context: Annotated[int, Query(ge=0, le=1000, description="Unchanged lines around each hunk.")] = 3,
    content: Annotated[bool, Query(description="Include both texts.")] = False,
) -> Response:
    """Lines are Unicode, whatever the encoding of the file. A CR before the newline is part of the line. A
    read-only token does not get files that usually hold credentials (403, `secret_file`)."""
    changes, secrets = services.management.folders.changes.list, principal.may_write
    row = await changes.session(session_id)
    diff = await changes.diff(row, since, name_at(path), context, secrets=secrets)
    # Long differences are made into JSON once, beside the event loop.
    body = await asyncio.to_thread(lambda: _diff_answer(diff, content).model_dump_json())
    return Response(body, media_type="application/json")


@router.post(
    "/sessions/{session_id}/reverts",
    summary="Revert a file, or hunks of it",
    status_code=201,
    dependencies=[CLAIMED],
)
async def revert_change(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: RevertChange
) -> RevertAnswer:
    """Conflict with the reason `changed_since` when the file has changed since the diff."""
    wish = RevertWish(name_at(body.path), body.since, body.hunks, body.digest)
    return _revert_answer(
        await services.management.folders.changes.reverts.revert(session_id, wish, principal.actor)
    )


@router.get("/sessions/{session_id}/reverts", summary="List a session's reverts, newest first")
async def list_reverts(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, page: PageDep
) -> PageOf[RevertAnswer]:
    """Includes undone reverts (`undone_at`). A read-only token does not get `lines`: a file may hold
    credentials."""
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.reverts.list(session_id, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, lambda row: _revert_answer(row, lines=principal.may_write))


@router.post(
    "/sessions/{session_id}/reverts/{revert_id}/undo", summary="Undo a revert", dependencies=[CLAIMED]
)
async def undo_revert(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, revert_id: RevertId
) -> RevertAnswer:
    """Conflict with the reason `changed_since` when a file has changed since the revert."""
    undone = await services.management.folders.changes.reverts.undo(session_id, revert_id, principal.actor)
    return _revert_answer(undone)


def _diff_answer(diff: FileDiff, content: bool) -> ChangeDiffAnswer:
    facts, sides = _facts(diff.listed), diff.sides
    shown, truncated = _shown(diff)
    return ChangeDiffAnswer(
        **{**facts, "note": sides.problem},
        digest=diff.digest,
        old_encoding=_encoding(sides.old),
        new_encoding=_encoding(sides.new),
        hunks=shown,
        truncated=truncated,
        old_text=_text(sides.old) if content else None,
        new_text=_text(sides.new) if content else None,
    )


def _shown(diff: FileDiff) -> tuple[list[HunkAnswer] | None, bool]:
    if diff.hunks is None:
        return None, False
    shown: list[HunkAnswer] = []
    size = 0
    for hunk in diff.hunks:
        size += sum(len(line) for _, line in hunk.lines)
        if size > MOST_HUNK_BYTES:
            return shown, True
        shown.append(HunkAnswer.of(hunk, hunk_digest(hunk, diff.digest, diff.context)))
    return shown, False


def _encoding(content: bytes | None) -> str | None:
    found = None if content is None else to_utf8(content)
    return None if found is None else found[1].name


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > MOST_TEXT_BYTES:
        return None
    return text_of(content)


def _revert_answer(row: Revert, *, lines: bool = True) -> RevertAnswer:
    details = row.details
    return RevertAnswer(
        id=row.id,
        session_id=row.session_id,
        path=details["path"],
        since=details["since"],
        hunks=details["hunks"],
        lines=details.get("lines") if lines else None,
        files=[one["path"] for one in details["files"]],
        created_at=row.created_at,
        created_by=row.created_by,
        undone_at=row.undone_at,
        undone_by=row.undone_by,
    )
