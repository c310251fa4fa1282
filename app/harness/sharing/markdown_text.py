"""Markdown of models and people: as HTML without any of theirs, and as Markdown that stays text elsewhere.

Owns: the one parser, and what of Markdown is inert. Pure. Never: redaction (`cleaning`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 100_000
"""Characters: a longer text is shown as it is. Parsing the worst text of this length takes seconds."""

_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_HEADINGS_BELOW = 2
"""The headings of a message stand below those of the file."""
_CODE_OR_SIGN = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!(?P=ticks)(?!`)).)+?(?P=ticks)(?!`))|[<]|!(?=\[)"
)


@cache
def _parser(*, html: bool) -> MarkdownIt:
    """Return the parser; with `html` what others may make of a text: HTML counts. It is imported here,
    because few daemons share sessions."""
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])
    made.validateLink = lambda url: True  # type: ignore[method-assign]  # `_safe` and `_is_inert` look at each
    return made


def parsed(text: str) -> list[Token]:
    """Return the text as tokens, in which HTML is text."""
    return _parser(html=False).parse(text)


def as_html(text: str) -> str:
    """Return Markdown as HTML: all HTML in it is text, links lead to the web only, images are links."""
    tokens = parsed(text)
    for token in tokens:
        _safe(token)
    parser = _parser(html=False)
    return str(parser.renderer.render(tokens, parser.options, {}))


def inert(text: str) -> str:
    """Return Markdown that no other program takes for more than text: HTML is escaped, images and links with
    other schemes than the web's do not work. Where that fails, the text becomes a block of code."""
    if len(text) > LONGEST:
        return fenced(text)
    text = _with_lower_headings(text)
    if _is_inert(text):
        return text
    lines = text.split("\n")
    for token in reversed(_parser(html=True).parse(text)):
        if token.type in ("inline", "html_block") and token.map is not None:
            start, end = token.map
            piece = "\n".join(lines[start:end])
            lines[start:end] = _without_signs(piece).split("\n")
    escaped = "\n".join(lines)
    return escaped if _is_inert(escaped) else fenced(text)


def fenced(text: str, language: str = "") -> str:
    """Return the text as a block of code, in a fence that it does not contain."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Return one line as a code span, whatever is in it."""
    line = " ".join(text.split()) or " "
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def plain(text: str) -> str:
    """Return one line that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&-])", r"\\\1", " ".join(text.split()))


def words_of(token: Token) -> str:
    """Return what of an inline token can be read: its texts, and where its links lead."""
    return "".join(_words(token.children or ()))


def _words(children: Sequence[Token]) -> Iterator[str]:
    led: list[str] = []
    for child in children:
        if child.type in ("text", "code_inline", "html_inline"):
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif child.type == "link_open":
            led.append(f" {child.attrGet('href')} {child.attrGet('title') or ''} ")
        elif child.type == "image":
            yield child.content
            led.append(f" {child.attrGet('src')} {child.attrGet('title') or ''} ")
    yield from led


def _safe(token: Token) -> None:
    if token.type in ("heading_open", "heading_close"):
        token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_BELOW, 6)}"
    if token.type in ("th_open", "td_open"):
        side = re.search(r"left|center|right", str(token.attrGet("style") or ""))
        token.attrs = {"class": side[0]} if side else {}
    if token.children:
        token.children = list(_safe_children(token.children))


def _safe_children(children: Sequence[Token]) -> Iterator[Token]:
    tags: list[str] = []
    for child in children:
        if child.type == "image":
            yield from _link_to(str(child.attrGet("src") or ""), child.content or "image")
            continue
        if child.type == "link_open":
            href = str(child.attrGet("href") or "")
            tags.append("a" if _LINK.match(href) else "span")
            child.tag = tags[-1]
            child.attrs = _link(href) if tags[-1] == "a" else {"class": "link", "title": href}
        elif child.type == "link_close" and tags:
            child.tag = tags.pop()
        yield child


def _link(href: str) -> dict[str, str | int | float]:
    return {"href": href, "rel": "noopener noreferrer nofollow"}


def _link_to(href: str, words: str) -> Iterator[Token]:
    from markdown_it.token import Token

    shown = Token("text", "", 0, content=f"[image: {words}]")
    if not _LINK.match(href):
        yield shown
        return
    opened = Token("link_open", "a", 1)
    opened.attrs = _link(href)
    yield opened
    yield shown
    yield Token("link_close", "a", -1)


def _is_inert(text: str) -> bool:
    return not any(_acts(token) for token in _flat(_parser(html=True).parse(text)))


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or ())


def _acts(token: Token) -> bool:
    if token.type in ("html_block", "html_inline", "image"):
        return True
    return token.type == "link_open" and _leads_elsewhere(str(token.attrGet("href") or ""))


def _leads_elsewhere(href: str) -> bool:
    return not _LINK.match(href) and re.match(r"[^/?#]*:", href) is not None


def _without_signs(text: str) -> str:
    """Escape what begins HTML or an image, outside code spans."""

    def changed(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        return "&lt;" if found[0] == "<" else "!\\"

    return _CODE_OR_SIGN.sub(changed, text)


def _with_lower_headings(text: str) -> str:
    """Put the headings of a message below those of the file, so that none looks like a message of its own."""
    lines = text.split("\n")
    for token in reversed(parsed(text)):
        if token.type != "heading_open" or token.map is None:
            continue
        start, end = token.map
        level = min(int(token.tag[1:]) + _HEADINGS_BELOW, 6)
        if token.markup.startswith("#"):
            lines[start] = re.sub(r"#{1,6}(?=[ \t]|$)", "#" * level, lines[start], count=1)
        else:
            said = " ".join(line.strip(" \t>") for line in lines[start : end - 1])
            lines[start:end] = [f"{'#' * level} {said}"] + [""] * (end - start - 1)
    return "\n".join(lines)


def attribute(value: Any) -> str:
    """Return a value as it may stand between tags or in quotes."""
    return escape(str(value), quote=True)
