"""`search.ast` on real files, with the real ast-grep."""

from __future__ import annotations

import asyncio
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from app.bridges.processes.process import ChildProcesses
from app.programs import packaged
from app.tools.ast_grep import engine
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import LANGUAGES, extensions_of
from app.tools.ast_grep.listing import SourceFiles
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.search import ast_matches, ast_search
from app.workspace.ignore_rules import rules_above
from tests.tools.conftest import Desk

MAIN = """import { serve } from "./serve";
  const server = serve({
  port,
  });
  console.log("server started")
// console.log("only a comment")
const text = 'console.log("only text")';
"""


async def _found(desk: Desk, pattern: str, lang: str = "typescript", **more) -> list[tuple[str, int]]:
    data = await desk.ok("search.ast", pattern=pattern, lang=lang, **more)
    return [(match["file"], match["line"]) for match in data["matches"]]


def _ast_grep_alone(desk: Desk, pattern: str, lang: str, path: str) -> subprocess.CompletedProcess[bytes]:
    """Run ast-grep as a person would."""
    command = [str(packaged("ast-grep")), "run", f"--pattern={pattern}", "-l", lang, "--json=stream", path]
    return subprocess.run(command, cwd=desk.root, capture_output=True)


@pytest.mark.requirement("ast.search", "ast.context")
async def test_a_call_is_found_with_what_it_was_called_with_and_the_lines_around(desk):
    desk.put("src/main.ts", MAIN)
    data = await desk.ok(
        "search.ast", pattern="console.log($MSG)", lang="typescript", paths=["./src"], context=1
    )
    begin = MAIN.index("console.log")
    assert data == {
        "matches": [
            {
                "file": "./src/main.ts",
                "line": 5,
                "content": 'console.log("server started")',
                "meta_variables": {"MSG": '"server started"'},
                "context_before": ["  });"],
                "context_after": ['// console.log("only a comment")'],
                "column": 3,
                "end_line": 5,
                "end_column": 32,
                "byte_start": begin,
                "byte_end": begin + len('console.log("server started")'),
            }
        ],
        "count": 1,
        "truncated": False,
    }


@pytest.mark.requirement("ast.multiple")
async def test_three_dollars_capture_a_list_without_its_commas(desk):
    desk.put("a.ts", "f(1, g(2, 3), 'x,y');\nf();\nf(4)\n")
    data = await desk.ok("search.ast", pattern="f($$$ARGS)", lang="ts")
    captured = [match["meta_variables"]["ARGS"] for match in data["matches"]]
    assert captured == [["1", "g(2, 3)", "'x,y'"], [], ["4"]]


async def test_the_same_name_twice_stands_for_the_same_code(desk):
    desk.put("a.py", "a == a\na == b\n")
    assert await _found(desk, "$X == $X", "python") == [("./a.py", 1)]


@pytest.mark.requirement("ast.context")
async def test_positions_count_bytes_and_characters_and_context_ends_with_the_file(desk):
    desk.put("a.ts", "\ufeffé(); f(\n 1)\r\nlast\r\n".encode())
    data = await desk.ok("search.ast", pattern="f($A)", lang="typescript", context=9)
    match = data["matches"][0]
    assert (match["line"], match["column"], match["end_line"], match["end_column"]) == (1, 6, 2, 4)
    assert (match["byte_start"], match["byte_end"]) == (9, 9 + len("f(\n 1)"))
    assert (match["context_before"], match["context_after"]) == ([], ["last"])
    without = (await desk.ok("search.ast", pattern="f($A)", lang="typescript"))["matches"][0]
    assert not {"context_before", "context_after"} & without.keys()


@pytest.mark.requirement("ast.context")
@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*.test.ts"], {"./src/b.test.ts", "./lib/b.test.ts"}),
        (["!*.test.ts"], {"./src/a.ts", "./lib/c.mts"}),
        (["./src/**"], {"./src/a.ts", "./src/b.test.ts"}),
        (["**/*.{ts,mts}", "!src/**"], {"./lib/b.test.ts", "./lib/c.mts"}),
        (["!lib/", "*.ts"], {"./src/a.ts", "./src/b.test.ts"}),
        (["!*.test.ts", "src/*.test.ts"], {"./src/b.test.ts"}),
        (["ignored.ts", "*.js"], set()),
        (["-x", "--files", "!--pre=cat"], set()),
    ],
)
async def test_globs_include_and_exclude_and_never_bring_in_what_is_ignored(desk, globs, expected):
    for path in ("src/a.ts", "src/b.test.ts", "lib/b.test.ts", "lib/c.mts", "ignored.ts", "x.js"):
        desk.put(path, "wanted(1)\n")
    desk.put(".gitignore", "ignored.ts\n")
    assert {file for file, _ in await _found(desk, "wanted($A)", globs=globs)} == expected


@pytest.mark.requirement("ast.context")
async def test_paths_are_folders_or_files_and_a_match_is_reported_once(desk):
    for path in ("src/in/a.ts", "src/b.ts", "other/c.ts"):
        desk.put(path, "wanted(1)\n")
    desk.put("src/page.vue", "wanted(2)\n")
    desk.put("wide.ts", "wanted('ä')\n".encode("utf-16"))
    paths = ["src", "src/in", "src/page.vue", "wide.ts"]
    found = await _found(desk, "wanted($A)", paths=paths)
    assert found == [("./src/b.ts", 1), ("./src/in/a.ts", 1), ("./src/page.vue", 1), ("./wide.ts", 1)]


@pytest.mark.requirement("ast.invalid")
@pytest.mark.parametrize(
    ("pattern", "lang"),
    [
        ("console.log(", "typescript"),
        ("a; b", "typescript"),
        ("function (", "javascript"),
        ("class $A", "java"),
        ('{ "a": $X }', "json"),
        ("$A +", "python"),
        ("$$$", "python"),
        ("  ", "python"),
        ("a\0b", "python"),
        ("\ud800", "python"),
        ("x" * 30_000, "python"),
    ],
)
async def test_a_pattern_that_is_only_a_piece_of_code_is_refused_with_guidance(desk, pattern, lang):
    desk.put("a.ts", "console.log(1); a; b\n")
    envelope = await desk.call("search.ast", {"pattern": pattern, "lang": lang})
    assert envelope.code == "invalid_pattern"
    assert "Write a whole expression, statement or declaration" in envelope.error_text
    rewritten = await desk.call("edit.ast", {"rewrites": {pattern: "x"}, "lang": lang, "dry_run": False})
    assert rewritten.code == "invalid_pattern"


@pytest.mark.parametrize("pattern", ["-x", "--version", "--pattern", "-p $A"])
async def test_a_pattern_is_never_an_option(desk, pattern):
    desk.put("a.py", "-x\n")
    envelope = await desk.call("search.ast", pattern=pattern, lang="python")
    assert envelope.code in {None, "invalid_pattern"}
    if pattern == "-x":
        assert [match["content"] for match in envelope.data["matches"]] == ["-x"]


async def test_a_word_named_error_is_no_error(desk):
    desk.put("a.py", 'log("""\nERROR\n""")\n')
    assert await _found(desk, 'log("""\nERROR\n""")', "python") == [("./a.py", 1)]


@pytest.mark.parametrize("name", ["-r.ts", "--json.ts", "a b.ts", "new\nline.ts", "ü.ts", "*.ts", "\\.ts"])
async def test_odd_names_are_searched_like_others(desk, name):
    desk.put(f"sub/{name}", "wanted(1)\n")
    assert await _found(desk, "wanted($A)") == [(f"./sub/{name}", 1)]
    assert await _found(desk, "$A(1)", paths=[f"sub/{name}"]) == [(f"./sub/{name}", 1)]


async def test_names_that_are_not_text_do_not_stop_a_search(desk):
    desk.put("b.ts", "wanted(1)\n")
    descriptor = os.open(os.fsencode(desk.root) + b"/\xff.ts", os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, b"wanted(2)\n")
    os.close(descriptor)
    assert await _found(desk, "wanted($A)") == [("./b.ts", 1)]


# What is read and what is not.


async def test_a_configuration_of_the_repository_is_never_read(desk):
    """It could name a native library to be loaded as a parser; here it would also call .ts files
    Python and, being broken, stop every search."""
    desk.put("src/a.ts", "wanted(1)\n")
    hostile = "customLanguages:\n  evil: {libraryPath: evil.so, extensions: [ts]}\n"
    desk.put("evil.so", "not a library")
    for text in (hostile, "languageGlobs:\n  python: ['*.ts']\n", "{ not yaml: ["):
        for path in ("sgconfig.yml", "src/sgconfig.yml"):
            desk.put(path, text)
        assert await _found(desk, "wanted($A)") == [("./src/a.ts", 1)]
        assert await _found(desk, "wanted($A)", paths=["src"]) == [("./src/a.ts", 1)]
        assert await _found(desk, "wanted($A)", paths=["src/a.ts"]) == [("./src/a.ts", 1)]
    plain = await asyncio.to_thread(_ast_grep_alone, desk, "wanted($A)", "ts", ".")
    assert plain.returncode == 8  # the same program, left to itself, does read it


async def test_ignored_files_and_version_control_are_left_out_and_hidden_files_are_not(desk):
    for path in ("a.ts", "node_modules/b.ts", "deep/out/c.ts", ".git/d.ts", ".config/e.ts"):
        desk.put(path, "wanted(1)\n")
    desk.put(".gitignore", "node_modules/\n")
    desk.put("deep/.gitignore", "out\n")
    assert await _found(desk, "wanted($A)") == [("./.config/e.ts", 1), ("./a.ts", 1)]
    assert await _found(desk, "wanted($A)", paths=["node_modules"]) == [("./node_modules/b.ts", 1)]


@pytest.mark.parametrize(
    ("pattern", "lang", "content"),
    [
        ("foo($$$A)", "typescript", "f\\u006fo(1); foo(1)\n"),
        ("'abc'", "javascript", "x = 'abc'\n"),
        ('f("$A")', "python", "f('$A')\nf(\"$A\")\n"),
        ("if ($A) { $$$ } else { $$$ }", "typescript", "if (a) { } else { }\n"),
        ("f($$$, x)", "typescript", "f(x)\n"),
        ("not $A in $B", "python", "not  a in b\n"),
        ("$A is not None", "python", "a is  not None\n"),
        ("async def $F(): $$$", "python", "async   def f(): pass\n"),
        ("foo /* note */ (1)", "typescript", "foo(1)\n"),
        ("a.b", "python", "a . \\\n b\n"),
        ("const $A = 1", "javascript", "const\n x = 1\n"),
        ("`x${y}`", "javascript", "`x${y}`\n"),
        ("echo $A", "bash", "echo 1\n"),
        ("color: red", "css", "a { color: red; }\n"),
        ("$OBJ.name", "ruby", "user.name\n"),
    ],
)
async def test_narrowing_by_words_loses_no_match(desk, pattern, lang, content):
    """What ast-grep finds by itself, the tool finds too."""
    name = f"a.{extensions_of(lang)[0]}"
    desk.put(name, content)
    alone = await asyncio.to_thread(_ast_grep_alone, desk, pattern, lang, name)
    expected = [orjson.loads(line)["text"] for line in alone.stdout.splitlines()]
    envelope = await desk.call("search.ast", pattern=pattern, lang=lang)
    if envelope.is_error:
        assert (envelope.code, expected) == ("invalid_pattern", [])
    else:
        assert [match["content"] for match in envelope.data["matches"]] == expected


@pytest.mark.parametrize(
    ("pattern", "lang", "literal"),
    [
        ("console.log($A)", "typescript", "console"),
        ("$A.assertEqual($$$)", "python", "assertEqual"),
        ("f('some text', $A)", "python", None),
        ("$A is not $B", "python", None),
        ("$A not in $B", "python", None),
        ("for $X in $Y { $$$ }", "rust", None),
        ("def $F($$$): $$$", "python", None),
        ("größe($A)", "javascript", None),
    ],
)
async def test_files_are_narrowed_by_names_alone(children, pattern, lang, literal):
    assert (await AstGrep(children).understand(pattern, lang)).literal == literal


@pytest.mark.parametrize("lang", LANGUAGES)
async def test_every_language_is_known_with_all_its_extensions(desk, lang):
    code = {"html": "<p>x</p>", "css": "p { x: y }", "json": "[1]", "yaml": "x: 1"}.get(lang, "x")
    for extension in extensions_of(lang):
        desk.put(f"a.{extension}", code)
    data = await desk.ok("search.ast", pattern="$A", lang=lang)
    own = {match["file"].rpartition(".")[2] for match in data["matches"]}
    assert own == set(extensions_of(lang))


async def test_code_in_pages_is_found_in_its_language(desk):
    desk.put("a.html", "<p>f(1)</p><script>f(2)</script>\n")
    data = await desk.ok("search.ast", pattern="f($A)", lang="javascript")
    assert [match["meta_variables"]["A"] for match in data["matches"]] == ["2"]


# Bounds.


async def test_what_is_too_much_to_show_is_kept_whole_in_a_file(desk):
    desk.put("a.ts", "".join(f"wanted({number});\n" for number in range(2_000)))
    envelope = await desk.call("search.ast", pattern="wanted($A)", lang="typescript")
    data = envelope.data
    assert (data["count"], data["truncated"], envelope.metadata.truncated) == (2_000, True, True)
    assert 0 < len(data["matches"]) < 2_000
    assert len(orjson.dumps(data)) < 200_000
    whole = Path(envelope.metadata.output_path).read_bytes().splitlines()
    assert [orjson.loads(line)["line"] for line in whole] == list(range(1, 2_001))
    assert orjson.loads(whole[0]) == data["matches"][0]


async def test_a_pattern_that_matches_everything_is_cut_off(desk):
    desk.put("a.json", "[" + "1,\n" * 30_000 + "1]")
    data = await desk.ok("search.ast", pattern="$A", lang="json")
    assert data["truncated"] is True
    assert data["count"] == ast_search.MAX_MATCHES
    assert "more specific" in data["note"]


async def test_a_file_that_is_too_much_is_named_and_costs_the_others_nothing(desk, monkeypatch):
    """On one long line, ast-grep's memory grows with the square of the matches."""
    monkeypatch.setattr(engine, "MEMORY", 64 * 1024 * 1024)
    desk.put("long.js", "a" + ".b()" * 10_000)
    for number in range(7):
        desk.put(f"{number}.js", "f(1);\nf(2);\n")
    data = await desk.ok("search.ast", pattern="$F($$$A)", lang="javascript")
    assert data["truncated"] is True
    assert data["note"].endswith("./long.js")
    whole = {(match["file"], match["line"]) for match in data["matches"]}
    assert whole >= {(f"./{number}.js", line) for number in range(7) for line in (1, 2)}
    assert data["count"] == len({(m["file"], m["byte_start"], m["byte_end"]) for m in data["matches"]})
    preview = await desk.ok("edit.ast", rewrites={"$F($$$A)": "g()"}, lang="javascript")
    assert preview["total_replacements"] == 14
    assert [problem["path"] for problem in preview["parse_errors"]] == ["./long.js"]


async def test_a_long_match_is_shown_in_part(desk):
    desk.put("a.ts", f"wanted('{'x' * 50_000}')\n")
    data = await desk.ok("search.ast", pattern="wanted($A)", lang="typescript")
    content = data["matches"][0]["content"]
    assert content.endswith("[truncated]") and len(content) < ast_matches.MAX_TEXT + 20


@pytest.mark.parametrize("seconds", [0.0, 0.05])
async def test_when_time_runs_out_the_answer_says_so(desk, children, seconds):
    for number in range(40):
        desk.put(f"{number}.ts", "wanted(1);\n" * 3_000)
    tool = ast_search.build(
        ProjectFiles(reads=desk.reads),
        CallProcesses.uncaged(children),
        AstGrep(children),
        SourceFiles(children, rules_above),
        seconds=seconds,
    )
    params = tool.parameters(pattern="$A + $B", lang="typescript")
    async with asyncio.timeout(60):
        result = await tool.run(params, desk.context)
    assert (result.truncated, result.timed_out) == (True, True)


def _programs() -> list[str]:
    """The programs that run as children of this process."""
    found: list[str] = []
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has just ended
            for one in Path(f"/proc/self/task/{thread}/children").read_text().split():
                with suppress(OSError):
                    found.append(Path(f"/proc/{one}/comm").read_text().strip())
    return found


async def test_a_search_that_is_given_up_leaves_no_process(desk):
    for number in range(60):
        desk.put(f"{number}.ts", "wanted(1);\n" * 3_000)
    async with asyncio.timeout(100):
        seen = False
        while not seen:  # a search may be over before it is looked at
            task = asyncio.create_task(desk.call("search.ast", pattern="$A + $B", lang="typescript"))
            while not task.done() and not seen:
                seen = "ast-grep" in await asyncio.to_thread(_programs) and not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not {"ast-grep", "rg"} & set(_programs())


async def test_nothing_found_says_how_the_pattern_was_read(desk):
    desk.put("a.c", 'int main() { printf("x"); }\n')
    data = await desk.ok("search.ast", pattern="printf($A)", lang="c")
    assert data["matches"] == []
    assert "macro_type_specifier" in data["note"]
    assert await _found(desk, "printf($A);", "c") == [("./a.c", 1)]


# What the caller may see.


@pytest.fixture
def shared(desk: Desk) -> Desk:
    for path in ("src/a.ts", "lib/b.ts", "secret/c.ts", "lib/secret/d.ts"):
        desk.put(path, "first();\nwanted(`key`); wanted(2)\n")
    return desk


async def test_matches_outside_the_cage_tell_file_and_line_alone(shared):
    caged = shared.caged(("ro", "src"), ("deny", "secret"), ("deny", "lib/secret"), outside="mark")
    data = await caged.ok("search.ast", pattern="wanted($A)", lang="typescript", context=1)
    outside = [match for match in data["matches"] if match["file"] != "./src/a.ts"]
    assert outside == [{"file": "./lib/b.ts", "line": 2, "outside_cage": True}]
    assert [match.get("meta_variables") for match in data["matches"]][1:] == [{"A": "`key`"}, {"A": "2"}]
    named = await caged.ok("search.ast", pattern="wanted($A)", lang="typescript", paths=["lib/b.ts"])
    assert named["matches"] == outside


@pytest.mark.requirement("security.outside_cage")
async def test_a_cage_hides_what_is_outside_and_says_so_whether_there_is_any_or_not(shared):
    caged = shared.caged(("ro", "src"))
    data = await caged.ok("search.ast", pattern="wanted($A)", lang="typescript")
    assert {match["file"] for match in data["matches"]} == {"./src/a.ts"}
    none = await caged.ok("search.ast", pattern="nothing_like_it($A)", lang="typescript")
    for one in (data, none):
        assert one["note"].endswith("places outside your cage are not shown")


async def test_the_daemons_own_files_are_not_searched(desk):
    inside = desk.put("data/a.ts", "wanted(1)\n")
    desk.put("b.ts", "wanted(1)\n")
    files = ProjectFiles(reads=desk.reads, closed=(inside.parent,))
    processes = ChildProcesses()
    try:
        engine, sources = AstGrep(processes), SourceFiles(processes, rules_above)
        tool = ast_search.build(files, CallProcesses.uncaged(processes), engine, sources)
        result = await tool.run(tool.parameters(pattern="wanted($A)", lang="typescript"), desk.context)
    finally:
        await processes.aclose()
    assert [match.file for match in result.matches] == ["./b.ts"]


@pytest.mark.parametrize("path", ["../../etc", "/etc", "~", "a\0b"])
async def test_paths_outside_the_project_are_refused(desk, path):
    assert await desk.code("search.ast", pattern="$A", lang="c", paths=[path]) == "invalid_path"


async def test_links_out_of_the_project_are_not_followed(desk):
    (desk.base / "out.ts").write_text("wanted(1)\n")
    (desk.base / "outside").mkdir()
    (desk.base / "outside/a.ts").write_text("wanted(1)\n")
    (desk.root / "link.ts").symlink_to("../out.ts")
    (desk.root / "folder").symlink_to("../outside")
    assert await _found(desk, "wanted($A)") == []
    for path in ("link.ts", "folder"):
        assert await desk.code("search.ast", pattern="$A", lang="ts", paths=[path]) == "invalid_path"


async def test_a_file_that_changed_after_it_was_parsed_is_not_quoted(desk, tmp_path):
    """What ast-grep claims is compared with what the caller may read."""
    file = desk.put("a.ts", "wanted(1)\n")
    tell_tale = tmp_path / "told"
    tell_tale.write_text("wanted(1)\n")
    told = Found("a.ts", "wanted(1)", 0, 9, 1, 1, 1, 10, {}, {}, None, (0, 9))
    workspace = ProjectFiles(reads=desk.reads).workspace(desk.context)
    assert ast_matches.inside(workspace, "./a.ts", [told], 0)
    file.write_text("changed(1)\n")
    assert ast_matches.inside(workspace, "./a.ts", [told], 0) == []
    file.unlink()
    file.symlink_to(tell_tale)
    assert ast_matches.inside(workspace, "./a.ts", [told], 0) == []
