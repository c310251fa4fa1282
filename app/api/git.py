"""Routes for the repository of a project: status, diff, staging, commits, branches.

Owns: parsing and answering, and what the audit notes. Never: git (`harness.git`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from app.api.dependencies import OperatorDep, PageDep, ProjectId, ServicesDep
from app.api.kaged_route import CLAIMED, noun_router
from app.api.operator_audit import NOTED
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.git import (
    CommitFiles,
    CreateBranch,
    GitBranchAnswer,
    GitCommitAnswer,
    GitCountsAnswer,
    GitDiffAnswer,
    GitFileAnswer,
    GitHeadAnswer,
    GitLinesAnswer,
    GitStagingAnswer,
    GitStatusAnswer,
    StageFiles,
    SwitchBranch,
)
from app.api.schemas.hunks import HunkAnswer
from app.api.schemas.model import PageOf
from app.daemon.services import Services
from app.errors import Conflict
from app.harness.git.committing import CommitWish
from app.harness.git.line_counts import FileCounts, LineCounts
from app.harness.git.names import given
from app.harness.git.status import FileState, GitStatus
from app.harness.git_output.hunks import FileDiff
from app.storage.pages import Page
from app.workspace.any_names import address_of

router: APIRouter = noun_router("Git")

MAX_SHOWN = 100
_BASE = "/projects/{project_id}/git"
DiffPath = Annotated[
    str, Query(min_length=1, max_length=8192, description="The file, as the status names it.")
]


@router.get(f"{_BASE}/status", summary="Show what has changed since the last commit")
async def get_git_status(
    services: ServicesDep, _: OperatorDep, project_id: ProjectId, page: PageDep
) -> GitStatusAnswer:
    """Shows the branch, an operation in progress, and the files that differ, sorted by path. Ignored files
    are left out."""
    repositories, root = services.management.folders.git, _root(services, project_id)
    status = await repositories.status(root)
    files = await asyncio.to_thread(
        page_by_name, "git_status", status.files, lambda one: address_of(one.name), page
    )
    counts = await repositories.line_counts(root, files.items)
    return await asyncio.to_thread(_status_page, status, files, counts)


def _status_page(status: GitStatus, found: Page[FileState], counts: FileCounts) -> GitStatusAnswer:
    return GitStatusAnswer(
        items=[_file(one, counts) for one in found.items],
        next_cursor=found.next_cursor,
        total=found.total,
        branch=status.branch,
        commit=status.commit,
        upstream=status.upstream,
        ahead=status.ahead,
        behind=status.behind,
        operation=status.operation,
        counts=_counts(status),
        left_out=[address_of(name) for name in status.left_out[:MAX_SHOWN]],
        staged_outside=status.outside,
    )


@router.get(f"{_BASE}/diff", summary="Show the difference of one file", response_model=GitDiffAnswer)
async def get_git_diff(
    services: ServicesDep,
    _: OperatorDep,
    project_id: ProjectId,
    path: DiffPath,
    staged: Annotated[bool, Query(description="Compare the last commit with the index.")] = False,
) -> Response:
    """From the index to the working tree; with `staged` from the last commit to the index."""
    (name,) = given([path], field="path")
    diff = await services.management.folders.git.diff(_root(services, project_id), name, staged=staged)
    # Long differences are made into JSON once, beside the event loop.
    body = await asyncio.to_thread(lambda: _diff_answer(name, diff, staged=staged).model_dump_json())
    return Response(body, media_type="application/json")


def _diff_answer(name: bytes, diff: FileDiff, *, staged: bool) -> GitDiffAnswer:
    return GitDiffAnswer(
        path=address_of(name),
        staged=staged,
        binary=diff.binary,
        old_mode=diff.old_mode,
        new_mode=diff.new_mode,
        hunks=[HunkAnswer.of(one, one.digest) for one in diff.hunks],
    )


@router.post(f"{_BASE}/stage", summary="Stage files or hunks", dependencies=[CLAIMED])
async def stage_files(
    request: Request, services: ServicesDep, _: OperatorDep, project_id: ProjectId, body: StageFiles
) -> GitStagingAnswer:
    """Stages all of it or nothing. A missing file is staged as deleted. 409: `index_locked`,
    `changed_since`, `conflicts`, `daemon_file`, `filtered`, `git_failed`."""
    root, names = _root(services, project_id), _names(body)
    await services.management.folders.git.stage(root, names, body.hunks)
    return await _staged(request, services, root, names, body.hunks)


@router.post(f"{_BASE}/unstage", summary="Unstage files or hunks", dependencies=[CLAIMED])
async def unstage_files(
    request: Request, services: ServicesDep, _: OperatorDep, project_id: ProjectId, body: StageFiles
) -> GitStagingAnswer:
    """Files of the working tree stay as they are. 409: `index_locked`, `changed_since`, `git_failed`."""
    root, names = _root(services, project_id), _names(body)
    await services.management.folders.git.unstage(root, names, body.hunks)
    return await _staged(request, services, root, names, body.hunks)


@router.post(f"{_BASE}/commit", summary="Commit", status_code=201, dependencies=[CLAIMED])
async def commit_files(
    request: Request, services: ServicesDep, _: OperatorDep, project_id: ProjectId, body: CommitFiles
) -> GitCommitAnswer:
    """The author comes from git's settings. Hooks run only with `hooks`. 409: `nothing_to_commit`,
    `index_locked`, `operation_in_progress`, `identity_missing`, `signing_required`, `conflicts`,
    `daemon_file`, `filtered`, `hook_failed` (with `output`), `git_failed`."""
    if body.hooks:
        services.projects.require_trusted(project_id)
    names = given(body.paths or [])
    wish = CommitWish(
        message=body.message,
        paths=tuple(names),
        amend=body.amend,
        hooks=body.hooks,
        allow_empty=body.allow_empty,
        unsigned=body.unsigned,
    )
    try:
        made = await services.management.folders.git.make_commit(_root(services, project_id), wish)
    except Conflict as refusal:
        refusal.details = services.redactor.data(refusal.details)  # what hooks say may hold a secret
        raise
    files = [address_of(name) for name in made.files[:MAX_SHOWN]]
    done = {"commit": made.commit, "branch": made.branch, "paths": files, "total": len(made.files)}
    _note(request, done | {"amend": body.amend, "hooks": body.hooks})
    return GitCommitAnswer(
        commit=made.commit,
        parents=list(made.parents),
        branch=made.branch,
        subject=services.redactor.text(made.subject),
        files=files,
        total_files=len(made.files),
    )


@router.get(f"{_BASE}/branches", summary="List the branches")
async def list_git_branches(
    services: ServicesDep, _: OperatorDep, project_id: ProjectId, page: PageDep
) -> PageOf[GitBranchAnswer]:
    """Lists local branches by name, then remote-tracking branches."""
    rows = await services.management.folders.git.branches(_root(services, project_id))
    found = page_by_name("git_branches", rows, lambda one: f"{one.remote:d}{one.name}", page)
    return answer_page(found, GitBranchAnswer.model_validate)


@router.post(f"{_BASE}/branches", summary="Create a branch", status_code=201, dependencies=[CLAIMED])
async def create_git_branch(
    request: Request, services: ServicesDep, _: OperatorDep, project_id: ProjectId, body: CreateBranch
) -> GitHeadAnswer:
    """With `switch` the branch is created and checked out, or neither. It gets no upstream. 409:
    `branch_exists`, `no_commits`, and the reasons of a switch."""
    root = _root(services, project_id)
    commit = await services.management.folders.git.create_branch(
        root, body.name, body.start, checked_out=body.switch
    )
    _note(request, {"branch": body.name, "commit": commit, "switched": body.switch})
    return GitHeadAnswer(branch=body.name, commit=commit, switched=body.switch)


@router.post(f"{_BASE}/switch", summary="Switch to a branch", dependencies=[CLAIMED])
async def switch_git_branch(
    request: Request, services: ServicesDep, _: OperatorDep, project_id: ProjectId, body: SwitchBranch
) -> GitHeadAnswer:
    """Uncommitted changes stay if the switch does not touch their files. 409: `would_overwrite` (with
    `paths`), `index_locked`, `operation_in_progress`, `filtered`, `git_failed`."""
    commit = await services.management.folders.git.switch(_root(services, project_id), body.name)
    _note(request, {"branch": body.name, "commit": commit})
    return GitHeadAnswer(branch=body.name, commit=commit, switched=True)


def _root(services: Services, project_id: str) -> Path:
    return services.projects.root_of(project_id)


def _names(body: StageFiles) -> list[bytes]:
    return given(body.paths) if body.paths is not None else given([body.path or ""], field="path")


async def _staged(
    request: Request, services: Services, root: Path, names: Sequence[bytes], hunks: Sequence[str] | None
) -> GitStagingAnswer:
    paths = [address_of(name) for name in names]
    done: dict[str, Any] = {"paths": paths[:MAX_SHOWN], "total": len(paths)}
    _note(request, done if hunks is None else {**done, "hunks": len(hunks)})
    status = await services.management.folders.git.status(root)
    return GitStagingAnswer(paths=paths, counts=await asyncio.to_thread(_counts, status))


def _note(request: Request, done: Mapping[str, Any]) -> None:
    setattr(request.state, NOTED, done)


def _lines(counts: LineCounts | None) -> GitLinesAnswer | None:
    return None if counts is None else GitLinesAnswer(additions=counts.additions, deletions=counts.deletions)


def _file(one: FileState, counts: FileCounts) -> GitFileAnswer:
    return GitFileAnswer(
        path=address_of(one.name),
        old_path=None if one.old_name is None else address_of(one.old_name),
        staged=one.staged,
        unstaged=one.unstaged,
        untracked=one.untracked,
        conflict=one.conflict,
        staged_lines=_lines(counts.staged.get(one.name)),
        unstaged_lines=_lines(counts.unstaged.get(one.name)),
    )


def _counts(status: GitStatus) -> GitCountsAnswer:
    def count(these: Iterable[object]) -> int:
        return sum(1 for one in these if one)

    files = status.files
    return GitCountsAnswer(
        staged=count(one.staged for one in files),
        unstaged=count(one.unstaged for one in files),
        untracked=count(one.untracked for one in files),
        conflicted=count(one.conflict for one in files),
    )
