"""Remembers notes about a project.

Owns: the notes, one value of the storage each, and which of them a new session is told. Never: more of them
than `notes` says: the oldest go, important ones last.
"""

from __future__ import annotations

import hashlib
import re
import time
from typing import Any

from app.plugins.sdk import Call, Plugin, PluginError

PREFIX = "note/"
FORGOTTEN = "forgotten/"
MOST_FORGOTTEN = 1_000
LONGEST = 2_000
DECISION = re.compile(r"^[ \t>*-]*(?:decision|decided)\s*:\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
IMPORTANT = re.compile(r"(?:^|\s)(?:[#!]important\b|\[important\])", re.IGNORECASE)
MADE_BY_PEOPLE = {"operator", "user", "primary", "assistant"}

plugin = Plugin("memory", "1.0.0", capabilities=["kaged:storage:read", "kaged:storage:write"])


def notes() -> list[dict[str, Any]]:
    """Return all notes, the newest first, important ones before the others."""
    found = []
    for key in plugin.storage.keys(PREFIX):
        note = plugin.storage.get(key)
        if isinstance(note, dict) and isinstance(note.get("note"), str):
            found.append({"important": False, "at": 0.0, **note, "id": key.removeprefix(PREFIX)})
    return sorted(found, key=lambda note: (bool(note["important"]), note["at"]), reverse=True)


def keep(text: str, *, important: bool = False, source: str) -> str:
    """Keep a note and return its id: the same words are one note, however often they are said. What was
    forgotten comes back by the tool only: its words stand in the conversations still."""
    text = " ".join(text.split())[:LONGEST]
    number = hashlib.sha256(text.casefold().encode()).hexdigest()[:16]
    if source == "tool":
        plugin.storage.delete(FORGOTTEN + number)
    elif plugin.storage.get(FORGOTTEN + number):
        return number
    known = plugin.storage.get(PREFIX + number)
    important = important or bool(isinstance(known, dict) and known.get("important"))
    note = {"note": text, "at": time.time(), "important": important, "source": source}
    plugin.storage.set(PREFIX + number, note)
    for old in notes()[plugin.config.get("notes", 100) :]:
        plugin.storage.delete(PREFIX + old["id"])
    return number


def keep_decisions(messages: list[dict[str, Any]], source: str) -> None:
    """Keep every line that says `Decision: ...`, of people and of the model; not what tools have read."""
    for message in messages:
        if message.get("role") in MADE_BY_PEOPLE:
            for found in DECISION.finditer(str(message.get("content", ""))):
                keep(found[1], source=source)


@plugin.tool("remember")
def remember(call: Call, note: str, important: bool = False) -> dict[str, Any]:
    if not note.strip():
        raise PluginError("the note is empty; write what is to be remembered")
    return {"id": keep(note, important=important, source="tool")}


@plugin.tool("recall")
def recall(call: Call, query: str = "", limit: int = 20) -> dict[str, Any]:
    words = query.casefold().split()
    found = [note for note in notes() if all(word in note["note"].casefold() for word in words)]
    shown = [
        {"id": note["id"], "note": note["note"], "important": note["important"]} for note in found[:limit]
    ]
    return {"notes": shown, "found": len(found)}


@plugin.tool("forget")
def forget(call: Call, note_id: str) -> dict[str, Any]:
    if not plugin.storage.delete(PREFIX + note_id):
        raise PluginError(f"there is no note {note_id}; memory.recall gives the ids")
    forgotten = list(plugin.storage.keys(FORGOTTEN))
    for old in forgotten[MOST_FORGOTTEN - 1 :]:
        plugin.storage.delete(old)
    plugin.storage.set(FORGOTTEN + note_id, True)
    return {"forgotten": note_id}


@plugin.hook("on_session_start")
def tell(call: Call) -> dict[str, Any] | None:
    """Tell a new session as many notes as there is room for."""
    left = plugin.config.get("characters", 4_000)
    lines = []
    for note in notes():
        line = f"- {note['note']}"
        if len(line) > left:
            break
        left -= len(line) + 1
        lines.append(line)
    if not lines:
        return None
    return {"inject": "\n".join(("Notes from earlier sessions of this project:", *lines))}


@plugin.hook("on_session_idle")
def look_back(call: Call) -> None:
    """Keep the decisions of the session that has just come to rest."""
    keep_decisions(call.params.get("transcript", []), "session")


@plugin.hook("pre_compact")
def before_compaction(call: Call) -> dict[str, Any] | None:
    """Keep the decisions of what is taken away, and have messages stay that are marked important."""
    messages = call.params.get("messages_being_compacted", [])
    if not call.dry_run:
        keep_decisions(messages, "compaction")
    marked = [
        message["id"]
        for message in messages
        if message.get("role") in MADE_BY_PEOPLE and IMPORTANT.search(str(message.get("content", "")))
    ]
    return {"retain": marked} if marked else None


if __name__ == "__main__":
    plugin.run()
