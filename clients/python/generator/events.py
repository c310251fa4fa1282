"""`events.schema.json` as classes: one for each payload, one for each type of frame, and their union."""

from __future__ import annotations

from generator.types import Schema, described, model, reference, snake

HEAD = '''"""Frames of the WebSockets. Written by `python -m generator`; change the generator instead."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias

from kaged_client._model import Model, absent
from kaged_client._event import BaseEvent, UnknownEvent

'''
_NOT_EVENTS = ("pong", "error")
"""Frames that answer what a client sent, which the package keeps to itself."""


def class_name(event: str) -> str:
    words = snake(event.replace(".", "_")).split("_")
    return "".join(word.capitalize() for word in words) + "Event"


def module(document: Schema) -> str:
    lines = [HEAD]
    for name, schema in sorted(document["$defs"].items()):
        lines += model(name, schema)
    names: list[str] = []
    table: list[str] = []
    for frame in document["oneOf"]:
        fields = frame["properties"]
        type_ = fields["type"]["const"]
        if type_ in _NOT_EVENTS:
            continue
        name, payload = class_name(type_), reference(fields["payload"])
        about = document["$defs"][payload].get("description") or f"The frame `{type_}`."
        lines += ["", "", f"class {name}(BaseEvent):", *described(about, "    "), ""]
        lines += [f"    durable: ClassVar[bool] = {bool(frame.get('x-durable'))}", ""]
        lines += [f"    payload: {payload}", f"    type: Literal[{type_!r}] = {type_!r}"]
        names.append(name)
        table.append(f"    {type_!r}: {name},")
    lines += ["", "", f"Event: TypeAlias = {' | '.join([*names, 'UnknownEvent'])}"]
    lines += [
        '"""Every event; `type` tells them apart. One of an unknown type is an `UnknownEvent`."""',
        "",
    ]
    lines += ["EVENT_TYPES: dict[str, type[BaseEvent]] = {", *table, "}"]
    return "\n".join(lines) + "\n"
