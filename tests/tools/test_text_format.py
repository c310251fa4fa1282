"""The text of a file's content, as language servers and previews are given it."""

from __future__ import annotations

import orjson
import pytest

from app.tools.project_files.text_format import text_of

UTF_16 = b"\xff\xfe"


@pytest.mark.requirement("language_servers.positions.encodings")
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n"),
        ("é\n".encode(), "é\n"),
        (UTF_16 + "a👩".encode("utf-16-le"), "a👩"),
        (UTF_16 + b"a\x00\x00\xd8b\x00", "a\ufffdb"),
        (b"\x00\x01", None),
    ],
    ids=["mark", "utf-8", "utf-16", "half a pair", "binary"],
)
def test_a_text_can_be_sent_and_keeps_its_columns(content, text):
    assert text_of(content) == text
    orjson.dumps(text_of(content))
