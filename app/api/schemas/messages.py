"""Messages on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.attempts import AskAttempts, AttemptGroupAnswer
from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.runs import RunAnswer
from app.tools.documents.picture import ImageType

MAX_CONTENT_CHARACTERS = 4_000_000
MAX_ATTACHMENTS = 20


class ImageAttachment(RequestModel):
    """An image, base64 encoded."""

    type: Literal["image"] = "image"
    media_type: ImageType
    data: str = Field(min_length=4, pattern=r"^[A-Za-z0-9+/]+={0,2}$")


class PostMessage(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"content": "Why does test_total fail?"}})

    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
    # A list: its length is checked before its items.
    attachments: list[ImageAttachment] = Field(default=[], max_length=MAX_ATTACHMENTS)
    upload_ids: list[Annotated[str, Field(max_length=64)]] = Field(
        default=[],
        max_length=MAX_ATTACHMENTS,
        description="Uploaded files. The session owns them. They are copied to where it works, "
        "`.kaged/tmp/<session>/<name>`, and the text names their paths.",
    )
    model: str | None = Field(
        default=None, max_length=200, description="An alias or `provider:model` for the run of this message."
    )
    mode: Literal["queue", "steer", "reject"] | None = Field(
        default=None,
        description="During an active run: queue the message (`queue`, the default), steer the run at its "
        "next message boundary (`steer`), or refuse the message (`reject`).",
    )
    attempts: AskAttempts | None = Field(
        default=None,
        description="Post the message to several forks of the session, each in its own workspace. The "
        "session itself does not get it. Not with `model` or `mode`.",
    )


class StartAttempts(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"content": "Fix the parser.", "attempts": {"n": 3, "check": "make test"}}
        }
    )

    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
    title: str | None = Field(default=None, max_length=150, description="The start of each session's title.")
    attempts: AskAttempts


class EditMessage(RequestModel):
    """Omitted fields do not change."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "Why does test_sum fail?"}})

    content: Annotated[str, Field(max_length=MAX_CONTENT_CHARACTERS)] | None = None
    mode: Literal["queue", "steer"] | None = Field(
        default=None,
        description="Let the message wait for the end of the run (`queue`), or for its next message boundary "
        "(`steer`). In an idle session either one runs the message now.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> EditMessage:
        if self.content is None and self.mode is None:
            raise ValueError("give a content, a mode or both")
        return self


class MessageAnswer(AnswerModel):
    """One message. `position` is null while it is queued."""

    id: str
    session_id: str
    run_id: str | None
    agent_path: str
    position: int | None
    role: str
    content: str
    details: dict[str, Any]
    complete: bool
    superseded: bool
    superseded_by: str | None = Field(
        description="The rollback (`rbk_`) or compaction (`cmp_`) that superseded it."
    )
    delivery: str
    created_at: Time


class SupersededMessages(AnswerModel):
    """Messages that left a conversation together. `messages` counts them without the results of tools."""

    by: str | None = Field(description="The rollback (`rbk_`) or compaction (`cmp_`).")
    messages: int
    position: int = Field(description="Where the first of them stood.")


class SupersededAnswer(AnswerModel):
    items: list[SupersededMessages]


def brief(row: Any) -> MessageAnswer:
    """Return a stored message without the bytes of images in tool results."""
    answer = MessageAnswer.model_validate(row)
    if "images" not in answer.details:
        return answer
    images = [{**image, "data": None} for image in answer.details["images"]]
    return answer.model_copy(update={"details": {**answer.details, "images": images}})


class PostedMessageAnswer(AnswerModel):
    """The stored message, and the run that it started (null when it was queued or steered). With `attempts`
    it is the message of the first attempt, and `attempt_group` is what was started."""

    message: MessageAnswer
    run: RunAnswer | None
    queued: bool
    attempt_group: AttemptGroupAnswer | None = None
