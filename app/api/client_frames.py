"""The frames that a client may send on a WebSocket: a closed union, parsed strictly.

Owns: the frames and their limits. Never: acting on them (`stream`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app.api.error_handlers import error_words, validation_error
from app.api.json_body import parse_json
from app.api.schemas.interactions import AnswerInteraction, FormValue, GivenTexts
from app.errors import BadRequest, KagedError
from app.events.payload import Channel
from app.events.union import rfc3339
from app.ids import now_ms
from app.observability import Redactor

MAX_FRAME_CHARACTERS = 64 * 1024


class ClientFrame(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", strict=True, frozen=True)


class Ack(ClientFrame):
    """The client has processed every frame up to `seq`."""

    type: Literal["ack"]
    seq: int = Field(ge=0, le=2**62)


class Ping(ClientFrame):
    """Request a `pong` with the same `id`."""

    type: Literal["ping"]
    id: Annotated[str, Field(max_length=64)] | int | None = None


class Subscribe(ClientFrame):
    """Send only frames of these channels from now on."""

    type: Literal["subscribe"]
    channels: list[Channel] = Field(min_length=1, max_length=8)


class Cancel(ClientFrame):
    """As `POST /sessions/{id}/cancel`."""

    type: Literal["cancel"]


class Pause(ClientFrame):
    """As `POST /sessions/{id}/pause`."""

    type: Literal["pause"]


class Answer(ClientFrame):
    """As `POST /sessions/{id}/interactions/{interaction_id}/answer`, with the fields of its body."""

    type: Literal["answer"]
    interaction_id: Annotated[str, Field(max_length=64)]
    answer: str | None = None
    rule: int | str | None = None
    scope: str | None = None
    comment: str | None = None
    answers: GivenTexts = None
    values: dict[str, FormValue] | None = None
    decision: str | None = None
    mode: str | None = None
    plan: str | None = None

    def body(self) -> AnswerInteraction:
        """Return the body of the route; raises `ValidationFailed`."""
        given = self.model_dump(exclude={"type", "interaction_id"}, exclude_unset=True)
        try:
            return AnswerInteraction.model_validate(given)
        except ValidationError as error:
            raise validation_error(list(error.errors(include_url=False, include_input=False))) from None


OneFrame = Ack | Ping | Subscribe | Cancel | Pause | Answer
_FRAMES: dict[str, type[BaseModel]] = {
    get_args(frame.model_fields["type"].annotation)[0]: frame for frame in get_args(OneFrame)
}
CLIENT_FRAMES: TypeAdapter[OneFrame] = TypeAdapter(Annotated[OneFrame, Field(discriminator="type")])


def parse_client_frame(text: str) -> OneFrame:
    """Return the frame in `text`. Raises `BadRequest` or `ValidationFailed`."""
    if len(text) > MAX_FRAME_CHARACTERS:
        raise BadRequest(f"A frame has at most {MAX_FRAME_CHARACTERS} characters.", reason="frame_too_large")
    value = parse_json(text.encode("utf-8", "surrogatepass"), "frame")
    try:
        return CLIENT_FRAMES.validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        # A location begins with the type of the frame, which is no field.
        frame = _FRAMES.get(str(found[0]["loc"][0])) if found[0]["loc"] else None
        raise validation_error(
            [{**one, "loc": one["loc"][1:] or ("type",)} for one in found], frame
        ) from None


class Pong(BaseModel):
    """The answer to a `ping`, with its `id`."""

    id: str | int | None


class FrameError(BaseModel):
    """The error of a frame that the client sent."""

    code: str
    message: str
    details: dict[str, Any] | None = None


SOCKET_FRAMES: dict[str, type[BaseModel]] = {"pong": Pong, "error": FrameError}
"""The frames of the socket itself, by type; all others belong to a session."""


def pong_text(ping: Ping) -> str:
    """Return the answer to a ping. It has no `seq`, because it belongs to the socket."""
    return _socket_frame("pong", Pong(id=ping.id).model_dump())


def error_text(error: KagedError, redactor: Redactor) -> str:
    """Return the error frame for a frame of the client."""
    message, details = error_words(error, redactor)
    given: dict[str, Any] = {"details": details} if details else {}
    frame = FrameError(code=error.code, message=message, **given)
    return _socket_frame("error", frame.model_dump(exclude_unset=True))


def owners_error_text(error: Mapping[str, Any]) -> str:
    """Return the error frame for the `error` with which the owner of the session has refused a command."""
    given = {name: error[name] for name in FrameError.model_fields if error.get(name) is not None}
    return _socket_frame("error", FrameError.model_validate(given).model_dump(exclude_unset=True))


def _socket_frame(frame_type: str, payload: dict[str, Any]) -> str:
    frame = {"channel": "events", "type": frame_type, "ts": rfc3339(now_ms()), "payload": payload}
    return orjson.dumps(frame, default=str).decode()
