"""What a request says, in the harness's words.

Owns: which requests are refused, and messages of the protocol as turns of a conversation. Never: the wire
(`wire`), or storing a turn.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence
from typing import Any

from app.api.chat.wire import ChatCompletionRequest, ChatMessage, ContentPart
from app.api.protocol_errors import bad_field
from app.api.schemas.messages import MAX_ATTACHMENTS, MAX_CONTENT_CHARACTERS
from app.harness.sessions.opening import Role, Turn
from app.tools.documents.picture import IMAGE_TYPES

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "operator",
    "assistant": "primary",
}
_OWN_TOOLS = "An agent has its own tools, which its project file enables: send no tools."


def refuse_unsupported(request: ChatCompletionRequest) -> None:
    """Raise `BadRequest` for what would make the answer another one than the client expects."""
    one = request
    for param, asked, message in (
        ("tools", bool(one.tools), _OWN_TOOLS),
        ("functions", bool(one.functions), _OWN_TOOLS),
        ("n", one.n not in (None, 1), "An agent gives one answer: send n=1 or leave it out."),
        (
            "response_format",
            one.response_format is not None and one.response_format.type != "text",
            "The format of an agent's answer is text. Ask for another one in the message.",
        ),
        ("stop", bool(one.stop), "An agent's answer has no stop sequences."),
        ("logprobs", bool(one.logprobs), "There are no log probabilities of an agent's answer."),
        ("top_logprobs", bool(one.top_logprobs), "There are no log probabilities of an agent's answer."),
        ("modalities", bool(one.modalities) and one.modalities != ["text"], "An agent answers with text."),
        ("audio", one.audio is not None, "An agent answers with text."),
        (
            "web_search_options",
            one.web_search_options is not None,
            "The project file decides whether an agent searches the web.",
        ),
    ):
        if asked:
            raise bad_field(param, message)


def turns_of(messages: Sequence[ChatMessage]) -> list[Turn]:
    """Return all messages; the last one is the user's. Raises `BadRequest`."""
    last_turn(messages)
    return [_turn(message, f"messages.{index}") for index, message in enumerate(messages)]


def last_turn(messages: Sequence[ChatMessage]) -> Turn:
    """Return the last message, which is the user's. Raises `BadRequest`."""
    place = f"messages.{len(messages) - 1}"
    if messages[-1].role != "user":
        raise bad_field(
            f"{place}.role",
            "The last message must be one of the user, which the agent answers.",
            "no_question",
        )
    turn = _turn(messages[-1], place)
    if not turn.content.strip() and not turn.attachments:
        raise bad_field(f"{place}.content", "The last message is empty.", "empty_message")
    return turn


def _turn(message: ChatMessage, place: str) -> Turn:
    role = _ROLES.get(message.role)
    if role is None:
        raise bad_field(
            f"{place}.role",
            f"The role {message.role!r} is not supported; roles are: {', '.join(_ROLES)}.",
            "unsupported_role",
        )
    if message.tool_calls or message.function_call:
        param = "tool_calls" if message.tool_calls else "function_call"
        raise bad_field(f"{place}.{param}", _OWN_TOOLS)
    if message.content is None:
        if role != "primary":
            raise bad_field(f"{place}.content", "The message has no content.", "missing_content")
        return Turn(role, "")
    if isinstance(message.content, str):
        return Turn(role, _short_enough(message.content, place))
    return _of_parts(role, message.content, f"{place}.content")


def _of_parts(role: Role, parts: Sequence[ContentPart], place: str) -> Turn:
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        where = f"{place}.{index}"
        match part.type:
            case "text" if part.text is not None:
                texts.append(part.text)
            case "image_url" if part.image_url is not None and role == "operator":
                images.append(_image(part.image_url.url, f"{where}.image_url.url"))
            case "text" | "image_url":
                raise bad_field(
                    where, f"A part of the type {part.type} is not possible here.", "invalid_part"
                )
            case other:
                raise bad_field(
                    f"{where}.type",
                    f"Parts of the type {other!r} are not supported; types are: text, image_url.",
                    "unsupported_part",
                )
    if len(images) > MAX_ATTACHMENTS:
        raise bad_field(place, f"A message has at most {MAX_ATTACHMENTS} images.", "too_many_images")
    return Turn(role, _short_enough("\n\n".join(texts), place), tuple(images))


def _image(url: str, place: str) -> dict[str, Any]:
    """Return the attachment of a data URL. The daemon opens no address that a client sends."""
    head, comma, data = url.partition(",")
    media_type, _, encoding = head.removeprefix("data:").partition(";")
    if not head.startswith("data:") or not comma or encoding != "base64":
        raise bad_field(place, "Send an image as a data URL: data:image/png;base64,...", "image_not_inline")
    if media_type not in IMAGE_TYPES:
        types = ", ".join(sorted(IMAGE_TYPES))
        raise bad_field(place, f"The image is none of: {types}.", "unsupported_image")
    try:
        decoded = b64decode(data, validate=True)
    except (Base64Error, ValueError):
        decoded = b""
    if not decoded:
        raise bad_field(place, "The data of the image is not base64.", "invalid_image")
    return {"type": "image", "media_type": media_type, "data": data}


def _short_enough(text: str, place: str) -> str:
    if len(text) > MAX_CONTENT_CHARACTERS:
        raise bad_field(
            f"{place}.content",
            f"The message has more than {MAX_CONTENT_CHARACTERS} characters.",
            "message_too_long",
        )
    return text
