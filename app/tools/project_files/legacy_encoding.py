"""Recognises encodings from before Unicode by their text.

Owns: the decision; short or ambiguous texts are Latin-1, which keeps any bytes. It uses the first `SAMPLED`
bytes. Never: decoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

SAMPLED = 1024 * 1024
_MAX_SAMPLE = 4096
_MIN_BYTES = 24
_MIN_RUN = 1.8
_MIN_SHARE = 0.95
_MAX_CHAOS = 0.1
_MIN_COHERENCE = 0.3
_HIGH = re.compile(rb"[\x80-\xff]+")
_C1 = re.compile(rb"[\x80-\x9f]")
_UNUSED_IN_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
LATIN_1 = "latin-1"


_CYRILLIC = re.compile("[\u0400-\u045f\u0490\u0491\u00ab\u00bb\u2013-\u2014\u2018-\u201e\u2026\u2116\u00a0]")
_GREEK = re.compile("[\u0384-\u03ce\u00ab\u00bb\u2013-\u2014\u2018-\u201e\u2026\u00a0]")
_KANA_AND_HAN = re.compile("[\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e\u2010-\u2026]")
_HAN = re.compile("[\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e\u2010-\u2026\u00b7]")
_HANGUL = re.compile("[\uac00-\ud7a3\u3000-\u303f\u4e00-\u9fff\uff01-\uff5e\u2010-\u2026\u00b7]")

CODECS: Mapping[str, str] = MappingProxyType(
    {
        "windows-1251": "cp1251",
        "koi8-r": "koi8_r",
        "ibm866": "cp866",
        "windows-1253": "cp1253",
        "shift-jis": "cp932",
        "euc-jp": "euc_jp",
        "gb18030": "gb18030",
        "big5": "big5",
        "euc-kr": "cp949",
        "windows-1252": "cp1252",
    }
)
"""The names that answers show, and the codec that reads and writes each."""

_SCRIPTS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "windows-1251": _CYRILLIC,
        "koi8-r": _CYRILLIC,
        "ibm866": _CYRILLIC,
        "windows-1253": _GREEK,
        "shift-jis": _KANA_AND_HAN,
        "euc-jp": _KANA_AND_HAN,
        "gb18030": _HAN,
        "big5": _HAN,
        "euc-kr": _HANGUL,
    }
)
_ALPHABETS = frozenset({"windows-1251", "koi8-r", "ibm866", "windows-1253"})
_WESTERN = ("cp1252", "cp1250")
"""Asked as well, so that they can win: a text that looks like theirs is none of the above."""


def legacy_encoding(head: bytes) -> str:
    """Return the name of the encoding of a text that begins with `head` and is not Unicode."""
    sample = _sample(head[:SAMPLED])
    runs = _HIGH.findall(sample)
    high = sum(map(len, runs))
    if high >= _MIN_BYTES and high >= _MIN_RUN * len(runs):
        found = _by_likeness(sample)
        if found is not None:
            return found
    whole = head[:SAMPLED]
    if _C1.search(whole) and not _UNUSED_IN_1252.search(whole):
        return "windows-1252"  # Latin-1 has control characters there, which no text holds
    return LATIN_1


def _sample(head: bytes) -> bytes:
    """Return the first lines with more than ASCII."""
    lines: list[bytes] = []
    size = 0
    for line in head.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size >= _MAX_SAMPLE:
                break
    return b"".join(lines)[:_MAX_SAMPLE].rsplit(b"\n", 1)[0]


def _by_likeness(sample: bytes) -> str | None:
    # A tenth of a second to load, and wanted for few files in a thousand.
    from charset_normalizer import from_bytes

    names = {codec: name for name, codec in CODECS.items() if name in _SCRIPTS}
    best = from_bytes(
        sample,
        steps=1,
        chunk_size=len(sample),
        threshold=2 * _MAX_CHAOS,
        cp_isolation=[*names, *_WESTERN],
    ).best()
    if best is None or best.chaos > _MAX_CHAOS or best.encoding not in names:
        return None
    name = names[best.encoding]
    if name in _ALPHABETS and best.coherence < _MIN_COHERENCE:
        return None
    beyond = [character for character in str(best) if character > "\x7f"]
    fitting = sum(1 for character in beyond if _SCRIPTS[name].fullmatch(character))
    return name if fitting >= _MIN_SHARE * len(beyond) else None
