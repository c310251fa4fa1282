"""What an issue is connected with: other issues of its project, and files.

Owns: which links and attachments can be. Never: the content of a file (`uploads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from app.errors import Conflict, NotFound
from app.harness.issues.author import Author
from app.harness.issues.changes import Changed, IssueChanges, changed_event
from app.harness.issues.fields import MAX_NUMBER, wrong
from app.harness.issues.moves import change_issue, require_issue
from app.harness.issues.query import LinkedIssue, links_of
from app.harness.uploads.service import UploadService
from app.ids import new_id, now_ms
from app.storage.models import Issue, IssueLink, Upload
from app.storage.unit_of_work import UnitOfWork

LinkKind = Literal["blocks", "relates", "duplicates"]

MAX_LINKS = 100
MAX_ATTACHMENTS = 50


class IssueRelations:
    """Links and attachments of all issues. Every method raises `NotFound` (`issue_not_found`)."""

    def __init__(self, changes: IssueChanges, uploads: UploadService) -> None:
        self._changes = changes
        self._uploads = uploads

    async def link(
        self, project_id: str, number: int, author: Author, *, kind: LinkKind, target: int
    ) -> LinkedIssue:
        """Connect an issue with another one. Raises `ValidationFailed` when there is no such other issue,
        `Conflict` (`already_linked`, `too_many_links`)."""

        def statements(uow: UnitOfWork) -> Changed[LinkedIssue]:
            issue = require_issue(uow, project_id, number)
            other = uow.issues.by_number(project_id, target) if 0 < target <= MAX_NUMBER else None
            if other is None:
                raise wrong("target", f"there is no issue #{str(target)[:20]} in this project")
            if other.id == issue.id:
                raise wrong("target", "an issue cannot be linked with itself; name another one")
            _require_new(uow, issue, other, kind)
            at = now_ms()
            link = IssueLink(
                id=new_id("isl"),
                issue_id=issue.id,
                target_id=other.id,
                kind=kind,
                created_by=author.name,
                created_at=at,
            )
            uow.issue_links.add(link)
            data = {"kind": kind, "target": target}
            self._changes.audit(uow, "kaged.issue.linked", author, issue, data)
            issue = change_issue(uow, issue, at)
            shown = next(one for one in links_of(uow, issue) if one.id == link.id)
            return Changed(shown, [changed_event(issue, "linked", author)])

        return await self._changes.store(project_id, number, statements)

    async def links(self, project_id: str, number: int) -> Sequence[LinkedIssue]:
        """Return the links from and to an issue, the oldest first."""
        return await self._changes.storage.read(
            lambda uow: links_of(uow, require_issue(uow, project_id, number))
        )

    async def unlink(self, project_id: str, number: int, author: Author, link_id: str) -> None:
        """Remove a link from or to an issue. Raises `NotFound` for a link that it does not have."""

        def statements(uow: UnitOfWork) -> Changed[None]:
            issue = require_issue(uow, project_id, number)
            found = next((one for one in links_of(uow, issue) if one.id == link_id), None)
            if found is None:
                raise NotFound(f"Issue #{number} has no link {link_id}.", details={"number": number})
            uow.issue_links.remove(link_id)
            data = {"kind": found.kind, "target": found.number}
            self._changes.audit(uow, "kaged.issue.unlinked", author, issue, data)
            issue = change_issue(uow, issue, now_ms())
            return Changed(None, [changed_event(issue, "unlinked", author)])

        await self._changes.store(project_id, number, statements)

    def claim(self, uow: UnitOfWork, issue: Issue, upload_ids: Sequence[str]) -> None:
        """Give uploads to an issue that is being filed. Raises `ValidationFailed`."""
        names = [f"attachments.{place}" for place in range(len(upload_ids))]
        self._uploads.claim(uow, upload_ids, issue.project_id, issue.id, fields=names)

    async def attach(
        self, project_id: str, number: int, author: Author, upload_ids: Sequence[str]
    ) -> Sequence[Upload]:
        """Give uploads to an issue; return those given, whose names are distinct among its files.

        Raises `ValidationFailed` for each that cannot be used, `Conflict` (`too_many_attachments`)."""

        def statements(uow: UnitOfWork) -> Changed[Sequence[Upload]]:
            issue = require_issue(uow, project_id, number)
            files = self._uploads.claim(uow, upload_ids, project_id, issue.id)
            held = len(uow.uploads.of_user(issue.id))
            if held > MAX_ATTACHMENTS:
                raise Conflict(
                    f"An issue has at most {MAX_ATTACHMENTS} files; remove some first.",
                    reason="too_many_attachments",
                    details={"limit": MAX_ATTACHMENTS},
                )
            data = {"upload_ids": list(upload_ids)}
            self._changes.audit(uow, "kaged.issue.attached", author, issue, data)
            issue = change_issue(uow, issue, now_ms())
            return Changed(files, [changed_event(issue, "attached", author)])

        return await self._changes.store(project_id, number, statements)

    async def attachments(self, project_id: str, number: int) -> Sequence[Upload]:
        """Return the files of an issue, the oldest first."""
        return await self._changes.storage.read(
            lambda uow: uow.uploads.of_user(require_issue(uow, project_id, number).id)
        )

    async def detach(self, project_id: str, number: int, author: Author, upload_id: str) -> None:
        """Take a file away from an issue; it is removed in time. Raises `NotFound` for one that it does
        not have."""

        def statements(uow: UnitOfWork) -> Changed[None]:
            issue = require_issue(uow, project_id, number)
            file = uow.uploads.get(upload_id)
            if file is None or file.used_by != issue.id:
                raise NotFound(f"Issue #{number} has no file {upload_id}.", details={"number": number})
            uow.uploads.update(upload_id, used_by=None, used_at=None)
            data = {"upload_id": upload_id, "name": file.name}
            self._changes.audit(uow, "kaged.issue.detached", author, issue, data)
            issue = change_issue(uow, issue, now_ms())
            return Changed(None, [changed_event(issue, "detached", author)])

        await self._changes.store(project_id, number, statements)


def _require_new(uow: UnitOfWork, issue: Issue, other: Issue, kind: LinkKind) -> None:
    """Refuse a link that is there, or whose opposite is: two issues cannot block each other."""
    links = uow.issue_links.of_issue(issue.id)
    if len(links) >= MAX_LINKS:
        raise Conflict(
            f"An issue has at most {MAX_LINKS} links; remove some first.",
            reason="too_many_links",
            details={"limit": MAX_LINKS},
        )
    if any(link.kind == kind and other.id in (link.issue_id, link.target_id) for link in links):
        raise Conflict(
            f"Issues #{issue.number} and #{other.number} have a link “{kind}” already, in one direction or "
            "the other. Remove it first to turn it round.",
            reason="already_linked",
            details={"kind": kind, "target": other.number},
        )
