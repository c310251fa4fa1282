"""A shared session as Markdown, in which nothing of the session is more than text.

Owns: the headings and blocks. Never: what leaves (`thread`).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from app.harness.sharing.asked import Branch, Called, Image, Joined, Noted, Part, Said, Thought
from app.harness.sharing.markdown_text import code_span, fenced, inert, plain
from app.harness.sharing.tally import Tally
from app.harness.sharing.words import about_file, size_of

_PICTURE = re.compile(r"image/(?:png|jpeg|gif|webp)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class MarkdownFile:
    """Writes the parts of a session as Markdown. A subagent's name stands in the headings of what it said."""

    def __init__(self) -> None:
        self._agents: list[str] = []

    def begin(self, title: str, project: str, at: int) -> str:
        return f"# {plain(title)}\n\n{plain(project)} · {_time(at)}\n\n"

    def part(self, part: Part) -> str:
        match part:
            case Said():
                return self._said(part)
            case Thought():
                return f"*Thinking*\n\n{fenced(part.text)}\n\n"
            case Called():
                return _called(part)
            case Noted():
                return f"*{plain(part.line)}*\n\n" + (f"{fenced(part.text)}\n\n" if part.text else "")
            case Branch():
                self._agents.append(part.agent)
                return f"*Subagent {plain(part.agent)} begins*\n\n"
            case Joined():
                return f"*Subagent {plain(self._agents.pop())} ends*\n\n"

    def end(self, tally: Tally) -> str:
        return f"---\n\n{plain(about_file(tally))}\n"

    def _said(self, said: Said) -> str:
        who = "Operator" if said.who == "operator" else "Agent"
        inside = f" {plain(self._agents[-1])}" if self._agents else ""
        model = f" · {plain(said.model)}" if said.model else ""
        text = inert(said.text) if said.markdown else fenced(said.text)
        parts = [f"## {said.number} · {who}{inside}{model} · {_time(said.at)}", text]
        parts += [_picture(image) for image in said.images]
        for name, content in said.attached:
            parts.append(f"Attached: {code_span(name)}")
            parts += [fenced(content)] if content is not None else []
        return "\n\n".join(parts) + "\n\n"


def _called(call: Called) -> str:
    about = f" {code_span(call.about)}" if call.about else ""
    parts = [f"- **{plain(call.name)}**{about} — {call.state}"]
    if call.arguments:
        parts += ["Arguments:", fenced(call.arguments)]
    if call.result is not None:
        parts += ["Result:", fenced(call.result)]
    parts += [_picture(image) for image in call.images]
    return "\n\n".join(parts) + "\n\n"


def _picture(image: Image) -> str:
    words = f"Image, {image.media_type}, {size_of(image.size)}"
    if image.data is None or not _PICTURE.fullmatch(image.media_type) or not _BASE64.fullmatch(image.data):
        return f"*{plain(words)}; not included*"
    return f"![{plain(words)}](data:{image.media_type};base64,{image.data})"


def _time(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
