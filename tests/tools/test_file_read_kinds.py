"""`file.read` on what is not plain text: pictures, notebooks, PDFs, old encodings."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from pypdf import PdfReader, PdfWriter

from app.tools.contract.call import ModelStep
from app.tools.documents import pdf, picture
from tests.tools import documents, pictures

RUSSIAN = "Привет, мир! Это пример текстового файла на русском языке.\nВторая строка: настройки и значения.\n"
JAPANESE = "これは日本語のテキストファイルです。設定の説明を書いています。\nカタカナとひらがなと漢字。\n"
CHINESE = "这是一个中文文本文件，用来测试编码检测功能。\n第二行：配置、参数、数值，以及更多的说明文字。\n"
KOREAN = "이것은 한국어 텍스트 파일입니다. 인코딩 감지를 시험합니다.\n둘째 줄: 설정과 값.\n"
GREEK = "Αυτό είναι ένα ελληνικό κείμενο για δοκιμή της κωδικοποίησης.\n"


def seeing(desk):
    return replace(desk, context=replace(desk.context, step=ModelStep(takes_images=True)))


@pytest.mark.requirement("file.read.image")
@pytest.mark.parametrize(
    ("content", "mime", "size"),
    [
        (pictures.png(3, 2), "image/png", (3, 2)),
        (pictures.jpeg(30, 20), "image/jpeg", (30, 20)),
        (pictures.GIF, "image/gif", (1, 1)),
        (pictures.WEBP, "image/webp", (1, 1)),
    ],
)
async def test_a_picture_reaches_a_model_that_takes_images_whatever_its_name(desk, content, mime, size):
    desk.put("drawing.txt", content)
    envelope = await seeing(desk).call("file.read", path="drawing.txt")
    assert envelope.data == {
        "path": "drawing.txt", "type": "image", "mime": mime,
        "size": len(content), "width": size[0], "height": size[1],
    }  # fmt: skip
    (image,) = envelope.images
    assert (image.media_type, base64.b64decode(image.data)) == (mime, content)
    assert image.data not in json.dumps(envelope.as_json())


@pytest.mark.requirement("file.read.image")
async def test_a_model_that_takes_no_images_gets_words(desk):
    desk.put("a.png", pictures.png(3, 2))
    envelope = await desk.call("file.read", path="a.png")
    assert (envelope.data["type"], envelope.data["width"], envelope.images) == ("binary", 3, ())
    assert envelope.data["note"] == "an image, shown only to models that take images"


@pytest.mark.requirement("file.read.image")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (pictures.png(3, 2)[:-4], "damaged"),
        (pictures.png(3, 2).replace(b"IDAT", b"IDAX"), "damaged"),
        (pictures.jpeg(3, 2)[:-2], "damaged"),
        (pictures.GIF[:-1], "damaged"),
        (pictures.WEBP[:-2], "damaged"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
        (pictures.png(picture.MAX_SIDE + 1, 1), "pixels"),
        (pictures.png(3, 2) + b"\0" * picture.MAX_BYTES, "bytes"),
    ],
)
async def test_a_picture_that_a_provider_would_refuse_is_not_sent(desk, content, reason):
    desk.put("a.png", content)
    envelope = await seeing(desk).call("file.read", path="a.png")
    assert (envelope.data["type"], envelope.images) == ("binary", ())
    assert reason in envelope.data["note"]


NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {
            "cell_type": "code",
            "execution_count": 7,
            "source": "print('x')\n1/0",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["x\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["42"], "text/html": "<b>42</b>"}},
                {"output_type": "display_data", "data": {"image/png": "aGVsbG8=", "text/plain": "<Figure>"}},
                {
                    "output_type": "error",
                    "ename": "ZeroDivisionError",
                    "evalue": "division by zero",
                    "traceback": ["\x1b[0;31mZeroDivisionError\x1b[0m: division by zero"],
                },
            ],
        },
    ],
}


@pytest.mark.requirement("file.read.notebook")
async def test_a_notebook_is_read_as_its_cells_and_outputs(desk):
    desk.put("a.ipynb", json.dumps(NOTEBOOK))
    data = await desk.ok("file.read", path="a.ipynb")
    lines = [line.split(": ", 1)[1] for line in data["content"].split("\n")]
    assert lines == [
        "=== cell 1: markdown ===", "# Title", "words", "",
        "=== cell 2: code, run 7 ===", "print('x')", "1/0",
        "--- output: stdout ---", "x",
        "--- output: result ---", "42",
        "--- output: display ---", "<Figure>", "[image/png, 8 characters, not shown]",
        "--- output: error ---", "ZeroDivisionError: division by zero",
    ]  # fmt: skip
    assert (data["type"], data["total_lines"], data["truncated"]) == ("notebook", len(lines), False)
    part = await desk.ok("file.read", path="a.ipynb", offset=5, limit=2)
    assert part["content"] == "5: === cell 2: code, run 7 ===\n6: print('x')"
    assert part["next_offset"] == 7


@pytest.mark.requirement("file.read.notebook")
async def test_a_notebook_of_format_3_is_read_too(desk):
    cell = {"cell_type": "code", "input": ["x = 1"], "prompt_number": 2, "outputs": []}
    desk.put("old.ipynb", json.dumps({"nbformat": 3, "worksheets": [{"cells": [cell]}]}))
    data = await desk.ok("file.read", path="old.ipynb")
    assert data["content"] == "1: === cell 1: code, run 2 ===\n2: x = 1"


@pytest.mark.requirement("file.read.notebook")
@pytest.mark.parametrize("content", ["{not json\n", '{"cells": 3}\n', '["cells"]\n', '{"cells": [1]}\n'])
async def test_a_malformed_notebook_is_read_as_plain_text_with_the_reason(desk, content):
    desk.put("bad.ipynb", content)
    data = await desk.ok("file.read", path="bad.ipynb")
    assert (data["type"], data["content"]) == ("file", f"1: {content.strip()}")
    assert data["note"].startswith("not shown as a notebook: ")


@pytest.mark.requirement("file.read.notebook")
async def test_raw_reads_the_json_and_an_edit_works_on_it_after_either(desk):
    desk.put("a.ipynb", json.dumps(NOTEBOOK, indent=1))
    raw = await desk.ok("file.read", path="a.ipynb", raw=True)
    assert raw["type"] == "file" and '"nbformat": 4' in raw["content"]
    worker = desk.as_agent("primary.subagents.other")
    await worker.ok("file.read", path="a.ipynb")
    await worker.ok("edit.text", path="a.ipynb", old_string="# Title", new_string="# Heading")
    assert "# Heading" in (desk.root / "a.ipynb").read_text()
    error = await worker.call("edit.text", path="a.ipynb", old_string="# Heading\nwords", new_string="x")
    assert error.code == "old_string_not_found" and "raw" in error.error_text


@pytest.mark.requirement("file.read.pdf")
async def test_a_pdf_is_read_as_text_page_by_page(desk):
    desk.put("a.pdf", documents.pdf(["One", "Two", "Three"]))
    data = await desk.ok("file.read", path="a.pdf")
    lines = [line.split(": ", 1)[1] for line in data["content"].split("\n")]
    assert lines == ["=== page 1 ===", "One", "=== page 2 ===", "Two", "=== page 3 ===", "Three"]
    assert (data["type"], data["total_pages"], data["mime"]) == ("pdf", 3, "application/pdf")
    assert "note" not in data


@pytest.mark.requirement("file.read.pdf")
@pytest.mark.parametrize(
    ("pages", "numbers"),
    [("2", [2]), ("1-2, 4", [1, 2, 4]), ("4,1", [4, 1]), ("2-3,3", [2, 3]), (" ", [1, 2, 3, 4])],
)
async def test_page_ranges_are_honoured(desk, pages, numbers):
    desk.put("a.pdf", documents.pdf(["One", "Two", "Three", "Four"]))
    data = await desk.ok("file.read", path="a.pdf", pages=pages)
    shown = [line for line in data["content"].split("\n") if "===" in line]
    assert [int(line.split("page ")[1].split(" ")[0]) for line in shown] == numbers


@pytest.mark.requirement("file.read.pdf")
async def test_pages_beyond_the_end_are_an_error_that_names_their_number(desk):
    desk.put("a.pdf", documents.pdf(["One", "Two"]))
    error = await desk.call("file.read", path="a.pdf", pages="1-7")
    assert (error.code, error.detail["total_pages"]) == ("invalid_params", 2)
    assert "the PDF has 2 pages" in error.error_text
    for wrong in ("0", "3-1", "one", "1-", "1;2", "-3"):
        assert await desk.code("file.read", path="a.pdf", pages=wrong) == "invalid_params"


@pytest.mark.requirement("file.read.pdf")
async def test_a_long_pdf_gives_its_first_pages_and_says_so(desk):
    desk.put("long.pdf", documents.pdf([f"Page {n}" for n in range(1, 41)]))
    data = await desk.ok("file.read", path="long.pdf")
    assert data["note"] == f"these are the first {pdf.MAX_PAGES} of 40 pages; name others with pages"
    data = await desk.ok("file.read", path="long.pdf", pages="5-40")
    assert data["note"] == f"one answer holds {pdf.MAX_PAGES} pages, so it ends with page {pdf.MAX_PAGES + 4}"


@pytest.mark.requirement("file.read.pdf")
async def test_scanned_encrypted_and_broken_pdfs_are_reported_as_what_they_are(desk):
    desk.put("scan.pdf", documents.pdf(["Words", None]))
    data = await desk.ok("file.read", path="scan.pdf")
    assert data["note"] == "no text but pictures on page 2: scanned, as it seems"
    writer = PdfWriter(clone_from=PdfReader(desk.put("plain.pdf", documents.pdf(["Secret"]))))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(desk.root / "locked.pdf")
    data = await desk.ok("file.read", path="locked.pdf")
    assert data["note"] == "the PDF: it is encrypted and needs a password"
    desk.put("broken.pdf", b"%PDF-1.7\n" + bytes(range(256)) * 20)
    data = await desk.ok("file.read", path="broken.pdf")
    assert data["note"].startswith("the PDF: it cannot be read")


@pytest.mark.requirement("file.read.pdf")
async def test_a_pdf_that_takes_too_long_is_cut_off_and_the_program_killed(children):
    found = await pdf.pdf_text(children, {}, documents.pdf(["One"]), None, owner="test", seconds=0.001)
    assert found.notes == ["reading was stopped for taking too long, before the first page"]


@pytest.mark.requirement("file.read.encoding")
@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8_r", "koi8-r"),
        (RUSSIAN, "cp866", "ibm866"),
        (GREEK, "cp1253", "windows-1253"),
        (JAPANESE, "cp932", "shift-jis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (CHINESE, "gb18030", "gb18030"),
        (KOREAN, "cp949", "euc-kr"),
        ("It’s 5 € “fine”\n", "cp1252", "windows-1252"),
    ],
    ids=lambda value: value if value.isascii() else "text",
)
async def test_an_encoding_from_before_unicode_is_found_and_kept_by_an_edit(desk, text, codec, name):
    file = desk.put("old.txt", ("plain = 1\n" * 3 + text).encode(codec))
    data = await desk.ok("file.read", path="old.txt")
    assert data["encoding"] == name
    assert [line.split(": ", 1)[1] for line in data["content"].split("\n")][3:] == text.strip().split("\n")
    await desk.ok("edit.text", path="old.txt", old_string=text.strip(), new_string=text.strip() + "!")
    assert file.read_bytes() == ("plain = 1\n" * 3 + text.strip() + "!\n").encode(codec)
    before = file.read_bytes()
    error = await desk.call(
        "edit.text", path="old.txt", old_string="plain = 1\nplain = 1\n", new_string="\U0001f600"
    )
    if codec == "gb18030":
        assert error.type == "output"  # which has every character
    else:
        assert error.code == "encoding_mismatch" and name in error.error_text
        assert file.read_bytes() == before


@pytest.mark.requirement("file.read.encoding")
@pytest.mark.parametrize(
    "text",
    [
        "é\n",
        "Grüße aus München, schöne Straße\n" * 3,
        "Voilà déjà été\n" * 9,
        "ÄÖÜ " * 20,
        "naïve Ñandú ¿qué?\n",
    ],
)
async def test_what_is_short_or_could_be_several_stays_latin_1(desk, text):
    desk.put("a.txt", text.encode("latin-1"))
    data = await desk.ok("file.read", path="a.txt")
    assert data["encoding"] == "latin-1"
    assert data["content"].startswith("1: " + text.split("\n")[0])


@pytest.mark.requirement("file.read.encoding")
async def test_text_found_not_to_be_utf_8_late_is_still_reported_by_its_beginning(desk):
    line = "Строка с русским текстом, настройки и значения\n".encode("cp1251")
    desk.put("late.txt", b"ascii\n" * 100_000 + line * 20_000)
    data = await desk.ok("file.read", path="late.txt", offset=100_001, limit=1)
    assert data["encoding"] == "windows-1251"
    assert data["content"] == "100001: Строка с русским текстом, настройки и значения"
