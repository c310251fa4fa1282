"""Routes for issues.

Owns: parsing and answering. Never: what a change means (`harness.issues`). Checklists have routes of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from app.api.dependencies import AuthorDep, PageDep, PrincipalDep, ProjectId, ServicesDep, UploadId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.issues import (
    AttachFiles,
    CommentOnIssue,
    CreateIssue,
    EditedIssue,
    EditIssue,
    IssueAnswer,
    IssueAttachments,
    IssueDetailAnswer,
    IssueLinkAnswer,
    IssueLinks,
    IssuePage,
    IssueSummary,
    IssueUpdateAnswer,
    LinkIssue,
    TransitionedIssue,
    TransitionIssue,
    fields_of,
)
from app.api.schemas.model import PageOf
from app.api.schemas.uploads import UploadAnswer
from app.events.issues import IssueStatus
from app.harness.issues.editing import NOT_GIVEN
from app.harness.issues.query import IssueFilter, LinkedIssue
from app.harness.issues.service import Moved
from app.storage.keyed_effect import answer_with
from app.storage.models import Issue, IssueUpdate, Upload

router: APIRouter = noun_router("Issues")

IssueNumber = Annotated[int, Path(description="The number of an issue within its project.")]
LinkId = Annotated[str, Path(description="A link's id, `isl_...`.", max_length=64)]


@router.get("/projects/{project_id}/issues", summary="List the issues of a project, newest first")
async def list_issues(
    services: ServicesDep,
    principal: PrincipalDep,
    project_id: ProjectId,
    page: PageDep,
    status: Annotated[
        list[IssueStatus] | None, Query(description="Only issues with this status; may be repeated.")
    ] = None,
    assignment: Annotated[
        str | None, Query(max_length=200, description="Only issues with this assignment.")
    ] = None,
    search: Annotated[
        str | None,
        Query(
            description='Words that must all occur in title, text or comments: `"a phrase"`, `prefix*`, '
            "`-without`, `OR` between alternatives. The best matches come first."
        ),
    ] = None,
) -> IssuePage:
    found = await services.management.issues.list(
        project_id,
        IssueFilter(
            statuses=tuple(status or ()),
            assignment=assignment,
            search=search,
            internal=principal.may_write,
        ),
        limit=page.limit,
        cursor=page.cursor,
    )
    items = [IssueSummary.model_validate(issue) for issue in found.items]
    return IssuePage(items=items, next_cursor=found.next_cursor, total=found.total)


@router.post(
    "/projects/{project_id}/issues", summary="File an issue", status_code=201, dependencies=[IDEMPOTENT]
)
async def create_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, body: CreateIssue
) -> IssueAnswer:
    answer_with(Issue, lambda issue: (201, IssueAnswer.model_validate(issue)))
    issue = await services.management.issues.create(
        project_id, author, title=body.title, body=body.body, attachments=body.attachments
    )
    return IssueAnswer.model_validate(issue)


@router.get(
    "/projects/{project_id}/issues/{number}",
    summary="Show an issue with its history, links, files and checklist counts",
)
async def get_issue(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, number: IssueNumber
) -> IssueDetailAnswer:
    """Comments for operators only are shown to operators."""
    found = await services.management.issues.get(project_id, number, internal=principal.may_write)
    return IssueDetailAnswer.of(found)


@router.patch(
    "/projects/{project_id}/issues/{number}", summary="Change title, text or assignment of an issue"
)
async def edit_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, body: EditIssue
) -> EditedIssue:
    """An assignment starts the work: `primary` starts a session, `workflow:<name>` starts a run of the
    workflow, `session:<id>` binds that session. The issue becomes `assigned`, unless it is in progress."""
    given = body.assignment if "assignment" in body.model_fields_set else NOT_GIVEN
    edited = await services.management.issues.edit(
        project_id, number, author, title=body.title, body=body.body, assignment=given
    )
    return EditedIssue.model_validate(
        {**fields_of(edited.issue), "updated_fields": list(edited.updated_fields)}
    )


@router.post(
    "/projects/{project_id}/issues/{number}/comments",
    summary="Add a comment to an issue",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def comment_on_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, body: CommentOnIssue
) -> IssueUpdateAnswer:
    answer_with(IssueUpdate, lambda update: (201, IssueUpdateAnswer.model_validate(update)))
    update = await services.management.issues.comment(
        project_id, number, author, body=body.body, visibility=body.visibility
    )
    return IssueUpdateAnswer.model_validate(update)


@router.post(
    "/projects/{project_id}/issues/{number}/transition",
    summary="Move an issue to another status",
    dependencies=[IDEMPOTENT],
)
async def transition_issue(
    services: ServicesDep,
    author: AuthorDep,
    project_id: ProjectId,
    number: IssueNumber,
    body: TransitionIssue,
) -> TransitionedIssue:
    """An illegal transition is a conflict with `details.legal`. Resolving an issue accepts the remaining
    criteria of its checklist."""
    answer_with(Moved, lambda moved: (200, _transitioned(moved)))
    moved = await services.management.issues.transition(
        project_id, number, author, to=body.to, comment=body.comment
    )
    return _transitioned(moved)


def _transitioned(moved: Moved) -> TransitionedIssue:
    return TransitionedIssue.model_validate({**fields_of(moved.issue), "previous_status": moved.before})


@router.get(
    "/projects/{project_id}/issues/{number}/updates", summary="List the history of an issue, newest first"
)
async def list_issue_updates(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, number: IssueNumber, page: PageDep
) -> PageOf[IssueUpdateAnswer]:
    """Comments for operators only are shown to operators."""
    found = await services.management.issues.updates(
        project_id, number, internal=principal.may_write, limit=page.limit, cursor=page.cursor
    )
    return answer_page(found, IssueUpdateAnswer.model_validate)


@router.get("/projects/{project_id}/issues/{number}/links", summary="List the links from and to an issue")
async def list_issue_links(services: ServicesDep, project_id: ProjectId, number: IssueNumber) -> IssueLinks:
    found = await services.management.issues.relations.links(project_id, number)
    return IssueLinks.whole([IssueLinkAnswer.of(link) for link in found])


@router.post(
    "/projects/{project_id}/issues/{number}/links",
    summary="Link an issue to another issue",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def link_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, body: LinkIssue
) -> IssueLinkAnswer:
    """Two issues have at most one link of a kind in each direction."""
    answer_with(LinkedIssue, lambda link: (201, IssueLinkAnswer.of(link)))
    link = await services.management.issues.relations.link(
        project_id, number, author, kind=body.kind, target=body.target
    )
    return IssueLinkAnswer.of(link)


@router.delete(
    "/projects/{project_id}/issues/{number}/links/{link_id}",
    summary="Remove a link from or to an issue",
    status_code=204,
)
async def unlink_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, link_id: LinkId
) -> Response:
    await services.management.issues.relations.unlink(project_id, number, author, link_id)
    return Response(status_code=204)


@router.get("/projects/{project_id}/issues/{number}/attachments", summary="List the files of an issue")
async def list_issue_attachments(
    services: ServicesDep, project_id: ProjectId, number: IssueNumber
) -> IssueAttachments:
    """Their contents are at `/uploads/{id}/content`."""
    return _attached(await services.management.issues.relations.attachments(project_id, number))


@router.post(
    "/projects/{project_id}/issues/{number}/attachments",
    summary="Attach uploaded files to an issue",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def attach_files_to_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, body: AttachFiles
) -> IssueAttachments:
    """Upload them first with `POST /uploads`."""
    answer_with(list, lambda files: (201, _attached(files)))
    return _attached(
        await services.management.issues.relations.attach(project_id, number, author, body.upload_ids)
    )


def _attached(files: Sequence[Upload]) -> IssueAttachments:
    return IssueAttachments.whole([UploadAnswer.model_validate(file) for file in files])


@router.delete(
    "/projects/{project_id}/issues/{number}/attachments/{upload_id}",
    summary="Remove a file from an issue",
    status_code=204,
)
async def detach_file_from_issue(
    services: ServicesDep, author: AuthorDep, project_id: ProjectId, number: IssueNumber, upload_id: UploadId
) -> Response:
    """The file is deleted later, because nothing uses it any more."""
    await services.management.issues.relations.detach(project_id, number, author, upload_id)
    return Response(status_code=204)
