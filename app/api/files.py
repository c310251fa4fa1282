"""Routes for the files of a project: a folder's entries, a file's content and problems, search by name and
of what they declare.

Owns: parsing and answering. Never: reading files (`harness.files`). Agents' tokens have the tools for files
instead, which know their cage.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from app.api.dependencies import PrincipalDep, ProjectId, ServicesDep
from app.api.file_response import FileBytes
from app.api.kaged_route import noun_router
from app.api.schemas.files import (
    FileEntry,
    FileHit,
    FileHits,
    FilePosition,
    FileProblem,
    FileProblems,
    FileText,
    FileTreePage,
    GitStateAnswer,
    SymbolHit,
    SymbolHits,
)
from app.harness.files.entry_details import modified_at
from app.harness.files.listing import sort_key
from app.harness.files.service import FileAddress
from app.storage.pages import decode_cursor, encode_cursor
from app.tools.search.fuzzy import MAX_QUERY
from app.tools.search.name_index import NameQuery
from app.tools.search.symbol_index import SymbolQuery
from app.workspace.any_names import address_of, path_at

router: APIRouter = noun_router("Files")

MAX_DEPTH = 32
MAX_WAIT = 20.0
_CURSOR = "files"
_BINARY = {"type": "string", "format": "binary"}
_ANY_FILE = {"*/*": {"schema": _BINARY}, "application/octet-stream": {"schema": _BINARY}}

Folder = Annotated[
    str,
    Query(
        max_length=16_384,
        description="The folder or file, as lists show it. Symbolic links in it are followed.",
    ),
]
InSession = Annotated[
    str | None,
    Query(
        max_length=64,
        description="A session of the project: return the files of its workspace, if it has one.",
    ),
]


def file_address(project_id: ProjectId, path: Folder = ".", session_id: InSession = None) -> FileAddress:
    """Return which file or folder a request is about."""
    place = path_at(path)
    if place.startswith("~"):  # a name, as a list shows it
        place = f"./{place}"
    return FileAddress(project_id, place or ".", session_id)


AddressDep = Annotated[FileAddress, Depends(file_address)]


@router.get("/projects/{project_id}/files", summary="List a folder of a project")
async def list_files(
    services: ServicesDep,
    address: AddressDep,
    depth: Annotated[int, Query(ge=1, le=MAX_DEPTH, description="How many levels; 1 is the folder.")] = 1,
    ignored: Annotated[bool, Query(description="Include ignored files, and folders such as `.git`.")] = False,
    limit: Annotated[int, Query(ge=1, le=100, description="The maximum number of items.")] = 25,
    cursor: Annotated[
        str | None, Query(max_length=16_384, description="The `next_cursor` of the previous page.")
    ] = None,
) -> FileTreePage:
    """Symbolic links are listed and not followed. Sizes and times are current. An ignored folder is listed
    with all its content when `path` names it."""
    after = None
    if cursor is not None:
        place, is_folder = decode_cursor(cursor, _CURSOR, (str, bool))
        after = sort_key(path_at(place), is_folder=is_folder)
    tree = await services.management.folders.files.tree(
        address, depth=depth, everything=ignored, after=after, limit=limit
    )
    following = None
    if tree.more:
        last = tree.entries[-1]
        following = encode_cursor(_CURSOR, (address_of(last.path), last.kind == "folder"))
    return FileTreePage(
        items=[FileEntry.model_validate(one) for one in tree.details],
        next_cursor=following,
        total=tree.total,
        folder=address_of(tree.folder),
        complete=tree.is_whole,
        git=GitStateAnswer.model_validate(tree.status),
    )


@router.get(
    "/projects/{project_id}/files/content",
    summary="Download a file of a project",
    response_class=Response,
    responses={
        200: {
            "content": _ANY_FILE,
            "description": "The file: text as `text/plain`, everything else as an attachment.",
        },
        206: {"content": _ANY_FILE, "description": "The part that the header `Range` requests."},
        304: {"description": "The file is the one that `If-None-Match` names."},
        416: {"$ref": "#/components/responses/Error416"},
    },
)
async def get_file_content(
    request: Request, services: ServicesDep, principal: PrincipalDep, address: AddressDep
) -> Response:
    """The bytes as they are. `Range` may request one range, `If-None-Match` and `If-Range` take the `ETag`.
    The connection breaks when the file changes during the download, unless it only grows. A read-only token
    does not get files that usually hold credentials (403, `secret_file`)."""
    file = await services.management.folders.files.open(address, secrets=principal.may_write)
    return FileBytes(file, request.headers)


@router.get("/projects/{project_id}/files/text", summary="Read lines of a text file of a project")
async def get_file_text(
    services: ServicesDep,
    principal: PrincipalDep,
    address: AddressDep,
    line: Annotated[int, Query(ge=1, le=2**31, description="The first line, from 1.")] = 1,
    limit: Annotated[int, Query(ge=1, le=10_000, description="The maximum number of lines.")] = 2_000,
) -> FileText:
    """At most 256 KiB of lines. The encoding is detected. A file that is not text is a conflict
    (`binary_file`). For read-only tokens the rules of the content hold."""
    found = await services.management.folders.files.text(
        address, offset=line, limit=limit, secrets=principal.may_write
    )
    scanned, status = found.scanned, found.file.status
    return FileText(
        path=address_of("/".join(found.file.parts)),
        first_line=line,
        lines=list(scanned.lines),
        next_line=scanned.next_offset(line),
        total_lines=scanned.total_lines if scanned.seen is None else None,
        size=status.st_size,
        modified_at=modified_at(status),
        encoding=scanned.text_format.name if scanned.text_format is not None else "utf-8",
        line_ending=_line_ending(scanned.carriage_returns, len(scanned.lines)),
        digest=None if scanned.digest is None else scanned.digest.hex(),
    )


@router.get("/projects/{project_id}/files/problems", summary="Read what language servers find in a file")
async def get_file_problems(
    services: ServicesDep,
    principal: PrincipalDep,
    address: AddressDep,
    wait: Annotated[
        float, Query(ge=0.1, le=MAX_WAIT, description="How many seconds to wait for the server's answer.")
    ] = 5.0,
) -> FileProblems:
    """Starts the language server of the file if it does not run, as the tools of agents do. At most 500
    problems, the most serious ones, by position; `total` counts all. For read-only tokens the rules of the
    content hold, and the server's words are withheld."""
    found = await services.management.folders.problems.of(address, seconds=wait, secrets=principal.may_write)
    items = [
        FileProblem(
            severity=one.severity,
            start=FilePosition(line=one.line, column=one.character + 1),
            end=FilePosition(line=one.end_line, column=one.end_character + 1),
            message=one.message,
            source=one.source,
            code=one.code,
        )
        for one in found.found
    ]
    return FileProblems(
        items=items,
        next_cursor=None,
        total=found.total,
        path=address_of(found.path),
        state=found.state,
        reason=found.words or None,
        server=found.server,
    )


@router.get("/projects/{project_id}/files/search", summary="Search files of a project by name")
async def search_files(
    services: ServicesDep,
    project_id: ProjectId,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY,
            description="Letters of the path in their order, as in editors. All terms between blanks must "
            "match; an `@` at the start is ignored. Empty: the files changed last.",
        ),
    ] = "",
    kind: Annotated[
        Literal["any", "file", "folder"], Query(description="Search files, folders or both.")
    ] = "any",
    limit: Annotated[int, Query(ge=1, le=100, description="The maximum number of items.")] = 25,
    session_id: InSession = None,
) -> FileHits:
    """Ignored files are not found. Consecutive letters, and letters at word starts and in the file's own
    name, score higher. Among equal scores the shorter path is first, then the file changed last. The first
    search of a project takes longer, because it lists the files."""
    query = NameQuery.parse(q, files=kind != "folder", folders=kind != "file")
    found = await services.management.folders.files.search(
        FileAddress(project_id, ".", session_id), query, limit
    )
    hits = [
        FileHit(
            path=one.path,
            name=one.name,
            kind="folder" if one.hit.is_folder else "file",
            score=one.hit.fit.score,
            positions=one.positions,
            modified_at=one.modified_at,
        )
        for one in found.names
    ]
    return FileHits(
        items=hits, next_cursor=None, total=len(hits), searched=found.searched, complete=found.is_whole
    )


@router.get("/projects/{project_id}/symbols", summary="Search what the files of a project declare")
async def search_symbols(
    services: ServicesDep,
    project_id: ProjectId,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY,
            description="Letters of the name in their order, as in editors; before the name parts of what is "
            "around it, or of the path (`Basket.total`, `basket total`). An `@` at the start is ignored. "
            "Empty: nothing.",
        ),
    ] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="The maximum number of items.")] = 25,
    session_id: InSession = None,
) -> SymbolHits:
    """Classes, functions and the like, by the syntax of the files: no language server is needed, and nothing
    of the project runs. Ignored files are not searched. The first search of a project reads its source
    files, later ones what has changed; an answer waits 1.5 seconds for it at most."""
    query = SymbolQuery.parse(q)
    found = await services.management.folders.symbols.search(project_id, session_id, query, limit)
    hits = [
        SymbolHit(
            name=one.declared.name,
            kind=one.declared.kind,
            container=one.declared.container,
            path=address_of(one.path),
            line=one.declared.line,
            score=one.fit.score,
            positions=list(one.fit.positions),
        )
        for one in found.hits
    ]
    return SymbolHits(
        items=hits,
        next_cursor=None,
        total=len(hits),
        state=found.state,
        reason=found.reason,
        searched=found.searched,
        complete=found.is_whole,
    )


def _line_ending(carriage_returns: int, lines: int) -> Literal["lf", "crlf", "mixed"]:
    if not carriage_returns:
        return "lf"
    return "crlf" if carriage_returns >= lines - 1 else "mixed"
