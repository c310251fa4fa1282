"""The dependencies of routes: services, principal, page of a list.

Owns: reading them from a connection; each takes `HTTPConnection`, so that REST and WebSocket
share it. Never: building a service (`lifespan`) or deciding who is let in (`access_middleware`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.requests import HTTPConnection

from app.access.scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.error_handlers import REQUEST_ID_KEY, request_id_of
from app.daemon.services import Services
from app.errors import Forbidden
from app.harness.issues.author import Author


def get_services(connection: HTTPConnection) -> Services:
    """Return what the composition root built for this application."""
    services: Services = connection.app.state.services
    return services


def get_principal(connection: HTTPConnection) -> Principal:
    """Return who is asking, as the access middleware found out."""
    principal: Principal = connection.scope[PRINCIPAL_KEY]
    return principal


def get_operator(connection: HTTPConnection) -> Principal:
    """Return who is asking; refuse a read-only token even a look."""
    principal = get_principal(connection)
    if not principal.may_write:
        raise Forbidden("This needs an operator's token.", reason="read_only")
    return principal


def get_author(connection: HTTPConnection) -> Author:
    """Return who makes a change that a history and the audit trail name."""
    return Author.of_operator(get_principal(connection).actor, connection.scope.get(REQUEST_ID_KEY))


ServicesDep = Annotated[Services, Depends(get_services)]
PrincipalDep = Annotated[Principal, Depends(get_principal)]
OperatorDep = Annotated[Principal, Depends(get_operator)]
AuthorDep = Annotated[Author, Depends(get_author)]
RequestId = Annotated[str, Depends(request_id_of)]
"""The id that the answer to the request bears."""

SessionId = Annotated[str, Path(description="A session's id, `ses_...`.", max_length=64)]
ProjectId = Annotated[str, Path(description="A project's id, `prj_...`.", max_length=64)]
MessageId = Annotated[str, Path(description="A message's id, `msg_...`.", max_length=64)]
RunId = Annotated[str, Path(description="A run's id, `run_...`.", max_length=64)]
InteractionId = Annotated[str, Path(description="An interaction's id, `itx_...`.", max_length=64)]
UploadId = Annotated[str, Path(description="An upload's id, `upl_...`.", max_length=64)]
CommandId = Annotated[str, Path(description="A shell command's id, `cmd_...`.", max_length=64)]
WorkspaceId = Annotated[str, Path(description="A workspace's id, `wks_...`.", max_length=64)]
RuleId = Annotated[str, Path(description="A permission rule's id, `rul_...`.", max_length=64)]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a list."""

    limit: int
    cursor: str | None


def get_page_request(
    limit: Annotated[int, Query(ge=1, le=100, description="The maximum number of items.")] = 25,
    cursor: Annotated[
        str | None, Query(max_length=512, description="The `next_cursor` of the previous page.")
    ] = None,
) -> PageRequest:
    return PageRequest(limit, cursor)


PageDep = Annotated[PageRequest, Depends(get_page_request)]
