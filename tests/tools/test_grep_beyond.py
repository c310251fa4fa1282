"""What a search finds beyond that which its answer shows: counted, and kept in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.search.text_search import TextLimits
from tests.tools.searching import engine_called, search_desk

pytestmark = pytest.mark.requirement("grep.cap")

LIMITS = TextLimits(shown_bytes=2_000, kept_bytes=80_000)


@pytest.fixture
async def rg(desk):
    async with search_desk(desk, engine_called("packaged", desk.base), text=LIMITS) as searching:
        yield searching


async def _kept(rg, **more) -> tuple[dict, list[str]]:
    """Search for `match`: what the answer shows, and the lines of the file beside it."""
    envelope = await rg.call("search.grep", pattern="match", output_mode="content", **more)
    kept = Path(envelope.metadata.output_path).read_text()
    assert kept.endswith("\n")
    assert envelope.data["total_matches"] == kept.count("\n")
    return envelope.data, kept.split("\n")[:-1]


def _fill(rg, *odd: str | bytes) -> None:
    """Many files of which the last to be searched have odd lines; each is longer than the answer."""
    lines = [one.encode() if isinstance(one, str) else one for one in odd] or [b"match"]
    for number in range(40):
        plain = b"".join(b"match %06d\n" % line for line in range(200))
        rg.put(f"a/f{number:02}.txt", plain + b"\n".join(lines) + b"\n")


async def test_what_is_shown_comes_first_in_the_file_and_every_line_is_there_once(rg):
    _fill(rg)
    data, kept = await _kept(rg)
    assert data["truncated"] is True
    assert "narrow the search" in data["note"]
    shown = [f"{one['file']}:{one['line']}:{one['content']}" for one in data["matches"]]
    assert 20 < len(shown) < 100
    assert len(kept) > 1_000
    assert set(shown) <= set(kept)
    assert len(set(kept)) == len(kept)
    expected = {
        f"./a/f{file:02}.txt:{line + 1}:match {line:06d}" for file in range(40) for line in range(200)
    }
    expected |= {f"./a/f{file:02}.txt:201:match" for file in range(40)}
    assert set(kept) <= expected


async def test_a_search_that_ends_by_itself_is_in_the_order_of_paths_throughout(rg):
    for number in range(8):
        rg.put(f"f{number}.txt", "match\n" * 200)
    data, kept = await _kept(rg)
    assert "narrow" not in data["note"]
    assert kept == [f"./f{file}.txt:{line}:match" for file in range(8) for line in range(1, 201)]


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("match with a return\r", "match with a return"),
        (b"match \xff\xfe.", "match \ufffd\ufffd."),
        ("match " + "x" * 3_000, "match " + "x" * 1_994 + " [truncated]"),
        ("match .//a:1:\\1 \\g<0>", "match .//a:1:\\1 \\g<0>"),
    ],
)
async def test_odd_lines_read_there_as_in_an_answer(rg, odd, expected):
    _fill(rg, odd)
    data, kept = await _kept(rg)
    assert "narrow the search" in data["note"]
    found = [line.split(":", 2) for line in kept]
    strange = [text for _, number, text in found if number == "201"]
    assert len(strange) > 3
    assert set(strange) == {expected}


async def test_a_file_that_turns_out_to_be_binary_is_not_in_it(rg):
    _fill(rg)
    for number in range(40):
        rg.put(f"b/g{number}.bin", b"match\n" * 20_000 + b"\0\n")
    _, kept = await _kept(rg)
    assert [line for line in kept if line.startswith("./b/")] == []


async def test_the_folder_of_the_search_is_in_every_path(rg):
    folder = "we\\1rd folder"
    for number in range(40):
        rg.put(f"{folder}/f{number}.txt", "match\n" * 300)
    data, kept = await _kept(rg, path=folder)
    assert "narrow the search" in data["note"]
    assert {line.split(":")[0] for line in kept} <= {f"./{folder}/f{number}.txt" for number in range(40)}
