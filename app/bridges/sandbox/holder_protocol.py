"""The messages between the daemon and a cage's holder, one per packet.

Owns: writing requests, and reading answers as untrusted: the cage may have taken the holder over. Never:
sockets.

Requests are JSON with `kind` and `number`; bytes are written as latin-1. A request that is too long for a
packet comes in a file in memory, the first of the descriptors, and the packet says `elsewhere`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

MAX_PACKET = 32_768
MAX_ANSWER = 4_096
MAX_ANSWERED_DESCRIPTORS = 4
_STEPS = frozenset(
    {"session", "files", "limits", "cwd", "load", "start", "listen", "connect", "signal", "seen"}
)

Kind = Literal["ready", "started", "failed", "ended", "opened"]
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


class ProtocolViolation(Exception):
    """The holder has sent a message that no holder sends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a holder says of request `number`. `code` is an exit code, negative after a signal; `errno`
    and `step` say what failed."""

    kind: Kind
    number: int
    code: int = 0
    errno: int = 0
    step: str = ""


def request(kind: str, number: int, **fields: object) -> bytes:
    return json.dumps({"kind": kind, "number": number, **fields}).encode()


def in_a_file(content: bytes) -> tuple[bytes, int]:
    """Return the packet, and a file in memory, for a request that is too long. Raises OSError."""
    descriptor = os.memfd_create("request", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
    except BaseException:
        os.close(descriptor)
        raise
    return b'{"elsewhere": true}', descriptor


def start_fields(
    argv: Sequence[bytes],
    env: Sequence[bytes],
    files: Sequence[int | str],
    *,
    cwd: bytes,
    at: tuple[int, int] | None,
    terminal: bool,
    lingers: bool,
    limits: Mapping[str, int],
) -> dict[str, Any]:
    """Return the fields of `start`. `files` are places among the descriptors of the message, `null`, or
    `stdout`; `at` are the device and number that the folder must have."""
    return {
        "argv": [part.decode("latin-1") for part in argv],
        "env": [entry.decode("latin-1") for entry in env],
        "files": list(files),
        "cwd": cwd.decode("latin-1"),
        "at": None if at is None else list(at),
        "terminal": terminal,
        "lingers": lingers,
        "limits": dict(limits),
    }


def answer(content: bytes) -> Answer:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        raise ProtocolViolation("it does not speak JSON") from None
    if not isinstance(fields, dict):
        raise ProtocolViolation("it does not say an object")
    kind = _KINDS.get(str(fields.get("kind")))
    if kind is None:
        raise ProtocolViolation("it says something unknown")
    step = str(fields.get("step", ""))
    return Answer(
        kind,
        number=_number(fields, "number", 0, 1 << 53),
        code=_number(fields, "code", -64, 255),
        errno=_number(fields, "errno", 0, 4095),
        step=step if step in _STEPS else "",
    )


def _number(fields: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = fields.get(name, 0)
    if type(value) is not int or not least <= value <= most:
        raise ProtocolViolation(f"its {name} is none")
    return value
