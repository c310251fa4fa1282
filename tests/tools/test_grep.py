"""`search.grep` on real files, by every engine."""

from __future__ import annotations

import asyncio
import gc
import os
import time

import pytest

from app.tools.search.engine import Ripgrep
from app.tools.search.text_search import TextLimits
from tests.driver.loop_clock import put_forward
from tests.tools.searching import ENGINES, ScriptEngine, counted_reads, engine_called, search_desk


@pytest.fixture(params=ENGINES)
async def grep(request, desk):
    async with search_desk(desk, engine_called(request.param, desk.base / "bin")) as searching:
        yield searching


@pytest.fixture
async def rg(desk):
    async with search_desk(desk, engine_called("packaged", desk.base / "bin")) as searching:
        yield searching


async def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def names(data):
    return [match["file"] for match in data["matches"]]


@pytest.mark.requirement("grep.regex")
async def test_todo_gives_the_matching_lines(grep):
    grep.put("src/main.ts", "import x;\n// TODO: handle errors\nrun(); // FIXME\n")
    grep.put("src/other.ts", "nothing\n")
    data = await grep.ok("search.grep", pattern="TODO|FIXME", output_mode="content")
    assert data == {
        "matches": [
            {"file": "./src/main.ts", "line": 2, "content": "// TODO: handle errors"},
            {"file": "./src/main.ts", "line": 3, "content": "run(); // FIXME"},
        ],
        "total_matches": 2,
        "truncated": False,
    }


@pytest.mark.requirement("grep.filter")
@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("*.ts", ["./a.ts", "./src/b.ts", "./src/deep/c.ts"]),
        ("*.{ts,tsx}", ["./a.ts", "./d.tsx", "./src/b.ts", "./src/deep/c.ts"]),
        ("src/**/*.ts", ["./src/b.ts", "./src/deep/c.ts"]),
        ("./src/*", ["./src/b.ts"]),
        ("!*.ts", ["./d.tsx", "./e.js"]),
        ("[a-d].?s", ["./a.ts", "./src/b.ts", "./src/deep/c.ts"]),
        ("*.py", []),
    ],
)
async def test_include_narrows_by_name_or_path(grep, include, expected):
    for path in ("a.ts", "src/b.ts", "src/deep/c.ts", "d.tsx", "e.js"):
        grep.put(path, "TODO\n")
    data = await grep.ok("search.grep", pattern="TODO", include=include)
    assert names(data) == expected


@pytest.mark.requirement("grep.modes")
async def test_the_three_modes_tell_lines_files_and_counts(grep):
    grep.put("a.py", "x\nx\ny\n")
    grep.put("b.py", "x\n")
    paths = await grep.ok("search.grep", pattern="x")
    assert (paths["matches"], paths["total_matches"]) == ([{"file": "./a.py"}, {"file": "./b.py"}], 2)
    counts = await grep.ok("search.grep", pattern="x", output_mode="count")
    assert counts["matches"] == [{"file": "./a.py", "count": 2}, {"file": "./b.py", "count": 1}]
    assert counts["total_matches"] == 3
    lines = await grep.ok("search.grep", pattern="X", output_mode="content", ignore_case=True)
    assert [(one["file"], one["line"]) for one in lines["matches"]] == [
        ("./a.py", 1),
        ("./a.py", 2),
        ("./b.py", 1),
    ]


@pytest.mark.requirement("grep.modes")
async def test_context_is_what_stands_around_each_match(grep):
    grep.put("a.py", "".join(f"{n}\n" for n in range(1, 10)))
    data = await grep.ok("search.grep", pattern="^[358]$", output_mode="content", context=2)
    assert data["matches"] == [
        {"file": "./a.py", "line": n, "content": str(n), "context_before": before, "context_after": after}
        for n, before, after in (
            (3, ["1", "2"], ["4", "5"]),
            (5, ["3", "4"], ["6", "7"]),
            (8, ["6", "7"], ["9"]),
        )
    ]  # fmt: skip


@pytest.mark.requirement("grep.cap")
@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
async def test_head_limit_ends_the_search_and_says_so(grep, mode):
    for number in range(5):
        grep.put(f"{number}.txt", "x\n")
    five = await grep.ok("search.grep", pattern="x", output_mode=mode, head_limit=5)
    assert (len(five["matches"]), five["truncated"]) == (5, False)
    three = await grep.ok("search.grep", pattern="x", output_mode=mode, head_limit=3)
    assert (len(three["matches"]), three["total_matches"], three["truncated"]) == (3, 3, True)
    assert three["note"] == "there are more than head_limit"


async def test_the_last_match_within_head_limit_has_its_context(grep):
    grep.put("a.txt", "x1\nx2\nx3\nx4\n")
    data = await grep.ok("search.grep", pattern="x", output_mode="content", head_limit=1, context=2)
    assert data["matches"] == [{"file": "./a.txt", "line": 1, "content": "x1", "context_after": ["x2", "x3"]}]
    assert data["truncated"] is True


@pytest.mark.requirement("grep.cap")
async def test_above_256_kb_the_answer_is_cut_and_the_whole_is_in_a_file(rg):
    lines = [f"match {number:06d} {'x' * 80}" for number in range(8_000)]
    rg.put("big.txt", "\n".join(lines) + "\n")
    envelope = await rg.call("search.grep", pattern="^match", output_mode="content")
    data = envelope.data
    assert (data["truncated"], data["total_matches"], envelope.metadata.truncated) == (True, 8_000, True)
    assert 200_000 < len(str(data["matches"])) < 300_000
    assert [one["content"] for one in data["matches"]] == lines[: len(data["matches"])]
    last = await rg.ok("file.read", path=envelope.metadata.output_path, offset=8_000)
    assert last["content"] == f"8000: ./big.txt:8000:{lines[-1]}"
    again = await rg.ok(
        "search.grep", pattern="match 007999", path=envelope.metadata.output_path, output_mode="content"
    )
    assert [one["file"] for one in again["matches"]] == [envelope.metadata.output_path]


@pytest.mark.requirement("grep.cap")
async def test_the_file_with_the_whole_is_bounded_too_and_the_search_ends_there(desk):
    desk.put("big.txt", "match\n" * 200_000)
    limits = TextLimits(shown_bytes=1_000, kept_bytes=50_000)
    async with search_desk(desk, engine_called("packaged", desk.base), text=limits) as rg:
        envelope = await rg.call("search.grep", pattern="match", output_mode="content")
        kept = os.path.getsize(envelope.metadata.output_path)
    assert 10_000 < kept < 60_000
    assert envelope.data["total_matches"] < 3_000
    assert "narrow the search" in envelope.data["note"]


@pytest.mark.requirement("grep.timeout")
async def test_an_engine_that_hangs_is_ended_with_what_it_had_printed(desk, monkeypatch):
    reads = counted_reads(monkeypatch)
    script = r"printf './/a.py\0001:one\n.//b.py\0002:two\n'; exec sleep 6000"
    limits = TextLimits(seconds=300)
    async with search_desk(desk, ScriptEngine(script), text=limits) as hung:
        call = asyncio.create_task(hung.ok("search.grep", pattern="x", output_mode="content"))
        await until(lambda: len(reads) > 1)  # what was printed has been taken
        put_forward(monkeypatch, 301)
        data = await call
    assert [(one["file"], one["line"]) for one in data["matches"]] == [("./a.py", 1), ("./b.py", 2)]
    assert data["truncated"] is True
    assert data["note"].startswith("stopped after 300 s")


@pytest.mark.requirement("tools.meta.abort")
async def test_a_cancelled_search_leaves_no_process(desk):
    marker = desk.base / "pid"
    script = f"echo $$ > {marker}.new; mv {marker}.new {marker}; exec sleep 600"
    async with search_desk(desk, ScriptEngine(script)) as hung:
        call = asyncio.create_task(hung.call("search.grep", pattern="x"))
        await until(marker.exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(ProcessLookupError):
            os.kill(int(marker.read_text()), 0)


async def test_searches_leave_no_descriptor_behind(rg):
    rg.put("a/b.txt", "x\n" * 1000)
    gc.collect()  # what the tests before have left
    held = []
    for _ in range(3):
        for path, pattern in ((".", "x"), ("a", "("), ("a/b.txt", "x"), ("nowhere", "x"), ("a", "y")):
            await rg.call("search.grep", pattern=pattern, path=path, output_mode="content", head_limit=1)
            await rg.call("search.glob", pattern="*", path=path)
        held.append(len(os.listdir("/proc/self/fd")))
    assert held[1:] == held[:-1]


@pytest.mark.requirement("grep.ignore")
async def test_ignored_binary_and_version_control_files_are_left_out(grep):
    grep.put(".gitignore", "build/\n*.log\n!keep.log\n/only-here.txt\n")
    grep.put("lib/.gitignore", "/generated\n")
    for path in ("build/x.py", "a.log", "lib/generated/y.py", "only-here.txt", ".git/config", ".hg/store"):
        grep.put(path, "TODO\n")
    grep.put("binary.bin", b"TODO\n\0\1\2")
    grep.put("late.bin", b"TODO\n" + b"x" * 100_000 + b"\n\0\n")
    found = ["keep.log", "lib/only-here.txt", ".github/ci.yml", "generated/z.py"]
    for path in found:
        grep.put(path, "TODO\n")
    data = await grep.ok("search.grep", pattern="TODO", output_mode="content")
    assert names(data) == sorted(f"./{path}" for path in found)


@pytest.mark.requirement("grep.ignore")
async def test_what_is_named_is_searched_even_if_it_is_ignored(grep):
    grep.put(".gitignore", "vendor/*\n*.log\nout/\n")
    grep.put("vendor/x/a.py", "TODO\n")
    grep.put("out/b.py", "TODO\n")
    grep.put("out/.gitignore", "skipped\n")
    grep.put("out/skipped", "TODO\n")
    grep.put("c.log", "TODO\n")
    assert names(await grep.ok("search.grep", pattern="TODO", path="vendor/x")) == ["./vendor/x/a.py"]
    assert names(await grep.ok("search.grep", pattern="TODO", path="./out/")) == ["./out/b.py"]
    assert names(await grep.ok("search.grep", pattern="TODO", path="c.log")) == ["./c.log"]


@pytest.mark.requirement("grep.ignore")
async def test_rules_of_folders_above_hold_up_to_the_repository(grep):
    (grep.base / ".gitignore").write_text("*\n")
    grep.put(".gitignore", "/pkg/dist\n*.tmp\n")
    for path in ("pkg/dist/a.py", "pkg/src/b.py", "pkg/src/c.tmp"):
        grep.put(path, "TODO\n")
    assert names(await grep.ok("search.grep", pattern="TODO")) == ["./pkg/src/b.py"]
    grep.put(".git/HEAD", "ref: refs/heads/main\n")
    assert names(await grep.ok("search.grep", pattern="TODO", path="pkg")) == ["./pkg/src/b.py"]
    assert names(await grep.ok("search.grep", pattern="TODO", path="pkg/src")) == ["./pkg/src/b.py"]


@pytest.mark.requirement("grep.ignore")
async def test_rules_end_where_another_repository_begins(grep):
    grep.put(".gitignore", "*.tmp\n")
    grep.put("lib/.git/HEAD", "ref: refs/heads/main\n")
    grep.put("lib/a.tmp", "TODO\n")
    assert names(await grep.ok("search.grep", pattern="TODO")) == []
    grep.put(".git/HEAD", "ref: refs/heads/main\n")
    assert names(await grep.ok("search.grep", pattern="TODO")) == ["./lib/a.tmp"]
    assert names(await grep.ok("search.grep", pattern="TODO", path="lib")) == ["./lib/a.tmp"]


@pytest.mark.requirement("grep.ignore")
async def test_a_project_within_a_repository_obeys_the_repository(grep):
    (grep.base / ".git").mkdir()
    (grep.base / ".gitignore").write_text("node_modules/\n")
    grep.put("node_modules/x.js", "TODO\n")
    grep.put("src/y.js", "TODO\n")
    assert names(await grep.ok("search.grep", pattern="TODO")) == ["./src/y.js"]


@pytest.mark.requirement("grep.options")
@pytest.mark.parametrize(
    "pattern", ["--files", "-e", "--pre=touch", "-f/etc/passwd", "--", "-", "--no-ignore", "-lTODO"]
)
async def test_a_pattern_is_never_an_option(grep, pattern):
    grep.put("a.txt", f"say {pattern} here\n")
    grep.put("b.txt", "root: something else\n")
    before = grep.snapshot()
    data = await grep.ok("search.grep", pattern=pattern.replace("-", "[-]"), output_mode="content")
    assert names(data) == ["./a.txt"]
    data = await grep.ok("search.grep", pattern=pattern, output_mode="content")
    assert names(data) == ["./a.txt"]
    assert grep.snapshot() == before


@pytest.mark.requirement("grep.options")
@pytest.mark.parametrize(
    "include", ["--pre=touch", "-uuu", "include:py", "x:include:all", "!", "!-e", "a:b", "*{a,b}:*", "**"]
)
async def test_a_glob_is_never_an_option_or_a_definition(grep, include):
    grep.put("a.py", "TODO\n")
    grep.put("-uuu", "TODO\n")
    grep.put("x:include:all", "TODO\n")
    before = grep.snapshot()
    envelope = await grep.call("search.grep", pattern="TODO", include=include)
    expected = {
        "-uuu": ["./-uuu"],
        "x:include:all": ["./x:include:all"],
        "!-e": ["./-uuu", "./a.py", "./x:include:all"],
        "**": ["./-uuu", "./a.py", "./x:include:all"],
    }
    if include == "!":
        assert envelope.code == "invalid_pattern"
    else:
        assert names(envelope.data) == expected.get(include, [])
    assert grep.snapshot() == before


@pytest.mark.requirement("grep.options")
@pytest.mark.parametrize("path", ["--pre=touch", "-r", "--files", "-"])
async def test_a_path_is_never_an_option(grep, path):
    assert await grep.code("search.grep", pattern="TODO", path=path) == "file_not_found"
    grep.put(f"{path}/a.txt", "TODO\n")
    assert names(await grep.ok("search.grep", pattern="TODO", path=path)) == [f"./{path}/a.txt"]
    data = await grep.ok("search.grep", pattern="TODO", path=f"{path}/a.txt", output_mode="content")
    assert data["matches"] == [{"file": f"./{path}/a.txt", "line": 1, "content": "TODO"}]


async def test_hostile_names_are_shown_as_they_are(grep):
    hostile = [
        "-rf.py",
        "new\nline.py",
        "a:1:fake.py",
        'x: WARNING: stopped searching binary file after match (found "\n.py',
        "[a]{b}*?.py",
        "sp ace\t.py",
    ]
    for name in hostile:
        grep.put(name, "TODO\n")
    (grep.root / os.fsdecode(b"bad\xff.py")).write_text("TODO\n")
    for mode in ("content", "files_with_matches", "count"):
        data = await grep.ok("search.grep", pattern="TODO", output_mode=mode)
        assert sorted(names(data)) == sorted([*(f"./{name}" for name in hostile), "./bad\ufffd.py"])
    for name in hostile:
        data = await grep.ok("search.grep", pattern="TODO", path=name)
        assert names(data) == [f"./{name}"]


async def test_file_names_with_line_ends_and_binary_files_are_not_confused(rg):
    rg.put('a\n.//b.py"', "x\n")
    rg.put("zz\nlate", b"TODO\n" + b"x" * 100_000 + b"\n\0\n")
    rg.put("zz", "TODO\n")
    data = await rg.ok("search.grep", pattern="TODO", output_mode="content")
    assert names(data) == ["./zz"]


async def test_a_pattern_for_what_no_line_can_hold_is_the_patterns_mistake(rg):
    rg.put("a.txt", "a\n")
    assert await rg.code("search.grep", pattern=r"\x00") == "invalid_pattern"


@pytest.mark.parametrize(
    "pattern",
    ["(", "foo(", "[a", "a{2", "*a", "(?=a)", "(?<!a)b", r"(a)\1", "a\nb", r"a\nb", r"a\rb", "a\0b", "\\"],
)
async def test_an_invalid_pattern_says_what_is_wrong(grep, pattern):
    grep.put("a.txt", "a\n")
    envelope = await grep.call("search.grep", pattern=pattern)
    assert envelope.code == "invalid_pattern"
    assert 20 < len(envelope.error_text) < 400


async def test_special_text_is_read_as_text(grep):
    grep.put("crlf.txt", "first\r\nlast;\r\n")
    grep.put("wide.txt", "Grüße;\n".encode("utf-16"))
    grep.put("mark.txt", b"\xef\xbb\xbffirst;\n")
    grep.put("latin.txt", "Grüße;\n".encode("latin-1"))
    grep.put("no-end.txt", "x;")
    data = await grep.ok("search.grep", pattern="^.*;$|;$", output_mode="content")
    assert {one["file"]: one["content"] for one in data["matches"]} == {
        "./crlf.txt": "last;",
        "./wide.txt": "Grüße;",
        "./mark.txt": "first;",
        "./latin.txt": "Gr\ufffd\ufffde;",
        "./no-end.txt": "x;",
    }


async def test_a_long_line_is_cut(grep):
    grep.put("min.js", "x" * 300_000 + "\n" + "xä" * 1000 + "\n")
    data = await grep.ok("search.grep", pattern="x", output_mode="content")
    assert [one["content"] for one in data["matches"]] == ["x" * 2000 + " [truncated]", "xä" * 1000]


async def test_links_are_not_followed_on_the_way_but_may_be_named(grep):
    grep.put("real/a.txt", "TODO\n")
    (grep.root / "link").symlink_to("real")
    (grep.base / "outside").mkdir()
    (grep.base / "outside" / "b.txt").write_text("TODO\n")
    (grep.root / "out").symlink_to(grep.base / "outside")
    (grep.root / "loop").symlink_to(".")
    assert names(await grep.ok("search.grep", pattern="TODO")) == ["./real/a.txt"]
    assert names(await grep.ok("search.grep", pattern="TODO", path="link")) == ["./link/a.txt"]
    for path in ("out", "out/b.txt", "../outside", "/etc", "~"):
        assert await grep.code("search.grep", pattern="TODO", path=path) == "invalid_path"


async def test_a_path_that_is_missing_is_file_not_found(grep):
    assert await grep.code("search.grep", pattern="x", path="src") == "file_not_found"


async def test_no_configuration_and_no_module_of_the_project_steers_a_search(grep, monkeypatch):
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(grep.put("rc", "--no-ignore\n")))
    grep.put(".ignore", "a.txt\n")
    grep.put("a.txt", "TODO\n")
    for module in ("re.py", "orjson.py", "app/__init__.py", "sitecustomize.py"):
        grep.put(module, "open('pwned', 'w')\n")
    assert names(await grep.ok("search.grep", pattern="TODO")) == ["./a.txt"]
    assert not (grep.root / "pwned").exists()


async def test_an_engine_that_cannot_be_started_says_why(desk):
    async with search_desk(desk, Ripgrep(str(desk.base / "nothing"))) as search:
        envelope = await search.call("search.grep", pattern="x")
    assert envelope.code == "search_failed"
