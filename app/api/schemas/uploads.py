"""Uploads on the wire."""

from __future__ import annotations

from pydantic import Field

from app.api.schemas.model import AnswerModel, Time


class UploadAnswer(AnswerModel):
    """An uploaded file."""

    id: str
    project_id: str
    name: str = Field(description="Safe as a file name; it may differ from the name that was sent.")
    media_type: str
    size_bytes: int
    sha256: str = Field(description="In hexadecimal.")
    created_by: str
    created_at: Time
    used_by: str | None = Field(
        description="The issue, interaction or workflow run that uses it. An unused file is removed after "
        "a day."
    )
    used_at: Time | None
