"""Names of uploads: whatever a sender calls a file, the name is safe on a disk and in a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.harness.uploads.names import MAX_NAME_BYTES, distinct_name, media_type_of, safe_name

pytestmark = pytest.mark.requirement("uploads.two_stage")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\windows\\system.ini", "system.ini"),
        ("../../x", "x"),
        ("..", "file"),
        (".", "file"),
        ("", "file"),
        ("a/", "file"),
        (".bashrc", "bashrc"),
        ("...hidden.txt", "hidden.txt"),
        ("-rf", "_rf"),
        ("two\nlines\tand\x00nul\x1b[31m.txt", "two lines andnul[31m.txt"),
        ("gpj.\u202eexe.txt", "gpj.exe.txt"),
        ("  spaced   out .txt ", "spaced out .txt"),
        ('a<b>:c"d|e?f*.txt', "a_b__c_d_e_f_.txt"),
        ("ends.in.dots...", "ends.in.dots"),
        ("u\u0308bersicht.txt", "\u00fcbersicht.txt"),
        ("日本語.txt", "日本語.txt"),
        ("\ud800.txt", "txt"),
    ],
)
def test_a_name_is_made_safe(sent: str, kept: str) -> None:
    assert safe_name(sent) == kept


def test_a_long_name_keeps_its_suffix() -> None:
    name = safe_name("ü" * 300 + ".tar.gz")
    assert name.endswith(("ü.tar.gz", "ü.gz"))
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert len(safe_name("x" * 300)) == MAX_NAME_BYTES
    assert len(safe_name("x." + "y" * 300).encode()) <= MAX_NAME_BYTES


@given(st.text(max_size=400))
def test_every_name_is_safe_and_stays_as_it_is_made(sent: str) -> None:
    name = safe_name(sent)
    assert name and name not in (".", "..")
    assert not name.startswith((".", "-", " "))
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert not any(one in '/\\<>:"|?*' or unicodedata.category(one)[0] == "C" for one in name)
    assert safe_name(name) == name


@given(st.lists(st.sampled_from(["a.txt", "A.TXT", "a-2.txt", "b", "b-2"]), max_size=8))
def test_names_of_one_owner_are_distinct_in_any_case(sent: list[str]) -> None:
    taken: list[str] = []
    for name in sent:
        taken.append(distinct_name(name, taken))
    assert len({name.casefold() for name in taken}) == len(sent)
    assert all(not name.endswith(".txt-2") for name in taken)


@pytest.mark.parametrize(
    ("declared", "name", "kept"),
    [
        ("image/png", "a.txt", "image/png"),
        ("Text/Plain; charset=utf-8", "a", "text/plain"),
        ("application/octet-stream", "a.png", "image/png"),
        ("application/x-www-form-urlencoded", "a.json", "application/json"),
        ("", "a", "application/octet-stream"),
        ("text/html\r\nx: y", "a", "application/octet-stream"),
        ("x" * 500 + "/y", "a.txt", "text/plain"),
    ],
)
def test_the_media_type_is_the_declared_one_where_it_is_one(declared: str, name: str, kept: str) -> None:
    assert media_type_of(declared, name) == kept
