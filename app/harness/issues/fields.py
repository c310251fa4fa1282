"""What the fields of an issue may hold.

Owns: bounds, and the messages about wrong fields. Never: storing. Texts are measured as they
would be stored (`storage.text`): without NUL and lone surrogates.
"""

from __future__ import annotations

import re
from typing import Literal

from app.errors import ValidationFailed
from app.storage.text import storable

MAX_TITLE_CHARACTERS = 200
MAX_TEXT_BYTES = 16 * 1024
MAX_NUMBER = 2**31 - 1
Visibility = Literal["all", "operator_only"]

_TARGET = re.compile(r"^(?:primary|workflow:\S.{0,99}|session:ses_[0-9A-HJKMNP-TV-Z]{26})$")


def wrong(field: str, problem: str, *, reason: str | None = None) -> ValidationFailed:
    """Return the error of one field."""
    return ValidationFailed(f"{field}: {problem}", fields={field: problem}, reason=reason)


def checked_title(title: str) -> str:
    """Return the title as it is stored, without blanks around it. Raises `ValidationFailed`."""
    title = storable(title).strip()
    if not title:
        raise wrong("title", "is empty; say in a few words what is to be done")
    if len(title) > MAX_TITLE_CHARACTERS:
        raise wrong(
            "title",
            f"has {len(title)} characters, at most {MAX_TITLE_CHARACTERS} are possible; "
            "put the details into the body",
        )
    if len(title.splitlines()) > 1:
        raise wrong("title", "has more than one line; put the details into the body")
    return title


def checked_text(field: str, text: str, *, required: bool = False) -> str:
    """Return a body or comment as it is stored. Raises `ValidationFailed`."""
    text = storable(text)
    if required and not text.strip():
        raise wrong(field, "is empty; write something")
    size = len(text.encode())
    if size > MAX_TEXT_BYTES:
        raise wrong(
            field,
            f"has {size} bytes of UTF-8 ({len(text)} characters), at most {MAX_TEXT_BYTES} bytes (16 KB) are "
            "possible; shorten it, or attach it as a file",
        )
    return text


def checked_assignment(target: str) -> str:
    """Return the target when it has one of the three forms. Raises `invalid_assignment`."""
    if not _TARGET.match(target):
        raise invalid_assignment(
            "is not a target; write `primary`, `workflow:<name>` or `session:<session id>`"
        )
    return target


def invalid_assignment(problem: str) -> ValidationFailed:
    """Return the error of an assignment that cannot be; `problem` says what can."""
    return wrong("assignment", problem, reason="invalid_assignment")
