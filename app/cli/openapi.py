"""`kaged openapi`: print or write the description of the interface.

Owns: the command. Never: the documents (`app.api.openapi_document`, `app.events.union`). It needs no daemon.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from app.cli.given_path import GivenPath
from app.cli.output import json_option, print_json, print_text

OPENAPI_FILE = "openapi.json"
EVENTS_FILE = "events.schema.json"


@click.command(name="openapi")
@click.option("--events", is_flag=True, help="Print the JSON Schema of the WebSocket frames instead.")
@click.option("--write", "folder", type=GivenPath(file_okay=False), help="Write both to a folder.")
@json_option
def command(events: bool, folder: Path | None, as_json: bool) -> None:
    """Print the OpenAPI document of the HTTP interface."""
    if folder is None:
        sys.stdout.buffer.write(events_document() if events else openapi_document())
        sys.stdout.buffer.flush()
        return
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in ((OPENAPI_FILE, openapi_document()), (EVENTS_FILE, events_document())):
        (folder / name).write_bytes(content)
        written.append(str(folder / name))
    if as_json:
        print_json({"files": written})
    else:
        print_text("\n".join(written))


def openapi_document() -> bytes:
    """Return the exact content of `openapi/openapi.json`."""
    from app.api.application import build_application
    from app.api.openapi_document import document_text
    from app.config import Settings

    return document_text(build_application(Settings()))


def events_document() -> bytes:
    """Return the exact content of `openapi/events.schema.json`."""
    from app.api.frames_document import events_schema

    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(events_schema(), option=options)
