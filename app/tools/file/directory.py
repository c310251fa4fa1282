"""The entries of a directory as `file.read` lists them: sorted, of a huge one a part.

Owns: how many entries are looked at, and for how long. Never: which part is shown (`read`).
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

from app.tools.file.text_scan import Stopped
from app.workspace import Opened, Workspace

MAX_ENTRIES = 100_000
MAX_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries that the caller may read, as they are shown, in order. `looked_at`: how many entries were
    looked at, when these are not all."""

    entries: list[str]
    looked_at: int | None


def list_directory(workspace: Workspace, opened: Opened, stop: threading.Event) -> Listing:
    """List the opened directory. Blocks. Raises Stopped when `stop` is set meanwhile."""
    end = time.monotonic() + MAX_SECONDS
    everything = opened.location.aside is not None
    found: list[tuple[bytes, bool]] = []
    looked_at = 0
    with os.scandir(opened.descriptor) as entries:
        for entry in entries:
            if stop.is_set():
                raise Stopped
            if looked_at and (looked_at >= MAX_ENTRIES or time.monotonic() > end):
                break
            looked_at += 1
            if everything or workspace.may_read((*opened.parts, entry.name)):
                found.append((os.fsencode(entry.name), entry.is_dir(follow_symlinks=False)))
        else:
            looked_at = 0
    found.sort()
    return Listing([_shown(name, is_directory) for name, is_directory in found], looked_at or None)


def _shown(name: bytes, is_directory: bool) -> str:
    text = name.decode("utf-8", "replace").replace("\n", "\\n").replace("\r", "\\r")
    return text + "/" if is_directory else text
