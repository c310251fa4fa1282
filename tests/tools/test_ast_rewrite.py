"""`edit.ast` on real files, with the real ast-grep."""

from __future__ import annotations

import asyncio
import os
import stat
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.processes.process import ChildProcesses
from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.listing import SourceFiles
from app.tools.edit import ast_rewrite, ast_survey
from app.tools.edit.ast_plan import choose, rewritten
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.file_locks import FileLocks
from app.tools.project_files.project_files import ProjectFiles
from app.workspace import new_file
from app.workspace.ignore_rules import rules_above
from tests.tools.conftest import Desk

LOG = {"console.log($MSG)": "logger.debug($MSG)"}


async def _apply(desk: Desk, rewrites: dict[str, str], **more):
    return await desk.ok("edit.ast", rewrites=rewrites, dry_run=False, **more)


def _leftovers(desk: Desk) -> list[Path]:
    return list(desk.root.rglob(".kaged-*"))


@pytest.mark.requirement("ast.preview")
async def test_a_dry_run_lists_the_changes_and_changes_nothing(desk):
    desk.put("src/main.ts", 'start();\n  console.log("server started");\n')
    desk.put("src/other.ts", "nothing();\n")
    before = desk.snapshot()
    data = await desk.ok("edit.ast", rewrites=LOG, lang="typescript", path="./src", glob="*.ts", dry_run=True)
    assert data == {
        "changes": [
            {
                "path": "./src/main.ts",
                "before": 'console.log("server started")',
                "after": 'logger.debug("server started")',
                "byte_start": 11,
                "byte_end": 40,
                "start_line": 2,
                "start_column": 3,
                "end_line": 2,
                "end_column": 32,
            }
        ],
        "file_changes": [{"path": "./src/main.ts", "count": 1}],
        "total_replacements": 1,
        "files_touched": 1,
        "files_searched": 2,
        "applied": False,
        "limit_reached": False,
    }
    assert await desk.ok("edit.ast", rewrites=LOG, path="src") == data  # a dry run is the default
    assert desk.snapshot() == before
    assert "file.edited" not in desk.ports.names()


@pytest.mark.requirement("ast.apply")
async def test_without_a_dry_run_the_files_are_written(desk):
    first, second = desk.put("a.ts", "console.log(1);\nconsole.log(2);\n"), desk.put("b.ts", "console.log(3)")
    data = await _apply(desk, LOG)
    assert (data["applied"], data["total_replacements"], data["files_touched"]) == (True, 3, 2)
    assert first.read_text() == "logger.debug(1);\nlogger.debug(2);\n"
    assert second.read_text() == "logger.debug(3)"
    edited = [data for event, data in desk.ports.events if event == "file.edited"]
    assert [(one["path"], one["replacements"], one["caller"]) for one in edited] == [
        ("./a.ts", 2, "primary"),
        ("./b.ts", 1, "primary"),
    ]
    await desk.ok("edit.text", path="a.ts", old_string="(1)", new_string="(9)")  # known by now
    again = await _apply(desk, LOG)
    assert (again["applied"], again["changes"]) == (False, [])


@pytest.mark.requirement("ast.paths")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"path": "src/a.ts"}, {"src/a.ts"}),
        ({"path": "./src"}, {"src/a.ts", "src/deep/b.ts", "src/c.test.ts"}),
        ({"path": "src", "glob": "*.test.ts"}, {"src/c.test.ts"}),
        ({"glob": "!src/**"}, {"d.ts"}),
        ({}, {"src/a.ts", "src/deep/b.ts", "src/c.test.ts", "d.ts"}),
    ],
)
async def test_a_file_means_that_file_and_a_folder_all_below(desk, where, expected):
    paths = {"src/a.ts", "src/deep/b.ts", "src/c.test.ts", "d.ts", "ignored/e.ts"}
    for path in paths:
        desk.put(path, "console.log(1)\n")
    desk.put(".gitignore", "ignored\n")
    await _apply(desk, LOG, **where)
    assert {path for path in paths if "logger" in (desk.root / path).read_text()} == expected


@pytest.mark.requirement("ast.language")
async def test_the_language_is_inferred_when_all_files_share_one(desk):
    desk.put("a.ts", "console.log(1)\n")
    desk.put("README.txt", "console.log(1)\n")
    assert (await _apply(desk, LOG))["total_replacements"] == 1


@pytest.mark.requirement("ast.language")
async def test_files_of_several_languages_need_the_language_to_be_named(desk):
    desk.put("a.ts", "console.log(1)\n")
    script = desk.put("b.js", "console.log(1)\n")
    envelope = await desk.call("edit.ast", rewrites=LOG, dry_run=False)
    assert envelope.code == "invalid_params"
    assert envelope.detail["languages"] == {"javascript": 1, "typescript": 1}
    assert "set lang" in envelope.error_text
    data = await _apply(desk, LOG, lang="ts")
    assert data["file_changes"] == [{"path": "./a.ts", "count": 1}]
    assert script.read_text() == "console.log(1)\n"


@pytest.mark.requirement("ast.language")
async def test_a_file_of_no_known_language_needs_one_to_be_named(desk):
    file = desk.put("script", "console.log(1)\n")
    assert await desk.code("edit.ast", rewrites=LOG, path="script") == "invalid_params"
    await _apply(desk, LOG, path="script", lang="js")
    assert file.read_text() == "logger.debug(1)\n"


@pytest.mark.requirement("ast.max_replacements")
async def test_replacements_are_capped(desk):
    file = desk.put("a.ts", "console.log(1);\nconsole.log(2);\nconsole.log(3);\n")
    data = await _apply(desk, LOG, max_replacements=1)
    assert (data["total_replacements"], data["limit_reached"]) == (1, True)
    assert file.read_text() == "logger.debug(1);\nconsole.log(2);\nconsole.log(3);\n"
    assert (await _apply(desk, LOG, max_replacements="2"))["limit_reached"] is False


@pytest.mark.requirement("ast.max_files")
async def test_changed_files_are_capped(desk):
    first, second = desk.put("a.ts", "console.log(1)\n"), desk.put("b.ts", "console.log(1)\n")
    data = await _apply(desk, LOG, max_files=1)
    assert (data["files_touched"], data["limit_reached"]) == (1, True)
    assert (first.read_text(), second.read_text()) == ("logger.debug(1)\n", "console.log(1)\n")
    assert (await _apply(desk, LOG, max_files=1))["limit_reached"] is False


@pytest.mark.requirement("ast.traversal")
@pytest.mark.parametrize("path", ["../../etc", "/etc", "src/../../etc/passwd", "~", "link", "link/a.c"])
@pytest.mark.parametrize("dry_run", [True, False])
async def test_paths_outside_the_project_are_invalid_parameters(desk, path, dry_run):
    (desk.base / "outside").mkdir()
    (desk.base / "outside/a.c").write_text("f(1);\n")
    (desk.root / "link").symlink_to("../outside")
    before = desk.snapshot()
    for one in (desk, desk.caged(("rw", "."))):
        envelope = await one.call(
            "edit.ast", rewrites={"f($A);": "g($A);"}, lang="c", path=path, dry_run=dry_run
        )
        assert envelope.code == "invalid_params", envelope.error_text
        assert envelope.detail["fields"].keys() == {"path"}
        assert envelope.detail["rpc_code"] == -32602
    assert desk.snapshot() == before


@pytest.mark.requirement("ast.parse_errors")
async def test_files_that_do_not_parse_are_named_and_the_others_changed(desk):
    good, bad = desk.put("good.ts", "console.log(1)\n"), desk.put("bad.ts", "console.log(1)\nfunction {{{\n")
    desk.put("worse.ts", "let x = ;\n")
    data = await _apply(desk, LOG)
    assert [(one["path"], one["line"]) for one in data["parse_errors"]] == [
        ("./bad.ts", 2),
        ("./worse.ts", 1),
    ]
    assert (good.read_text(), bad.read_text()) == ("logger.debug(1)\n", "console.log(1)\nfunction {{{\n")
    assert await desk.code("edit.ast", rewrites=LOG, path="bad.ts") == "parse_error"


@pytest.mark.requirement("ast.parse_errors")
async def test_in_a_large_folder_only_files_that_may_match_are_parsed(desk, monkeypatch):
    monkeypatch.setattr(ast_survey, "PARSE_ALL_UP_TO", 3)
    for name, content in {"a": "console.log(1)", "b": "let x = ;", "c": "f()"}.items():
        desk.put(f"{name}.ts", content)
    desk.put("d.ts", "console.log(1); let x = ;")
    data = await _apply(desk, LOG)
    assert data["files_searched"] == 4
    assert [one["path"] for one in data["parse_errors"]] == ["./d.ts"]
    assert (desk.root / "a.ts").read_text() == "logger.debug(1)"


@pytest.mark.requirement("ast.invalid")
async def test_one_invalid_pattern_among_several_changes_nothing(desk):
    file = desk.put("a.ts", "console.log(1)\n")
    rewrites = {**LOG, "foo(": "bar("}
    assert await desk.code("edit.ast", rewrites=rewrites, dry_run=False) == "invalid_pattern"
    assert file.read_text() == "console.log(1)\n"


# What replacements are made of.


@pytest.mark.parametrize(
    ("content", "rewrites", "expected"),
    [
        ("f(1, 2, 3)", {"f($A, $$$REST)": "g([$$$REST], $A)"}, "g([2, 3], 1)"),
        ("f(1); x", {"f($A);": ""}, " x"),
        ("f(1)", {"f($A)": "-$A"}, "-1"),
        ("f(1)", {"f($A)": "$A + $A + $lower + `$`"}, "1 + 1 + $lower + `$`"),
        ("a(1); b(2)", {"a($X)": "b($X)", "b($X)": "a($X)"}, "b(1); a(2)"),
        ("f(1)", {"f($A)": "first($A)", "f(1)": "second()"}, "first(1)"),
        ("if (x) {\n    f({\n        a: 1,\n    })\n}", {"f($A)": "g(\n    $A,\n)"}, None),
    ],
)
async def test_replacements_hold_what_was_captured(desk, content, rewrites, expected):
    file = desk.put("a.ts", content)
    await _apply(desk, rewrites)
    if expected is None:
        expected = "if (x) {\n    g(\n        {\n            a: 1,\n        },\n    )\n}"
    assert file.read_text() == expected


@pytest.mark.parametrize("template", ["g($B)", "g($$$A)", "g($_)", "$$$"])
async def test_a_replacement_cannot_use_what_is_not_captured(desk, template):
    file = desk.put("a.ts", "f(1)\n")
    envelope = await desk.call("edit.ast", rewrites={"f($A)": template}, dry_run=False)
    if template == "$$$":
        assert file.read_text() in {"$$$\n", "f(1)\n"}
    else:
        assert envelope.code == "invalid_params"
        assert "captures $A" in envelope.error_text
        assert file.read_text() == "f(1)\n"


@pytest.mark.parametrize(
    ("encoding", "newline"), [("utf-8-sig", "\n"), ("utf-16", "\r\n"), ("latin-1", "\r\n"), ("utf-8", "\r\n")]
)
async def test_encoding_mark_line_ends_and_mode_are_kept(desk, encoding, newline):
    text = "// Größe\nwait(é);\nconsole.log('ä', 1);\n".replace("\n", newline)
    file = desk.put("a.ts", text.encode(encoding))
    file.chmod(0o750)
    rewrites = {"console.log($A, $B)": "log(\n  $B,\n  $A)"}
    preview = await desk.ok("edit.ast", rewrites=rewrites)
    change = preview["changes"][0]
    assert (change["start_line"], change["start_column"], change["end_column"]) == (3, 1, 20)
    await _apply(desk, rewrites)
    expected = text.replace("console.log('ä', 1)", f"log({newline}  1,{newline}  'ä')")
    assert file.read_bytes() == expected.encode(encoding)
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


async def test_positions_in_a_marked_file_do_not_count_the_mark_as_a_column(desk):
    desk.put("a.ts", "\ufeffconsole.log(1)\n".encode())
    change = (await desk.ok("edit.ast", rewrites=LOG))["changes"][0]
    assert (change["start_column"], change["end_column"], change["byte_start"]) == (1, 15, 3)


async def test_a_character_that_the_encoding_lacks_changes_no_file(desk):
    desk.put("a.ts", "console.log(1)\n")
    desk.put("b.ts", "// Größe ist nicht klein\nconsole.log('é')\n".encode("latin-1"))
    before = desk.snapshot()
    envelope = await desk.call("edit.ast", rewrites={"console.log($A)": "log('→', $A)"}, dry_run=False)
    assert envelope.code == "encoding_mismatch"
    assert envelope.error_text.startswith("./b.ts: ")
    assert desk.snapshot() == before


# Overlaps.


@pytest.mark.requirement("ast.overlap")
async def test_a_match_inside_another_is_left_for_the_next_call(desk):
    file = desk.put("a.ts", "console.log(console.log(console.log(1)));\n")
    data = await _apply(desk, LOG)
    assert (data["total_replacements"], data["skipped_overlaps"]) == (1, 2)
    assert file.read_text() == "logger.debug(console.log(console.log(1)));\n"
    await _apply(desk, LOG)
    await _apply(desk, LOG)
    assert file.read_text() == "logger.debug(logger.debug(logger.debug(1)));\n"


@pytest.mark.requirement("ast.overlap")
async def test_overlapping_rewrites_never_replace_code_twice(desk):
    file = desk.put("a.py", "a + b + c\nf(g(1), g(2))\n")
    rewrites = {"$X + $Y": "add($X, $Y)", "g($A)": "h($A)", "f($$$A)": "k($$$A)", "b": "B"}
    data = await _apply(desk, rewrites)
    assert file.read_text() == "add(a + b, c)\nk(g(1), g(2))\n"
    assert data["skipped_overlaps"] == 4
    file.write_text("x.y.z\n")
    await _apply(desk.as_agent("primary.other"), {"x.y": "inner", "x.y.z": "outer"})
    assert file.read_text() == "outer\n"


spans = st.tuples(st.integers(0, 30), st.integers(0, 8), st.text("xy", max_size=3), st.integers(0, 2))


@pytest.mark.requirement("ast.overlap")
@given(st.lists(spans, max_size=20))
def test_whatever_overlaps_the_result_is_the_text_with_separate_pieces_replaced(wanted):
    text = bytes(range(97, 123)) + bytes(range(65, 79))
    found = []
    for start, length, new, number in wanted:
        end = min(start + length, len(text))
        found.append(
            (number, Found("f", text[start:end].decode(), start, end, 1, 1, 1, 1, {}, {}, new, (start, end)))
        )
    edits, skipped = choose(found, text)
    assert all(first.end <= second.start for first, second in pairwise(edits))
    places = [(edit.start, edit.end) for edit in edits]
    assert len(set(places)) == len(places)
    remaining = text
    for edit in reversed(edits):
        assert remaining[edit.start : edit.end].decode() == edit.before
        remaining = remaining[: edit.start] + edit.after.encode() + remaining[edit.end :]
    assert rewritten(text, edits) == remaining
    assert len(edits) + skipped <= len(found)


# All files, or none.


@pytest.mark.requirement("ast.atomic")
async def test_a_file_that_cannot_be_staged_keeps_all_others_as_they_are(desk, monkeypatch):
    for name in "abcd":
        desk.put(f"{name}/x.ts", "console.log(1)\n")
    before = desk.snapshot()
    written = 0
    write = new_file.NewFile.write

    def full(self, content: bytes) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")
        write(self, content)

    monkeypatch.setattr(new_file.NewFile, "write", full)
    assert await desk.code("edit.ast", rewrites=LOG, dry_run=False) == "no_space"
    assert written == 3
    assert desk.snapshot() == before


@pytest.mark.requirement("ast.atomic")
@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("fails_at", [0, 2, 3])
async def test_a_file_that_changes_at_the_last_moment_undoes_the_whole_call(
    desk, monkeypatch, fails_at, exchange
):
    """Somebody saves one of the files when those before it have been put in place."""
    files = [desk.put(f"{name}.ts", f"console.log('{name}')\n") for name in "abcd"]
    files[0].chmod(0o640)
    inodes = {file: file.stat().st_ino for file in files}
    puts: list[int] = []
    put = new_file.change_places

    def interfered(directory: int, temporary: str, name: str, unchanged) -> bool:
        if len(puts) == fails_at:
            (desk.root / name).write_text("theirs();\n")
            puts.append(-1)
        elif -1 not in puts:
            puts.append(0)
        if exchange:
            return put(directory, temporary, name, unchanged)
        if not unchanged(os.stat(name, dir_fd=directory)):
            raise new_file.ChangedMeanwhile
        return False

    monkeypatch.setattr("app.workspace.target.change_places", interfered)
    assert await desk.code("edit.ast", rewrites=LOG, dry_run=False) == "file_changed_since_read"
    contents = sorted(file.read_text() for file in files)
    assert contents.count("theirs();\n") == 1
    assert sum("console.log" in content for content in contents) == 3
    assert files[0].stat().st_mode & 0o777 == 0o640
    if exchange:
        assert {file: file.stat().st_ino for file in files} == inodes
    assert _leftovers(desk) == []
    assert "file.edited" not in desk.ports.names()


@pytest.mark.requirement("ast.atomic")
async def test_taking_back_leaves_what_others_have_written_since(desk, monkeypatch):
    for name in "abc":
        desk.put(f"{name}.ts", f"console.log('{name}')\n")
    put, names = new_file.change_places, []

    def interfered(directory: int, temporary: str, name: str, unchanged) -> bool:
        names.append(name)
        if len(names) == 3:
            (desk.root / names[0]).write_text("newer();\n")
            (desk.root / name).write_text("theirs();\n")
        return put(directory, temporary, name, unchanged)

    monkeypatch.setattr("app.workspace.target.change_places", interfered)
    assert await desk.code("edit.ast", rewrites=LOG, dry_run=False) == "file_changed_since_read"
    first, second, third = names[:3]
    assert (desk.root / first).read_text() == "newer();\n"
    assert (desk.root / second).read_text() == f"console.log('{second[0]}')\n"
    assert (desk.root / third).read_text() == "theirs();\n"
    assert _leftovers(desk) == []


@pytest.mark.requirement("ast.atomic")
async def test_a_file_that_the_caller_may_not_write_refuses_the_whole_call(desk):
    desk.put("src/a.ts", "console.log(1)\n")
    desk.put("src/fixed/b.ts", "console.log(1)\n")
    desk.put("src/hidden/c.ts", "console.log(1)\n")
    caged = desk.caged(("rw", "src"), ("ro", "src/fixed"), ("deny", "src/hidden"))
    before = desk.snapshot()
    preview = await caged.ok("edit.ast", rewrites=LOG, path="src")
    assert [one["path"] for one in preview["file_changes"]] == ["./src/a.ts", "./src/fixed/b.ts"]
    assert preview["files_searched"] == 2
    assert await caged.code("edit.ast", rewrites=LOG, path="src", dry_run=False) == "capability_denied"
    assert desk.snapshot() == before
    await _apply(caged, LOG, path="src", glob="!fixed/")
    assert (desk.root / "src/a.ts").read_text() == "logger.debug(1)\n"


@pytest.mark.parametrize(
    ("fs", "path", "dry_run", "code"),
    [
        ([("ro", "src")], "src", True, None),
        ([("ro", "src")], "src", False, "capability_denied"),
        ([("rw", "src")], ".", True, "capability_denied"),
        ([("rw", ".")], ".vscode", False, "capability_denied"),
        ([("rw", ".")], ".vscode", True, None),
    ],
)
async def test_previews_need_reading_and_applications_writing(desk, fs, path, dry_run, code):
    desk.put("src/a.ts", "console.log(1)\n")
    desk.put(".vscode/a.ts", "console.log(1)\n")
    envelope = await desk.caged(*fs).call("edit.ast", rewrites=LOG, path=path, dry_run=dry_run)
    assert envelope.code == code


async def test_an_application_runs_alone_and_a_preview_reads(desk):
    definition = desk.service.registry.get("edit.ast")
    preview = definition.effects(definition.parameters(rewrites=LOG, path="src"))
    assert (preview.reads, preview.writes, preview.exclusive) == (("src",), (), False)
    applied = definition.effects(definition.parameters(rewrites=LOG, path="src", dry_run=False))
    assert (applied.writes, applied.exclusive) == (("src",), True)


# Others who write.


async def test_a_file_that_changed_after_the_preview_is_not_overwritten(desk):
    file = desk.put("a.ts", "console.log(1)\n")
    desk.put("b.ts", "console.log(1)\n")
    await desk.ok("edit.ast", rewrites=LOG)
    file.write_text("console.log(1)\ntheirs()\n")
    before = desk.snapshot()
    assert await desk.code("edit.ast", rewrites=LOG, dry_run=False) == "file_changed_since_read"
    assert desk.snapshot() == before
    await desk.ok("edit.ast", rewrites=LOG)
    await _apply(desk, LOG)
    assert file.read_text() == "logger.debug(1)\ntheirs()\n"


async def test_a_preview_counts_as_reading_the_files_that_it_lists(desk):
    desk.put("a.ts", "console.log(1)\n")
    desk.put("b.ts", "other()\n")
    await desk.ok("edit.ast", rewrites=LOG)
    assert await desk.code("edit.text", path="b.ts", old_string="o", new_string="0") == "file_not_read"
    await desk.ok("edit.text", path="a.ts", old_string="log(1)", new_string="log(2)")


async def test_rewrites_of_many_files_at_once_lose_nothing(desk):
    """Twenty agents rewrite the same files at the same time, and single edits go on beside them."""
    files = [desk.put(f"{number}.py", "start()\nold_0(1)\nx = 0\n") for number in range(12)]

    async def rewrite(number: int) -> str | None:
        agent = desk.as_agent(f"primary.a{number}")
        rewrites = {f"old_{number % 4}($A)": f"old_{number % 4 + 1}($A)"}
        return (await agent.call("edit.ast", rewrites=rewrites, dry_run=False)).code

    async def edit(number: int) -> str | None:
        agent = desk.as_agent(f"primary.b{number}")
        await agent.ok("file.read", path=f"{number}.py")
        return (
            await agent.call("edit.text", path=f"{number}.py", old_string="x = 0", new_string="x = 1")
        ).code

    async with asyncio.timeout(100):
        codes = await asyncio.gather(*map(rewrite, range(20)), *map(edit, range(12)))
    assert set(codes) <= {None, "file_changed_since_read", "file_busy"}
    contents = [file.read_text().splitlines() for file in files]
    assert {content[0] for content in contents} == {"start()"}
    assert len({content[1] for content in contents}) == 1  # all files of a call, or none
    for number, code in enumerate(codes[20:]):
        assert contents[number][2] == ("x = 1" if code is None else "x = 0")
    assert _leftovers(desk) == []


async def test_two_calls_that_take_the_same_files_in_other_orders_do_not_wait_for_each_other(desk):
    files = ProjectFiles(reads=desk.reads, locks=FileLocks(wait_seconds=60))  # their turns come, but late
    for name in "abcdef":
        desk.put(name, "0")

    def increased(target) -> bytes:
        return str(int(target.read()) + 1).encode()

    async def call(names: str) -> None:
        await files.change_together(list(names), desk.context, increased, lambda: None)

    async with asyncio.timeout(60):
        await asyncio.gather(*(call(names) for names in ["abcdef", "fedcba", "cfa", "bde"] * 5))
    assert [(desk.root / name).read_text() for name in "abcdef"] == ["15"] * 6


async def test_a_cancelled_application_is_whole_or_not_at_all(desk, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    files = [desk.put(f"{number}.ts", "console.log(1)\n") for number in range(30)]
    for delay in range(0, 60, 6):
        for file in files:
            file.write_text("console.log(1)\n")
        task = asyncio.create_task(
            desk.as_agent(f"primary.{delay}").call("edit.ast", rewrites=LOG, dry_run=False)
        )
        await asyncio.wait({task}, timeout=delay / 1000)
        task.cancel()
        await asyncio.wait({task})
        assert len({file.read_text() for file in files}) == 1
        assert list(place.iterdir()) == []
    assert _leftovers(desk) == []


# Bounds.


async def test_very_many_changed_files_are_named_in_part_and_in_a_file(desk, monkeypatch):
    monkeypatch.setattr(ast_rewrite, "MAX_SHOWN_FILES", 3)
    for number in range(5):
        desk.put(f"{number}.ts", "console.log(1)\n")
    envelope = await desk.call("edit.ast", rewrites=LOG)
    data = envelope.data
    assert (data["files_touched"], len(data["file_changes"]), data["truncated"]) == (5, 3, True)
    assert len(Path(envelope.metadata.output_path).read_bytes().splitlines()) == 5


async def test_a_long_list_of_changes_is_kept_whole_in_a_file(desk):
    file = desk.put("a.ts", "".join(f"console.log({number});\n" for number in range(2_000)))
    envelope = await desk.call("edit.ast", rewrites=LOG, dry_run=False)
    data = envelope.data
    assert (data["total_replacements"], data["truncated"], data["applied"]) == (2_000, True, True)
    assert len(data["changes"]) < 2_000
    whole = Path(envelope.metadata.output_path).read_bytes().splitlines()
    assert [orjson.loads(line)["start_line"] for line in whole] == list(range(1, 2_001))
    assert file.read_text().count("logger.debug(") == 2_000


async def test_when_time_runs_out_nothing_is_changed(desk, children: ChildProcesses):
    for number in range(30):
        desk.put(f"{number}.ts", "console.log(1);\n" * 3_000)
    before = desk.snapshot()
    files = ProjectFiles(reads=desk.reads)
    sources = SourceFiles(children, rules_above)
    processes = CallProcesses.uncaged(children)
    tool = ast_rewrite.build(files, processes, AstGrep(children), sources, seconds=0.05)
    params = tool.parameters(rewrites=LOG, dry_run=False)
    with pytest.raises(ToolError, match="nothing was changed") as refused:
        await tool.run(params, desk.context)
    assert refused.value.code == "timeout"
    assert desk.snapshot() == before


async def test_files_come_in_batches(desk, monkeypatch):
    monkeypatch.setattr("app.tools.edit.ast_files.BATCH_FILES", 4)
    for number in range(10):
        desk.put(f"{number}.ts", "console.log(1)\n")
    data = await _apply(desk, LOG, max_files=9)
    assert (data["files_touched"], data["limit_reached"], data["files_searched"]) == (9, True, 10)


async def test_no_copy_of_a_projects_code_stays_behind(desk, tmp_path, monkeypatch):
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    desk.put("a.ts", "console.log(1)\n")
    await desk.ok("edit.ast", rewrites=LOG)
    assert await desk.code("edit.ast", rewrites={"foo(": ""}, lang="ts") == "invalid_pattern"
    await desk.ok("search.ast", pattern="console.log($A)", lang="ts", paths=["a.ts"])
    assert list(place.iterdir()) == []
