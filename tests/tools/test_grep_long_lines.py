"""Lines too long to be shown whole: `search.grep` shows the part with the match, by every engine alike."""

from __future__ import annotations

import pytest

from tests.tools.searching import ENGINES, engine_called, search_desk

FACE = "\N{GRINNING FACE}"
FILES = {
    "lib/far.min.js": "short needle\r\n" + "x" * 9_000 + "needle" + "y" * 9_000 + "needle\r\n",
    "lib/last [1],{a}.js": "é" * 4_000 + " " * 250 + "Needle ü\n",
    "near.js": "x" * 1_400 + "needle" + "y" * 9_000 + "\n",
    "odd.js": b"\xff" * 3_000 + b"needle\n",
    "wide.js": (FACE * 3_000 + "needle" + "z" * 3_000 + "\n").encode("utf-16"),
}
SHOWN = {
    ("./lib/far.min.js", 1): "short needle",
    ("./lib/far.min.js", 2): "[truncated] " + "x" * 500 + "needle" + "y" * 1_494 + " [truncated]",
    ("./lib/last [1],{a}.js", 1): "[truncated] " + "é" * 125 + " " * 250 + "Needle ü",
    ("./near.js", 1): "x" * 1_400 + "needle" + "y" * 594 + " [truncated]",
    ("./odd.js", 1): "[truncated] " + "\N{REPLACEMENT CHARACTER}" * 500 + "needle",
    ("./wide.js", 1): "[truncated] " + FACE * 125 + "needle" + "z" * 1_869 + " [truncated]",
}

pytestmark = pytest.mark.requirement("grep.engines")


@pytest.fixture(params=ENGINES)
async def grep(request, desk):
    for path, content in FILES.items():
        desk.put(path, content)
    async with search_desk(desk, engine_called(request.param, desk.base / "bin")) as searching:
        yield searching


def contents(data):
    return {(one["file"], one["line"]): one["content"] for one in data["matches"]}


@pytest.mark.parametrize("pattern", ["needle", r"nothing|nee(?:dle)+", r"(?i)nee[d]", r"\Bneedle|\bneedle"])
async def test_a_long_line_is_shown_around_its_first_match(grep, pattern):
    data = await grep.ok("search.grep", pattern=pattern, ignore_case=True, output_mode="content")
    assert contents(data) == SHOWN


async def test_a_long_line_of_the_one_file_that_is_named_is_shown_so_too(grep):
    (grep.root / ".gitignore").write_text("lib\n")
    data = await grep.ok(
        "search.grep", pattern="needle", path="lib/far.min.js", output_mode="content", context=1
    )
    assert contents(data) == {place: text for place, text in SHOWN.items() if place[0] == "./lib/far.min.js"}
    data = await grep.ok("search.grep", pattern="needle$", path="lib", output_mode="content", head_limit=2)
    assert contents(data)["./lib/far.min.js", 2] == "[truncated] " + "y" * 500 + "needle"


async def test_a_match_at_the_beginning_leaves_the_beginning(grep):
    data = await grep.ok("search.grep", pattern="^x", path="near.js", output_mode="content")
    assert contents(data) == {("./near.js", 1): SHOWN["./near.js", 1]}
