"""`edit.text` on real files."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.requirement("tools.edit_text")


async def _edit(desk, content, old, new, **more):
    """Put the content in a file, read it, edit it; return the answer and the bytes after it."""
    file = desk.put("a.txt", content)
    await desk.ok("file.read", path="a.txt")
    envelope = await desk.call("edit.text", path="a.txt", old_string=old, new_string=new, **more)
    return envelope, file.read_bytes()


@pytest.mark.requirement("file.edit.exact")
async def test_a_known_text_is_replaced(desk):
    envelope, after = await _edit(desk, "const port = 3000;\nrun();\n", "= 3000;", "= 8080;")
    assert envelope.data == {"path": "a.txt", "replacements": 1}
    assert after == b"const port = 8080;\nrun();\n"
    assert desk.ports.of("file.edited")["replacements"] == 1


@pytest.mark.requirement("file.edit.multiple")
async def test_three_matches_without_replace_all_are_refused_with_their_lines(desk):
    content = "x = 1\ny\nx = 1\nx = 1\n"
    envelope, after = await _edit(desk, content, "x = 1", "x = 2")
    assert envelope.code == "multiple_matches"
    assert (envelope.detail["count"], envelope.detail["lines"]) == (3, [1, 3, 4])
    assert after == content.encode()


@pytest.mark.parametrize(
    ("content", "listed"),
    [("aaa\nb\na a\n", "(lines 1, 3)"), ("a\n" * 90, f"(lines {', '.join(map(str, range(1, 21)))}, ...)")],
)
async def test_many_matches_are_reported_in_few_words(desk, content, listed):
    envelope, _ = await _edit(desk, content, "a", "c")
    assert (envelope.code, envelope.detail["count"]) == ("multiple_matches", content.count("a"))
    assert listed in envelope.error_text


async def test_the_error_for_a_text_like_nothing_in_the_file_says_what_to_do(desk):
    envelope, after = await _edit(desk, "alpha\n", "zzz(1, 2)", "x")
    assert envelope.code == "old_string_not_found"
    assert "read the file again" in envelope.error_text
    assert after == b"alpha\n"


async def test_replace_all_replaces_every_occurrence(desk):
    envelope, after = await _edit(desk, "aXbXc", "X", "\n", replace_all=True)
    assert envelope.data["replacements"] == 2
    assert after == b"a\nb\nc"


async def test_an_edit_that_would_make_gigabytes_is_refused(desk):
    envelope, after = await _edit(desk, "a" * 100_000, "a", "b" * 10_000, replace_all=True)
    assert envelope.code == "file_too_large"
    assert after == b"a" * 100_000


@pytest.mark.parametrize(("content", "old"), [("a" * 600_000, "a"), ("a\r\nb\r\n" * 600_000, "a\nb")])
async def test_a_text_that_occurs_very_often_is_refused(desk, content, old):
    envelope, after = await _edit(desk, content, old, "c", replace_all=True)
    assert envelope.code == "too_many_matches"
    assert after == content.encode()


@pytest.mark.requirement("file.edit.none")
async def test_a_text_that_is_not_there_is_refused_with_the_closest_lines(desk):
    content = "import os\n\ndef compute_total(items):\n    return sum(items)\n"
    envelope, after = await _edit(desk, content, "def compute_totals(item):", "x")
    assert envelope.code == "old_string_not_found"
    assert envelope.detail["closest"][0] == {"line": 3, "text": "def compute_total(items):"}
    assert "line 3: def compute_total(items):" in envelope.model_text()
    assert after == content.encode()


@pytest.mark.requirement("file.edit.none")
async def test_of_many_lines_the_ones_that_differ_are_named(desk):
    content = "import os\n\ndef run(items):\n    total = sum(items)\n\n    log(total)\n    return total\n"
    old = "def run(items):\n    total = sum(item)\n    log(total)\n    return totl\n"
    envelope, after = await _edit(desk, content + content.replace("run", "rest"), old, "x")
    assert "Much of it is at lines 3 to 7, but not all." in envelope.error_text
    assert [entry["line"] for entry in envelope.detail["closest"]] == [4, 7]
    assert after.startswith(content.encode())


@pytest.mark.parametrize(
    ("content", "old"),
    [("alpha\ngamma\n", "gamam"), ("x\nimport sys\n", "improt  ssy"), ("f(x, y)\nhandler(x)\n", "hanlder(")],
)
async def test_a_line_is_close_that_shares_letters_and_no_word(desk, content, old):
    envelope, _ = await _edit(desk, content, old, "x")
    assert [entry["line"] for entry in envelope.detail["closest"]] == [2]


@pytest.mark.parametrize(
    ("content", "old", "hint"),
    [
        ("if x:\n\treturn 1\n", "if x:\n    return 1", "the file has 1 tab, old_string has 4 spaces"),
        ("a = 1 \nb\n", "a = 1\nb", "spaces at the end of a line differ"),
        ("f(a, b)\n", "f(a,b)", "only spaces, tabs or empty lines differ"),
        ("say 'hi'\n", "say \u2018hi\u2019", "quotes, dashes or non-breaking spaces differ"),
        ("Hello World\n", "hello world", "upper and lower case differ"),
        ("alpha\nbeta\n", "1: alpha\n2: beta", "leave out the `N: `"),
        ("alpha\nbeta\n", "alpha\\nbeta", "a backslash and n where the file has a newline"),
    ],
)
@pytest.mark.requirement("file.edit.none")
async def test_the_report_names_what_differs(desk, content, old, hint):
    envelope, _ = await _edit(desk, content, old, "new")
    assert envelope.code == "old_string_not_found"
    assert hint in envelope.error_text


async def test_the_report_on_a_large_file_comes_in_bounded_time(desk):
    content = "".join(f"value_{n} = compute({n}, other)\n" for n in range(60_000))
    envelope, _ = await _edit(desk, content, "value_777 = compute(777, another)", "x")
    assert envelope.detail["closest"][0]["line"] == 778
    assert envelope.metadata.duration_ms < 10_000


async def test_equal_texts_are_no_change(desk):
    envelope, _ = await _edit(desk, "a", "a", "a")
    assert envelope.code == "no_change"


async def test_an_unread_file_is_not_edited(desk):
    desk.put("a.txt", "x")
    assert await desk.code("edit.text", path="a.txt", old_string="x", new_string="y") == "file_not_read"


async def test_a_missing_file_is_file_not_found(desk):
    assert await desk.code("edit.text", path="a.txt", old_string="x", new_string="y") == "file_not_found"


@pytest.mark.requirement("file.edit.stale")
async def test_a_file_changed_since_it_was_read_is_not_edited(desk):
    file = desk.put("a.txt", "x")
    await desk.ok("file.read", path="a.txt")
    file.write_text("x, theirs")
    assert (
        await desk.code("edit.text", path="a.txt", old_string="x", new_string="y")
        == "file_changed_since_read"
    )
    assert file.read_text() == "x, theirs"


@pytest.mark.requirement("file.edit.kept")
async def test_plain_newlines_match_a_crlf_file_which_stays_one(desk):
    envelope, after = await _edit(desk, b"one\r\ntwo\r\nthree\r\n", "one\ntwo\n", "1\n1.5\n2\n")
    assert envelope.data["replacements"] == 1
    assert after == b"1\r\n1.5\r\n2\r\nthree\r\n"


async def test_new_lines_in_a_crlf_file_are_crlf_though_the_match_has_none(desk):
    _, after = await _edit(desk, b"one\r\ntwo\r\n", "two", "a\nb")
    assert after == b"one\r\na\r\nb\r\n"


async def test_carriage_returns_from_the_model_do_not_enter_an_lf_file(desk):
    _, after = await _edit(desk, b"one\ntwo\n", "one\r\ntwo", "a\r\nb")
    assert after == b"a\nb\n"


@pytest.mark.requirement("file.edit.kept")
async def test_each_place_of_a_mixed_file_keeps_its_own_line_ending(desk):
    _, after = await _edit(desk, b"a\r\nb\r\n--\na\nb\nend\r\n", "a\nb", "c\nd", replace_all=True)
    assert after == b"c\r\nd\r\n--\nc\nd\nend\r\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\nc\r\n", "a\nb\nc", "1\n2\n3\n4", b"1\r\n2\n3\r\n4\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", "1\n2\n3\n4\n", b"1\r\n2\n3\r\n4\r\n"),
        (b"a\r\nb\nc\nd\n", "a\nb", "a\nx\nb", b"a\r\nx\nb\nc\nd\n"),
        (b"a\nb\r\nc\r\n", "a\nb\nc", "1\nb", b"1\nb\r\n"),
        (b"a\nb\r\nc\nd\n", "a\nb\nc\nd\n", "c\nd\n", b"c\nd\n"),
        (b"a\r\nb\nc\r\n", "b", "x\ny", b"a\r\nx\ny\nc\r\n"),
        (b"a\r\nb\r\nc\nd", "d", "x\ny", b"a\r\nb\r\nc\nx\r\ny"),
    ],
)
@pytest.mark.requirement("file.edit.kept")
async def test_a_new_line_ends_as_the_one_it_stands_for_or_as_most(desk, content, old, new, expected):
    _, after = await _edit(desk, content, old, new)
    assert after == expected


async def test_many_matches_in_a_long_line_of_a_mixed_file_take_no_long_time(desk):
    content = b"a\r\nb\n" + b"x," * 200_000 + b"\r\n"
    _, after = await _edit(desk, content, ",", "\n", replace_all=True)
    assert after == b"a\r\nb\n" + b"x\r\n" * 200_000 + b"\r\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.requirement("file.edit.kept")
async def test_utf_8_and_its_mark_are_kept(desk, mark):
    _, after = await _edit(desk, mark + "größe = 1\n".encode(), "größe", "\ufeffmaß" if mark else "maß")
    assert after.startswith(mark)
    assert after.decode("utf-8").endswith("maß = 1\n")


@pytest.mark.parametrize(("mark", "encoding"), [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")])
@pytest.mark.requirement("file.edit.kept")
async def test_utf_16_is_kept(desk, mark, encoding):
    _, after = await _edit(desk, mark + "eins\r\nzwei 😀\r\n".encode(encoding), "zwei 😀", "drei\nvier ü")
    assert after == mark + "eins\r\ndrei\r\nvier ü\r\n".encode(encoding)


@pytest.mark.requirement("file.edit.kept")
async def test_latin_1_is_kept_and_refuses_what_it_cannot_hold(desk):
    raw = "Straße\n".encode("latin-1")
    _, after = await _edit(desk, raw, "Straße", "Gäßchen")
    assert after == "Gäßchen\n".encode("latin-1")
    envelope, after = await _edit(desk, raw, "Straße", "→")
    assert (envelope.code, after) == ("encoding_mismatch", raw)


async def test_a_binary_file_is_not_edited(desk):
    envelope, after = await _edit(desk, b"ab\0cd", "ab", "x")
    assert (envelope.code, after) == ("binary_file", b"ab\0cd")


@pytest.mark.requirement("file.edit.kept")
async def test_a_link_is_edited_where_it_points_and_both_names_know_it(desk):
    target = desk.put("real.txt", "old")
    (desk.root / "link.txt").symlink_to("real.txt")
    await desk.ok("file.read", path="real.txt")
    await desk.ok("edit.text", path="link.txt", old_string="old", new_string="new")
    await desk.ok("edit.text", path="real.txt", old_string="new", new_string="newer")
    assert target.read_text() == "newer"
    assert (desk.root / "link.txt").is_symlink()
