"""The text of a web page's bytes.

Owns: kinds of content, character sets, and the characters that are left out. Never: converting (`app.tools
.documents`).
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

from app.tools.project_files.media_type import signature_type
from app.tools.project_files.text_format import is_utf8, text_of

Kind = Literal["html", "text", "pdf", "binary"]

_PDF = "application/pdf"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.*|.*[/+](?:json|xml|yaml|x-yaml|toml|x-ndjson|ndjson|javascript|x-javascript|ecmascript|x-sh|sql"
    r"|graphql|x-www-form-urlencoded|rtf)"
)
_LOOKS_LIKE_HTML = re.compile(rb"\s*+<(?:!--|(?:!doctype html|html|head|body)\b)", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*+=\s*+[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta\s[^>]{0,400}?charset\s*+=\s*+[\"']?\s*+([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\s[^>]{0,200}?encoding\s*+=\s*+[\"']([\w.:-]{1,40})", re.IGNORECASE)
_META_BYTES = 4096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
"""Labels that pages use for a larger character set, by the names of Python's codecs."""
_CODECS = frozenset(
    {"utf-8", "utf-16-le", "utf-16-be", "euc_jp", "iso2022_jp", "koi8-r", "koi8-u", "mac-roman", "hz"}
    | {f"iso8859-{number}" for number in range(2, 17)}
    | {f"cp{number}" for number in (866, 874, 932, 949, 1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258)}
    | {"gb18030", "big5hkscs"}
)
_WIDE = frozenset({"utf-8", "utf-16-le", "utf-16-be"})
_LEFT_OUT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, characters that turn the direction of writing, and invisible ones that carry hidden text."""
_HALF_PAIR = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class ContentType:
    media_type: str
    charset: str | None

    @classmethod
    def parse(cls, header: str) -> ContentType:
        found = _CHARSET.search(header[:500])
        media_type = header[:500].partition(";")[0].strip().lower()
        return cls(
            media_type if media_type.isascii() and media_type.isprintable() else "", found and found[1]
        )


def kind_of(content: bytes, declared: ContentType) -> Kind:
    """Return what a body is: by its first bytes where these are proof, else by its declared type, else by
    its looks."""
    proven = signature_type(content)
    if proven is not None:
        return "pdf" if proven == _PDF else "binary"
    if _is_full_of_nul(content, declared):
        return "binary"
    if declared.media_type in _HTML:
        return "html"
    if _TEXT.fullmatch(declared.media_type):
        return "text"
    if declared.media_type not in {"", "application/octet-stream", _PDF}:
        return "binary"
    if _LOOKS_LIKE_HTML.match(content[:_META_BYTES]):
        return "html"
    return "text" if declared.media_type != _PDF and text_of(content) is not None else "binary"


def _is_full_of_nul(content: bytes, declared: ContentType) -> bool:
    """Tell whether bytes cannot be text: one in twenty is NUL, and characters do not have two bytes each."""
    wide = "utf-16" in (declared.charset or "").lower() or content.startswith(
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    )
    head = content[:_META_BYTES]
    return not wide and head.count(0) * 20 > len(head)


def decoded(content: bytes, declared: ContentType, kind: Kind) -> str:
    """Return the text of a body: by its mark, by the character set that the server or the page names where
    the bytes fit it, else as UTF-8 or by likeness."""
    for mark, marked in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(marked, "replace")
    label = declared.charset or _label_inside(content[:_META_BYTES], kind)
    codec = None if label is None else _codec(label)
    if codec is not None and (codec in _WIDE or content.isascii() or not is_utf8(content)):
        try:
            return content.decode(codec)
        except UnicodeDecodeError:
            pass
    return text_of(content) or content.decode("utf-8", "replace")


def cleaned(text: str) -> str:
    """Return a text with plain line ends, and without characters that steer terminals or hide text."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HALF_PAIR.sub("\ufffd", _LEFT_OUT.sub("", text))


def _label_inside(head: bytes, kind: Kind) -> str | None:
    found = _XML.match(head) or (_META.search(head) if kind == "html" else None)
    return found[1].decode("ascii", "replace") if found is not None else None


def _codec(label: str) -> str | None:
    """Return the codec that a label means. Only character sets of pages: Python also knows codecs that
    unpack archives."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _WIDER.get(name, name)
    return name if name in _CODECS else None
