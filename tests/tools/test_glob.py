"""`search.glob` on real files, by every engine."""

from __future__ import annotations

import asyncio
import os

import pytest

from app.errors import ToolError
from app.tools.search.file_search import FileLimits
from app.tools.search.glob_pattern import parse_glob
from tests.bridges.conftest import until
from tests.driver.loop_clock import put_forward
from tests.tools.searching import ENGINES, ScriptEngine, counted_reads, engine_called, search_desk


@pytest.fixture(params=ENGINES)
async def glob(request, desk):
    async with search_desk(desk, engine_called(request.param, desk.base / "bin")) as searching:
        yield searching


def put_aged(desk, path, age):
    file = desk.put(path, "x")
    os.utime(file, (1_700_000_000 - age, 1_700_000_000 - age))


@pytest.mark.requirement("glob.pattern")
async def test_only_test_files(glob):
    for age, path in enumerate(["src/auth.test.ts", "src/db/db.test.ts", "top.test.ts", "src/auth.ts"]):
        put_aged(glob, path, age)
    data = await glob.ok("search.glob", pattern="**/*.test.ts")
    assert data == {
        "files": ["./src/auth.test.ts", "./src/db/db.test.ts", "./top.test.ts"],
        "count": 3,
        "truncated": False,
    }
    data = await glob.ok("search.glob", pattern="**/*.test.ts", path="./src")
    assert data["files"] == ["./src/auth.test.ts", "./src/db/db.test.ts"]


@pytest.mark.requirement("glob.order")
async def test_newest_first_and_ties_by_name(glob):
    for path, age in (("old", 300), ("d/b", 10), ("d/a", 10), ("new", 0), ("middle", 20)):
        put_aged(glob, path, age)
    data = await glob.ok("search.glob", pattern="**/*")
    assert data["files"] == ["./new", "./d/a", "./d/b", "./middle", "./old"]


@pytest.mark.requirement("glob.order")
async def test_a_hundred_files_are_listed_and_the_rest_is_in_a_file(glob):
    for number in range(130):
        put_aged(glob, f"f{number:03d}", number)
    envelope = await glob.call("search.glob", pattern="f*")
    data = envelope.data
    assert data["files"] == [f"./f{number:03d}" for number in range(100)]
    assert (data["count"], data["truncated"], envelope.metadata.truncated) == (130, True, True)
    whole = await glob.ok("file.read", path=envelope.metadata.output_path)
    assert whole["content"].split("\n")[-1] == "130: ./f129"
    for number in range(100, 130):
        (glob.root / f"f{number:03d}").unlink()
    exact = await glob.ok("search.glob", pattern="f*")
    assert (exact["count"], exact["truncated"]) == (100, False)


@pytest.mark.requirement("glob.ignore")
async def test_ignored_files_are_left_out_also_when_the_pattern_names_them(glob):
    glob.put(".gitignore", "build/\n*.log\n")
    for path in ("build/x.py", "a.log", "src/b.log", "src/c.py", ".git/config", ".github/ci.yml"):
        glob.put(path, "x")
    assert (await glob.ok("search.glob", pattern="**/*.log"))["files"] == []
    found = (await glob.ok("search.glob", pattern="**"))["files"]
    assert sorted(found) == ["./.github/ci.yml", "./.gitignore", "./src/c.py"]
    assert (await glob.ok("search.glob", pattern="*", path="build"))["files"] == ["./build/x.py"]


@pytest.mark.requirement("glob.timeout")
async def test_at_its_time_limit_it_answers_with_what_was_found(desk, monkeypatch):
    put_aged(desk, "old", 10)
    put_aged(desk, "new", 0)
    reads = counted_reads(monkeypatch)
    script = r"printf './/old\000.//gone\000.//new\000'; exec sleep 6000"
    limits = FileLimits(seconds=300)
    async with search_desk(desk, ScriptEngine(script), files=limits) as hung:
        call = asyncio.create_task(hung.ok("search.glob", pattern="**"))
        await until(lambda: len(reads) > 1)  # what was printed has been taken
        put_forward(monkeypatch, 301)
        data = await call
    assert (data["files"], data["truncated"]) == (["./new", "./old"], True)
    assert data["note"].startswith("stopped after 300 s")


async def test_links_and_directories_are_not_listed(glob):
    glob.put("real/a.txt", "x")
    (glob.root / "link").symlink_to("real")
    (glob.root / "dangling.txt").symlink_to("nowhere")
    os.mkfifo(glob.root / "pipe.txt")
    assert (await glob.ok("search.glob", pattern="**"))["files"] == ["./real/a.txt"]
    assert (await glob.ok("search.glob", pattern="real"))["files"] == []
    assert (await glob.ok("search.glob", pattern="*.txt", path="link"))["files"] == ["./link/a.txt"]
    assert (await glob.ok("search.glob", pattern="*.txt", path="real/a.txt"))["files"] == ["./real/a.txt"]


async def test_hostile_names_and_patterns_stay_what_they_are(glob):
    for name in ("-rf.py", "--pre=x", "new\nline.py", "[a]{b}*?.py", "!not.py", "#hash", "a:b"):
        glob.put(name, "x")
    for pattern, expected in (
        ("-rf.py", ["./-rf.py"]),
        ("--pre=x", ["./--pre=x"]),
        ("new*", ["./new\nline.py"]),
        (r"\[a\]\{b\}\*\?.py", ["./[a]{b}*?.py"]),
        ("!not.py", ["./!not.py"]),
        ("#hash", ["./#hash"]),
        ("a:?", ["./a:b"]),
    ):
        assert (await glob.ok("search.glob", pattern=pattern))["files"] == expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("/etc/*", "../*", "src/../../x", "~/x", "a\0b", "a\nb", ".", "[a", "{a", "[b-a]"),
        *("x" * 2001, "{a,b}" * 9, "{,}", "{a,}", "{./,b}"),
    ],
)
async def test_a_pattern_that_cannot_be_meant_is_refused_with_a_reason(desk, pattern):
    async with search_desk(desk, engine_called("packaged", desk.base)) as glob:
        envelope = await glob.call("search.glob", arguments={"pattern": pattern})
    assert envelope.code == "invalid_pattern"
    assert ":" in envelope.error_text


@pytest.mark.requirement("glob.pattern")
@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.ts", ["a.ts", "x/y/a.ts", ".ts"], ["a.tsx", "a.ts/b"]),
        ("./*.ts", ["a.ts"], ["x/a.ts"]),
        ("src/*", ["src/a", "src/.b"], ["src/a/b", "src", "x/src/a"]),
        ("src/", ["src/a", "src/a/b"], ["src"]),
        ("src/**/x.py", ["src/x.py", "src/a/b/x.py"], ["x.py", "asrc/x.py", "src/ax.py"]),
        ("**/t/**", ["t/a", "a/t/b/c"], ["t", "at/b"]),
        ("**/a/**/b/**/c", ["a/b/c", "a/x/b/y/c", "z/a/a/b/b/c"], ["b/a/c", "a/b"]),
        ("a**b", ["ab", "axxb", "q/ab"], ["a/b"]),
        ("?.c", ["x.c", "ä.c"], ["xx.c", ".c"]),
        ("[!a-c]x", ["dx", "äx"], ["ax", "x", "a/x/y"]),
        ("[]a]x", ["]x", "ax"], ["bx"]),
        ("{a,b{c,d}}.py", ["a.py", "bc.py", "bd.py"], ["b.py", "ac.py"]),
        ("x{,.bak}", ["x", "x.bak"], ["x.ba"]),
        (r"\{a\}", ["{a}"], ["a"]),
        ("*a*b*c", ["abc", "xaxbxc", "aabbcc", "abcabc"], ["acb", "ab"]),
        ("*aab*ab", ["aaabxab", "aabaab"], ["aaab"]),
    ],
)
def test_globs_match_what_they_say(pattern, matching, others):
    expression = parse_glob(pattern).compiled()
    assert [path for path in matching if not expression.fullmatch(path)] == []
    assert [path for path in others if expression.fullmatch(path)] == []


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 250),
        ("**/a/" * 100 + "b", "a/" * 2_000 + "c"),
        ("*[ab]" * 100 + "c", "ab" * 120),
        ("/".join(["*a*a*a*a"] * 30).removesuffix("/"), "/".join(["a" * 200] * 30) + "/b"),
    ],
)
@pytest.mark.timeout(20)
def test_no_glob_takes_for_ever(pattern, path):
    assert parse_glob(pattern).compiled().fullmatch(path) is None


def test_braces_do_not_explode():
    with pytest.raises(ToolError):
        parse_glob("{a,b,c,d,e,f,g,h,i,j}" * 20)
