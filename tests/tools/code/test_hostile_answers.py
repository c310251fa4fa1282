"""What a server may answer that no honest one would: nothing of it breaks a call or leaves the project."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.lsp.manager import Declarations, Declared, ServerLimits
from app.bridges.sandbox.tier import Tier
from app.tools.code import call
from tests.driver.caging import FULL
from tests.tools.code.conftest import code_desk, of_agent
from tests.tools.code.scripted_server import ALL

TEXT = "alpha beta\nbeta alpha\n"
WRONG = "\x00\x1b[31mred\u202e\u200b\ud800"


@pytest.fixture(scope="module", autouse=True)
def patient_calls() -> None:
    """Here the times of a call are those that it has."""


@asynccontextmanager
async def scripted(
    base: Path,
    answers: dict[str, Any] | None = None,
    *,
    tier: Tier | None = None,
    limits: ServerLimits | None = None,
    **script: Any,
):
    """Open a desk where a server with this script is for `.scr` files; with `tier` it runs in a cage."""
    folder = base / "server"  # a cage shows it whole
    folder.mkdir()
    file = folder / "script.json"
    file.write_text(json.dumps({"answers": answers or {}, **script}))
    program = shutil.copy(Path(__file__).with_name("scripted_server.py"), folder)
    command = (sys.executable, str(program), str(file))
    declared = Declared(language="scripted", command=command, extensions=(".scr",))
    limits = replace(limits or ServerLimits(), back_off=(0.01, 0.01))
    declarations = Declarations(project=(declared,))
    async with code_desk(base, limits=limits, declarations=declarations, tier=tier) as desk:
        desk.put_all({"a.scr": TEXT, "b.scr": TEXT, "src/c.scr": TEXT})
        yield desk


def span(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def edit(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    return {"range": span(line, start, end), "newText": text}


def edits(path: str, *made: dict[str, Any], version: Any = None) -> dict[str, Any]:
    return {"textDocument": {"uri": "{root}/" + path, "version": version}, "edits": list(made)}


HOVER = {"path": "a.scr", "line": 1, "character": 0}
RENAME = {**HOVER, "new_name": "gamma"}
ODD = [None, 7, "x", [], {}, [None, 3, "x", [], {}], {"range": 1}, {"uri": 5}, [{"uri": "x", "range": {}}]]
ODD += [{"uri": "{root}/a.scr", "range": {"start": {"line": -1, "character": True}}}]
ODD += [[{"targetUri": "{root}/a.scr", "targetRange": {"start": {"line": 10**12, "character": 1}}}]]
ODD += [{"uri": "{root}/a.scr\u0000", "range": span(0, 0, 1)}, {"contents": [[[]]], "range": 3}]
ODD += [{"changes": 5}, {"documentChanges": [{}]}, {"kind": "full", "items": 5}, [{"name": 5, "kind": "x"}]]
ODD += [[{"title": 7}, {"title": "x", "edit": 4, "command": 3, "disabled": 1}]]


@pytest.mark.requirement("language_servers.tool.untrusted")
async def test_answers_of_any_shape_are_answers_or_errors(tmp_path):
    methods = (
        "definition",
        "references",
        "hover",
        "documentSymbol",
        "rename",
        "codeAction",
        "typeDefinition",
    )
    answers: dict[str, Any] = {f"textDocument/{method}": {"$each": ODD} for method in methods}
    answers["workspace/symbol"] = answers["codeAction/resolve"] = {"$each": ODD}
    async with scripted(tmp_path, answers, publish={"items": ODD}) as desk:
        before = desk.snapshot()
        for _ in ODD:
            for action in ("definition", "references", "hover", "type_definition", "code_actions"):
                envelope = await desk.call("code.lsp", {"action": action, **HOVER})
                assert envelope.type == "output", (action, envelope.error_text)
            assert (await desk.lsp("symbols", path="a.scr"))["count"] == 0
            await desk.lsp("symbols", path="a.scr", scope="workspace", query="x")
            refused = await desk.refused("rename", **RENAME)
            assert refused.code in {"rename_not_possible", "lsp_request_failed"}
        data = await desk.lsp("diagnostics", path="a.scr")
        assert (data["count"], data["fresh"]) == (0, True)
        assert desk.snapshot() == before


@pytest.mark.requirement("language_servers.tool.untrusted")
async def test_texts_are_cleaned_and_bounded(tmp_path):
    found = {"range": span(0, 0, 5), "message": WRONG + "m" * 100_000, "source": WRONG, "code": WRONG}
    answers = {
        "textDocument/hover": {"contents": {"kind": "markdown", "value": WRONG + "h" * 1_000_000}},
        "textDocument/documentSymbol": [
            {
                "name": WRONG + "n" * 10_000,
                "kind": 99,
                "range": span(0, 0, 5),
                "selectionRange": span(0, 0, 5),
            }
        ],
        "textDocument/codeAction": [{"title": WRONG + "t" * 10_000, "command": {"command": WRONG}}],
        "textDocument/definition": [{"uri": "file:///lib/\u202ex\x1b.scr", "range": span(0, 0, 1)}],
    }
    async with scripted(tmp_path, answers, publish={"items": [found]}) as desk:
        shown = [
            await desk.lsp("hover", **HOVER),
            await desk.lsp("symbols", path="a.scr"),
            await desk.lsp("code_actions", **HOVER),
            await desk.lsp("definition", **HOVER),
            await desk.lsp("diagnostics", path="a.scr"),
        ]
        for data in shown:
            text = orjson.dumps(data).decode()
            assert len(text) < 40_000
            assert not any(one in text for one in ("\\u0000", "\\u001b", "\u202e", "\u200b"))
        assert shown[4]["diagnostics"][0]["message"].startswith("[31mred")
        assert shown[4]["diagnostics"][0]["severity"] == "error"  # it named none


@pytest.mark.requirement("language_servers.tool.fresh")
async def test_an_answer_that_is_not_for_the_present_content_never_looks_clean(tmp_path, monkeypatch):
    """The server publishes nothing: what it thinks is not known."""
    assert call.SECONDS == 30
    monkeypatch.setattr(call, "SECONDS", 1.0)
    async with scripted(tmp_path) as desk:
        data = await desk.call("code.lsp", action="diagnostics", path="src")
        assert data.data["fresh"] is False and "nothing listed does not mean" in data.data["note"]
        assert data.data["not_fresh"][0]["path"] == "./src/c.scr" and data.data["count"] == 0


@pytest.mark.requirement("language_servers.tool.rename")
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"documentChanges": [edits("a.scr", edit(0, 0, 5, "x"), edit(0, 3, 7, "y"))]}, "lsp_request_failed"),
        ({"documentChanges": [edits("a.scr", edit(0, 0, 5, "x"), version=99)]}, "lsp_request_failed"),
        ({"documentChanges": [edits("../out.scr", edit(0, 0, 5, "x"))]}, "rename_scope_exceeds_cage"),
        ({"documentChanges": [edits(".git/config", edit(0, 0, 5, "x"))]}, "rename_scope_exceeds_cage"),
        ({"changes": {"file:///etc/hosts": [edit(0, 0, 5, "x")]}}, "rename_scope_exceeds_cage"),
        ({"changes": {"untitled:x": [edit(0, 0, 5, "x")]}}, "lsp_request_failed"),
        ({"changes": {"{root}/none.scr": [edit(0, 0, 5, "x")]}}, "file_not_found"),
        ({"$error": {"code": -32803, "message": "no such name"}}, "rename_not_possible"),
        (
            {
                "documentChanges": [
                    edits("a.scr", edit(0, 0, 5, "x")),
                    {"kind": "delete", "uri": "{root}/no.scr"},
                ]
            },
            "file_not_found",
        ),
        (
            {
                "documentChanges": [
                    edits("a.scr", edit(0, 0, 5, "x")),
                    {"kind": "rename", "oldUri": "{root}/a.scr", "newUri": "{root}/b.scr"},
                ]
            },
            "file_exists",
        ),
    ],
    ids=["overlap", "version", "outside", "git", "system", "scheme", "missing", "refused", "delete", "onto"],
)
async def test_a_rename_that_cannot_be_made_whole_changes_nothing(tmp_path, answer, code):
    async with scripted(tmp_path, {"textDocument/rename": answer}) as desk:
        outside = desk.base / "out.scr"
        outside.write_text(TEXT)
        refused = await desk.refused("rename", **RENAME)
        assert refused.code == code, refused.error_text
        assert all(desk.text(path) == TEXT for path in ("a.scr", "b.scr", "src/c.scr"))
        assert outside.read_text() == TEXT


@pytest.mark.requirement("language_servers.tool.rename")
async def test_operations_of_all_kinds_are_made_in_their_order(tmp_path):
    answer = {
        "documentChanges": [
            edits("a.scr", edit(0, 0, 5, "gamma"), edit(1, 5, 10, "gamma")),
            {"kind": "create", "uri": "{root}/new/d.scr"},
            edits("new/d.scr", edit(0, 0, 0, "made\n")),
            {"kind": "rename", "oldUri": "{root}/a.scr", "newUri": "{root}/moved/a.scr"},
            {"kind": "delete", "uri": "{root}/b.scr"},
        ]
    }
    async with scripted(tmp_path, {"textDocument/rename": answer}) as desk:
        data = await desk.lsp("rename", **RENAME)
        assert data["changes"] == [
            {"path": "./a.scr", "edits": 2},
            {"path": "./a.scr", "operation": "rename", "new_path": "./moved/a.scr"},
            {"path": "./b.scr", "operation": "delete"},
            {"path": "./new/d.scr", "edits": 1},
            {"path": "./new/d.scr", "operation": "create"},
        ]
        assert desk.text("moved/a.scr") == "gamma beta\nbeta gamma\n"
        assert desk.text("new/d.scr") == "made\n"
        assert not (desk.root / "a.scr").exists() and not (desk.root / "b.scr").exists()


@pytest.mark.requirement("language_servers.tool.rename")
async def test_an_edit_may_name_a_file_by_its_new_name(tmp_path):
    """As servers do that keep a class in a file of its name."""
    answer = {
        "documentChanges": [
            edits("a.scr", edit(0, 0, 5, "gamma")),
            {"kind": "rename", "oldUri": "{root}/a.scr", "newUri": "{root}/gamma.scr"},
            edits("gamma.scr", edit(1, 5, 10, "gamma")),
            {"kind": "rename", "oldUri": "{root}/src", "newUri": "{root}/source"},
            edits("source/c.scr", edit(0, 0, 5, "gamma")),
        ]
    }
    async with scripted(tmp_path, {"textDocument/rename": answer}) as desk:
        await desk.lsp("rename", **RENAME)
        assert desk.text("gamma.scr") == "gamma beta\nbeta gamma\n"
        assert desk.text("source/c.scr").startswith("gamma beta\n")
        assert not (desk.root / "a.scr").exists() and not (desk.root / "src").exists()


@pytest.mark.requirement("language_servers.tool.confirm")
async def test_what_wants_to_be_confirmed_is_not_done_unasked(tmp_path):
    risky = {"label": "Rename in comments", "description": "by text only", "needsConfirmation": True}
    answer = {
        "documentChanges": [edits("a.scr", {**edit(0, 0, 5, "gamma"), "annotationId": "risky"})],
        "changeAnnotations": {"risky": risky},
    }
    async with scripted(tmp_path, {"textDocument/rename": answer}) as desk:
        refused = await desk.refused("rename", **RENAME)
        assert refused.code == "confirmation_needed"
        assert "Rename in comments: by text only" in refused.error_text and desk.text("a.scr") == TEXT
        assert (await desk.lsp("rename", **RENAME, confirm=True))["total_edits"] == 1
        assert desk.text("a.scr").startswith("gamma")


@pytest.mark.requirement("language_servers.tool.rename")
async def test_a_rename_is_made_only_when_the_server_says_the_same_twice(tmp_path):
    """A server that is still loading names some of the files first."""
    part = {"documentChanges": [edits("a.scr", edit(0, 0, 5, "gamma"))]}
    whole = {
        "documentChanges": [edits("a.scr", edit(0, 0, 5, "gamma")), edits("b.scr", edit(0, 0, 5, "gamma"))]
    }
    async with scripted(tmp_path, {"textDocument/rename": {"$each": [part, whole]}}) as desk:
        assert (await desk.lsp("rename", **RENAME))["files_changed"] == 2


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.tool.cage")
async def test_related_places_outside_the_cage_lose_their_message(tmp_path):
    related = [
        {"location": {"uri": "{root}/a.scr", "range": span(1, 0, 4)}, "message": "secret"},
        {"location": {"uri": "{root}/src/c.scr", "range": span(1, 0, 4)}, "message": "seen"},
    ]
    item = {"range": span(0, 0, 5), "message": "clash", "severity": 2, "relatedInformation": related}
    async with scripted(tmp_path, publish={"items": [item]}, tier=FULL) as desk:
        worker = of_agent(desk, ("ro", "src"), outside="mark")
        data = await worker.lsp("diagnostics", path="src/c.scr")
        assert data["diagnostics"][0]["related"] == [
            {"path": "./a.scr", "line": 2, "outside_cage": True},
            {"path": "./src/c.scr", "line": 2, "message": "seen"},
        ]


@pytest.mark.needs("cages")
@pytest.mark.requirement("language_servers.tool.cage", "language_servers.tool.code_actions")
async def test_edits_outside_the_cage_are_named_and_not_shown(tmp_path):
    action = {
        "title": "Fix all",
        "edit": {
            "documentChanges": [edits("a.scr", edit(0, 0, 5, "new")), edits("src/c.scr", edit(0, 0, 5, "y"))]
        },
    }
    answers = {"textDocument/codeAction": [action]}
    async with scripted(tmp_path, answers, publish={"items": []}, tier=FULL) as desk:
        worker = of_agent(desk, ("ro", "src"), outside="mark")
        data = await worker.lsp("code_actions", path="src/c.scr", line=1)
        outside, inside = data["actions"][0]["edits"]
        assert outside == {"path": "./a.scr", "line": 1, "outside_cage": True}
        assert (inside["old"], inside["new"]) == ("alpha", "y")


@pytest.mark.requirement("language_servers.tool.errors")
async def test_a_server_that_hangs_or_ends_is_reported(tmp_path):
    answers = {
        "textDocument/hover": {"$never": True},
        "textDocument/definition": {"$exit": True},
        "textDocument/references": {"$error": {"code": -32000, "message": "bad\x1b luck"}},
    }
    async with scripted(tmp_path, answers, limits=ServerLimits(request_seconds=5.0)) as desk:
        assert (await desk.refused("hover", **HOVER)).code == "lsp_timeout"
        failed = await desk.refused("references", **HOVER)
        assert failed.code == "lsp_request_failed" and "\x1b" not in failed.error_text
        assert (await desk.refused("definition", **HOVER)).code == "lsp_server_unavailable"
        await desk.refused("definition", **HOVER)
        caged = await of_agent(desk, ("ro", ".")).refused("references", **HOVER)
        assert caged.code == "lsp_server_unavailable" and "exit code" not in caged.error_text
        [told] = (await of_agent(desk, ("ro", ".")).lsp("status", path="a.scr"))["servers"]
        assert told["state"] == "unavailable" and told.keys() <= {"language", "state", "restarts"}
        gone = await desk.refused("references", **HOVER)
        assert gone.code == "lsp_server_unavailable" and "reload" in gone.error_text
        await desk.lsp("reload", path="a.scr")
        assert (await desk.refused("references", **HOVER)).code == "lsp_request_failed"


@pytest.mark.requirement("language_servers.tool.rename_file")
@pytest.mark.parametrize(
    ("glob", "asked"),
    [
        ("**/*.scr", True), ("**/*.{ts,scr}", True), ("**/a.*", True), ("{**/*.scr,**/*.x}", True),
        ("*.scr", True), ("**/[ab].scr", True), ("**/[!a].scr", True), ("**/?.scr", True),
        ("**/*.ts", False), ("**/b/*.x", False), ("**/" * 7 + "*.scr", True), ("**/A.SCR", False),
        ("[", False), ("", False),
    ],
)  # fmt: skip
async def test_a_server_is_asked_about_moves_that_its_filters_match(tmp_path, glob, asked):
    filters = {"filters": [{"scheme": "file", "pattern": {"glob": glob, "matches": "file"}}]}
    capabilities = {**ALL, "workspace": {"fileOperations": {"willRename": filters, "didRename": filters}}}
    answer = {"documentChanges": [edits("b.scr", edit(0, 0, 5, "moved"))]}
    async with scripted(tmp_path, {"workspace/willRenameFiles": answer}, capabilities=capabilities) as desk:
        data = await desk.lsp("rename_file", path="a.scr", new_name="deep/b.scr")
        assert ("note" not in data) is asked
        assert desk.text("b.scr").startswith("moved") is asked
        assert desk.text("deep/b.scr") == TEXT


async def test_no_filter_of_a_server_takes_long(tmp_path):
    name = "a" * 200 + ".scr"
    glob = "**/" * 20 + "*a" * 20 + "b"
    filters = {"filters": [{"pattern": {"glob": glob, "options": {"ignoreCase": True}}}]}
    capabilities = {**ALL, "workspace": {"fileOperations": {"willRename": filters, "didRename": filters}}}
    async with scripted(tmp_path, capabilities=capabilities) as desk:
        desk.put_all({f"deep/deep/deep/{name}": TEXT})
        data = await desk.lsp("rename_file", path=f"deep/deep/deep/{name}", new_name=f"other/{name}")
        assert "corrects no imports" in data["note"]


async def test_a_filter_may_leave_case_out(tmp_path):
    filters = {"filters": [{"pattern": {"glob": "**/A.SCR", "options": {"ignoreCase": True}}}]}
    capabilities = {**ALL, "workspace": {"fileOperations": {"willRename": filters}}}
    async with scripted(tmp_path, {"workspace/willRenameFiles": None}, capabilities=capabilities) as desk:
        assert "note" not in await desk.lsp("rename_file", path="a.scr", new_name="c.scr")


@pytest.mark.requirement("language_servers.tool.rename")
async def test_a_server_that_names_the_files_in_another_order_each_time_renames(tmp_path):
    first, second = edits("a.scr", edit(0, 0, 5, "gamma")), edits("b.scr", edit(0, 0, 5, "gamma"))
    orders = [{"documentChanges": list(order)} for order in ((first, second), (second, first)) * 3]
    async with scripted(tmp_path, {"textDocument/rename": {"$each": orders}}) as desk:
        data = await desk.lsp("rename", **RENAME)
        assert (data["total_edits"], data["files_changed"]) == (2, 2)
        assert desk.text("a.scr") == desk.text("b.scr") == TEXT.replace("alpha", "gamma", 1)
