"""Routes for uploads: upload, show, download and delete a file.

Owns: parsing and answering, and how the body of an upload is read. Never: keeping files
(`harness.uploads`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from app.api.dependencies import PrincipalDep, ServicesDep, UploadId
from app.api.idempotency import Idempotency
from app.api.kaged_route import IdempotencyKeyHeader, noun_router, scope_of_key
from app.api.multipart_file import MultipartFile, is_multipart
from app.api.schemas.uploads import UploadAnswer
from app.errors import ValidationFailed
from app.harness.uploads.content import too_large
from app.harness.uploads.service import ReceivedFile
from app.storage.keyed_effect import answer_with
from app.storage.models import Upload

router: APIRouter = noun_router("Uploads")

_BINARY = {"type": "string", "format": "binary"}
# Generators of clients know no range of types, but the type of a file whose type nobody knows.
_ANY_FILE = {"*/*": {"schema": _BINARY}, "application/octet-stream": {"schema": _BINARY}}
FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself, or a form with exactly one file part.",
        "content": {
            "application/octet-stream": {"schema": _BINARY},
            "multipart/form-data": {
                "schema": {"type": "object", "required": ["file"], "properties": {"file": _BINARY}}
            },
        },
    }
}
"""What the OpenAPI document says of a body that is a file."""

FileName = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="The file name; required with a raw body, and used instead of the name in a form. It is "
        "reduced to a safe last part.",
    ),
]


@router.post(
    "/uploads",
    summary="Upload a file",
    status_code=201,
    response_model=UploadAnswer,
    openapi_extra=FILE_BODY,
)
async def upload_file(
    request: Request,
    services: ServicesDep,
    principal: PrincipalDep,
    project_id: Annotated[str, Query(max_length=64, description="The project of the file.")],
    name: FileName = None,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Use its id where a file is expected: in the answer to a form, in the attachments of an issue, or in the
    inputs of a workflow. An unused file is removed after a day."""
    services.projects.get(project_id)
    return await receive_file(
        request, services, project_id=project_id, name=name, created_by=principal.actor, key=idempotency_key
    )


async def receive_file(
    request: Request,
    services: ServicesDep,
    *,
    project_id: str,
    name: str | None,
    created_by: str,
    key: str | None,
) -> Response:
    """Read the request's body to the disk and keep it; return the answer of the upload.

    The body is on the disk when the key is looked at, because the key belongs to what the body is,
    and no upload is ever held in memory."""
    content_type = request.headers.get("content-type", "")
    form = MultipartFile(content_type, request.stream()) if is_multipart(content_type) else None
    if form is None and not name:
        raise ValidationFailed("The file has no name.", fields={"name": "is required with a raw body"})
    if form is None:
        _check_announced(request, services.management.uploads.max_bytes)
    pieces: AsyncIterator[bytes] = request.stream() if form is None else form.pieces()
    async with services.management.uploads.received(pieces) as received:
        chosen = name or (form.name if form is not None else "")
        media_type = form.media_type if form is not None else content_type

        async def keep() -> Response:
            answer_with(Upload, lambda row: (201, UploadAnswer.model_validate(row)))
            row = await services.management.uploads.keep(
                received, project_id=project_id, name=chosen, media_type=media_type, created_by=created_by
            )
            return _created(row)

        if key is None:
            return await keep()
        idempotency: Idempotency = request.app.state.idempotency
        return await idempotency.once(
            services.storage,
            scope=scope_of_key(request),
            key=key,
            body=_identity(received, project_id, chosen),
            call=keep,
        )


@router.get("/uploads/{upload_id}", summary="Show an uploaded file")
async def get_upload(services: ServicesDep, upload_id: UploadId) -> UploadAnswer:
    return UploadAnswer.model_validate(await services.management.uploads.get(upload_id))


@router.get(
    "/uploads/{upload_id}/content",
    summary="Download an uploaded file",
    response_class=Response,
    responses={
        200: {"content": _ANY_FILE, "description": "The file, with its own media type."},
        206: {"content": _ANY_FILE, "description": "The part that the header `Range` requests."},
        410: {"$ref": "#/components/responses/Error410"},
    },
)
async def get_upload_content(services: ServicesDep, upload_id: UploadId) -> Response:
    """Sent as an attachment. `Range` may request one range of bytes; any other `Range` returns the whole
    file."""
    row, path = await services.management.uploads.content(upload_id)
    return _Download(path, row)


@router.delete("/uploads/{upload_id}", summary="Delete an unused upload", status_code=204)
async def delete_upload(services: ServicesDep, upload_id: UploadId) -> Response:
    await services.management.uploads.delete(upload_id)
    return Response(status_code=204)


class _Download(FileResponse):
    """The content of an upload, never shown by a browser in place of a page."""

    def __init__(self, path: Path, row: Upload) -> None:
        super().__init__(path, media_type=row.media_type, filename=row.name, headers=_headers(row))
        self._size = row.size_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_satisfiable(scope, self._size):
            # A server may ignore the header; the framework would answer in plain text.
            headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
            scope = {**scope, "headers": headers}
        await super().__call__(scope, receive, send)


_ONE_RANGE = re.compile(rb"bytes=(\d{0,18})-(\d{0,18})")


def _is_satisfiable(scope: Scope, size: int) -> bool:
    values = [value for name, value in scope["headers"] if name == b"range"]
    match = _ONE_RANGE.fullmatch(values[0]) if len(values) == 1 else None
    if match is None:
        return False
    first, last = match.groups()
    if not first:
        return bool(last) and int(last) > 0 and size > 0
    return int(first) < size and (not last or int(last) >= int(first))


def _headers(row: Upload) -> Mapping[str, str]:
    return {
        "etag": f'"{row.sha256}"',
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    }


def _check_announced(request: Request, limit: int) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise too_large(limit)


def _created(row: Upload) -> Response:
    body = UploadAnswer.model_validate(row).model_dump_json().encode()
    return Response(body, 201, media_type="application/json")


def _identity(received: ReceivedFile, project_id: str, name: str) -> bytes:
    """What makes two uploads the same: the content by its digest, and what it is called where."""
    return f"{received.sha256} {project_id} {name}".encode("utf-8", "replace")
