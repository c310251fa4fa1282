"""A shared session as HTML: one file without scripts, which loads nothing.

Owns: the elements and the policy. Never: what leaves (`thread`), colours and sizes (`style`).
"""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime

from app.harness.sharing.asked import Branch, Called, Image, Joined, Noted, Part, Said, Thought
from app.harness.sharing.markdown_text import LONGEST, as_html, attribute
from app.harness.sharing.style import STYLE
from app.harness.sharing.tally import Tally
from app.harness.sharing.words import about_file, size_of

_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; base-uri 'none'; form-action 'none'"
)
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class HtmlFile:
    """Writes the parts of a session as HTML. Keeps nothing but how deep it is in subagents."""

    def __init__(self) -> None:
        self._depth = 0

    def begin(self, title: str, project: str, at: int) -> str:
        name, day = attribute(title), _time(at)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
            f'<link rel="icon" href="data:,">\n<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n'
            f'<body>\n<header>\n<h1 dir="auto">{name}</h1>\n'
            f'<p class="quiet">{attribute(project)} · {day}</p>\n</header>\n<main>\n'
        )

    def part(self, part: Part) -> str:
        match part:
            case Said():
                return self._said(part)
            case Thought():
                return _folded("Thinking", _text(part.text), "thinking")
            case Called():
                return _called(part)
            case Noted():
                return _noted(part)
            case Branch():
                self._depth += 1
                agent = f"Subagent {attribute(part.agent)}"
                return f'<details class="agent">\n<summary>{agent}</summary>\n'
            case Joined():
                self._depth -= 1
                return "</details>\n"

    def end(self, tally: Tally) -> str:
        return f'</main>\n<footer class="quiet">{attribute(about_file(tally))}</footer>\n</body>\n</html>\n'

    def _said(self, said: Said) -> str:
        who = "Operator" if said.who == "operator" else "Agent"
        model = f'<span class="quiet">{attribute(said.model)}</span> ' if said.model else ""
        level = min(2 + self._depth, 6)
        long = len(said.text) > LONGEST or not said.markdown
        body = _text(said.text) if long else f'<div class="text">{as_html(said.text)}</div>\n'
        attached = "".join(_attached(name, text) for name, text in said.attached)
        return (
            f'<article class="{said.who}" id="m{said.number}">\n<h{level}>{who} {model}'
            f'<a class="quiet" href="#m{said.number}">{_time(said.at)}</a></h{level}>\n'
            f"{body}{_pictures(said.images)}{attached}</article>\n"
        )


def _called(call: Called) -> str:
    line = (
        f'<span class="mark {_mark(call.state)}">{attribute(call.state)}</span> '
        f"<strong>{attribute(call.name)}</strong> <code>{attribute(call.about)}</code>"
    )
    if call.arguments is None and call.result is None:
        return f'<p class="call">{line}</p>\n{_pictures(call.images)}'
    inside = f"<h6>Arguments</h6>\n{_text(call.arguments)}" if call.arguments else ""
    inside += f"<h6>Result</h6>\n{_text(call.result)}" if call.result is not None else ""
    opened = f'<details class="call">\n<summary>{line}</summary>\n{inside}'
    return f"{opened}{_pictures(call.images)}</details>\n"


def _mark(state: str) -> str:
    return state if state in ("done", "failed") else "open"


def _noted(note: Noted) -> str:
    kind = "note failed" if note.failed else "note"
    if not note.text:
        return f'<p class="{kind}">{attribute(note.line)}</p>\n'
    if note.failed:
        return f'<div class="{kind}"><p>{attribute(note.line)}</p>\n{_text(note.text)}</div>\n'
    return _folded(note.line, _text(note.text), kind)


def _folded(line: str, inside: str, kind: str) -> str:
    return f'<details class="{kind}">\n<summary>{attribute(line)}</summary>\n{inside}</details>\n'


def _text(text: str) -> str:
    # The first line end after the tag would be dropped.
    return f"<pre>\n{attribute(text)}</pre>\n"


def _attached(name: str, text: str | None) -> str:
    if text is None:
        return f'<p class="call">Attached: <code>{attribute(name)}</code></p>\n'
    return _folded(f"Attached: {name}", _text(text), "call")


def _pictures(images: tuple[Image, ...]) -> str:
    return "".join(map(_picture, images))


def _picture(image: Image) -> str:
    words = f"Image, {image.media_type}, {size_of(image.size)}"
    if image.data is None or image.media_type not in _PICTURES or not _BASE64.fullmatch(image.data):
        return f'<p class="note">{attribute(words)}; not included</p>\n'
    return f'<p><img alt="{attribute(words)}" src="data:{image.media_type};base64,{image.data}"></p>\n'


def _time(at: int) -> str:
    when = datetime.fromtimestamp(at / 1000, UTC)
    return f'<time datetime="{when.isoformat(timespec="seconds")}">{when:%Y-%m-%d %H:%M} UTC</time>'
