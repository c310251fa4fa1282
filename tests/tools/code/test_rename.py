"""Renames by a real TypeScript server: all files or none, whatever happens."""

from __future__ import annotations

import pytest

from app.errors import ToolError
from app.workspace import Target
from tests.driver.language_servers import server_path
from tests.tools.code.projects import PYTHON, TYPESCRIPT


@pytest.fixture
def desk(coding):
    server_path("typescript-language-server")
    coding.put_all(TYPESCRIPT)
    return coding


RENAME = {"path": "src/types.ts", "line": 1, "symbol": "User", "new_name": "Person"}


@pytest.mark.requirement("language_servers.tool.rename")
async def test_rename_atomic(desk, monkeypatch):
    """rename atomic: rename a symbol used in 3 files. Assert all 3 updated. Introduce a write failure
    on file 2 - assert all 3 rolled back."""
    before = desk.snapshot()
    put, done = Target.put, []

    def failing(target, staged):
        if done:
            raise ToolError("no_space", "the disk is full")
        done.append(target.key)
        put(target, staged)

    with monkeypatch.context() as broken:
        broken.setattr(Target, "put", failing)
        refused = await desk.refused("rename", **RENAME)
    assert refused.code == "no_space" and len(done) == 1
    assert desk.snapshot() == before
    data = await desk.lsp("rename", **RENAME)
    assert data == {
        "changes": [
            {"path": "./lib/secret.ts", "edits": 2},
            {"path": "./src/auth.ts", "edits": 3},
            {"path": "./src/main.ts", "edits": 2},
            {"path": "./src/types.ts", "edits": 1},
        ],
        "total_edits": 8,
        "files_changed": 4,
    }
    for path in ("lib/secret.ts", "src/auth.ts", "src/main.ts", "src/types.ts"):
        assert desk.text(path) == TYPESCRIPT[path].replace("User", "Person")
    again = await desk.lsp("diagnostics", path="src/main.ts")
    assert again["fresh"] and "'Person'" in again["diagnostics"][0]["message"]


@pytest.mark.requirement("language_servers.tool.rename")
async def test_a_rename_is_reported_and_counts_as_read(desk):
    await desk.lsp("rename", **RENAME)
    edited = [data["path"] for name, data in desk.ports.events if name == "file.edited"]
    assert edited == ["./lib/secret.ts", "./src/auth.ts", "./src/main.ts", "./src/types.ts"]
    await desk.ok("edit.text", path="src/types.ts", old_string="Person", new_string="Human")


@pytest.mark.requirement("language_servers.tool.rename")
async def test_a_rename_is_for_what_is_on_disk(desk):
    """A file that was changed a moment before, by whomever, is renamed as it is now."""
    await desk.lsp("diagnostics", path="src/main.ts")
    desk.put("src/main.ts", "// a line more\n// and another\n" + TYPESCRIPT["src/main.ts"])
    desk.put("src/new.ts", 'import { User } from "./types";\nexport let last: User;\n')
    data = await desk.lsp("rename", **RENAME)
    assert data["total_edits"] == 10
    assert desk.text("src/main.ts").endswith(TYPESCRIPT["src/main.ts"].replace("User", "Person"))
    assert desk.text("src/new.ts") == 'import { Person } from "./types";\nexport let last: Person;\n'


@pytest.mark.requirement("language_servers.tool.rename")
async def test_line_ends_and_encodings_stay(desk):
    text = 'import { User } from "./types";\nexport const emoji = "🙂"; export let user: User;\n'
    desk.put("src/windows.ts", "\ufeff" + text.replace("\n", "\r\n"))
    await desk.lsp("rename", **RENAME)
    assert desk.text("src/windows.ts") == "\ufeff" + text.replace("User", "Person").replace("\n", "\r\n")


@pytest.mark.requirement("language_servers.tool.rename")
@pytest.mark.parametrize("place", [{"line": 3, "character": 0}, {"line": 4, "symbol": "const"}])
async def test_what_cannot_be_renamed_is_refused_with_the_reason(desk, place):
    before = desk.snapshot()
    refused = await desk.refused("rename", path="src/main.ts", **place, new_name="other")
    assert refused.code == "rename_not_possible" and "nothing was changed" in refused.error_text
    assert desk.snapshot() == before


@pytest.mark.requirement("language_servers.tool.rename")
@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x00", "1x", "a b", "a()", "x;"])
async def test_a_new_name_is_a_name(desk, name):
    refused = await desk.refused("rename", **{**RENAME, "new_name": name})
    assert refused.code == "invalid_params"


@pytest.mark.requirement("language_servers.tool.rename_file")
async def test_a_file_moves_with_all_that_refers_to_it(desk):
    data = await desk.lsp("rename_file", path="src/types.ts", new_name="src/model/person.ts")
    assert data == {
        "changes": [
            {"path": "./lib/secret.ts", "edits": 1},
            {"path": "./src/auth.ts", "edits": 1},
            {"path": "./src/main.ts", "edits": 1},
            {"path": "./src/types.ts", "operation": "rename", "new_path": "./src/model/person.ts"},
        ],
        "total_edits": 3,
        "files_changed": 4,
    }
    assert not (desk.root / "src/types.ts").exists()
    assert desk.text("src/model/person.ts") == TYPESCRIPT["src/types.ts"]
    assert desk.text("lib/secret.ts").startswith('import type { User } from "../src/model/person";')
    checked = await desk.lsp("diagnostics", path=".", severity="error")
    assert checked["fresh"] and checked["count"] == 1  # the one that was there before
    found = await desk.lsp("definition", path="src/main.ts", line=4, symbol="User")
    assert found["definitions"][0]["path"] == "./src/model/person.ts"


@pytest.mark.requirement("language_servers.tool.rename_file")
async def test_a_moved_file_has_its_own_imports_corrected(desk):
    data = await desk.lsp("rename_file", path="src/auth.ts", new_name="src/deep/er/auth.ts")
    assert {"path": "./src/auth.ts", "edits": 1} in data["changes"]
    assert desk.text("src/deep/er/auth.ts").startswith('import type { User } from "../../types";')
    assert 'from "./deep/er/auth";' in desk.text("src/main.ts")


@pytest.mark.requirement("language_servers.tool.rename_file")
async def test_a_file_of_an_unknown_language_is_only_moved_and_that_is_said(desk):
    desk.put("notes.unknown", "x")
    data = await desk.lsp("rename_file", path="notes.unknown", new_name="docs/notes.unknown")
    assert data["changes"] == [
        {"path": "./notes.unknown", "operation": "rename", "new_path": "./docs/notes.unknown"}
    ]
    assert data["note"].startswith("Only the file was moved")
    assert desk.text("docs/notes.unknown") == "x" and not (desk.root / "notes.unknown").exists()


@pytest.mark.requirement("language_servers.tool.rename_file")
@pytest.mark.parametrize(
    ("path", "new", "code"),
    [
        ("src/types.ts", "src/auth.ts", "file_exists"),
        ("src/types.ts", "src/types.ts", "no_change"),
        ("src/types.ts", "src/", "invalid_params"),
        ("src/types.ts", "../types.ts", "invalid_path"),
        ("src", "source", "is_directory"),
        ("src/link.ts", "src/other.ts", "invalid_path"),
        ("src/none.ts", "src/other.ts", "file_not_found"),
    ],
)
async def test_a_move_that_cannot_be_changes_nothing(desk, path, new, code):
    (desk.root / "src/link.ts").symlink_to("types.ts")
    before = desk.snapshot()
    assert (await desk.refused("rename_file", path=path, new_name=new)).code == code
    assert desk.snapshot() == before


@pytest.mark.requirement("language_servers.tool.rename")
async def test_a_file_that_a_link_leads_to_is_changed_once_and_the_link_stays(coding):
    coding.put_all(PYTHON)
    link = coding.root / "shop/alias.py"
    link.symlink_to("orders.py")
    where = {"path": "shop/prices.py", "line": 1, "symbol": "total"}
    used = await coding.lsp("references", **where)
    assert {one["path"] for one in used["references"]} == {"./shop/alias.py", "./shop/orders.py"}
    data = await coding.lsp("rename", new_name="add_up", **where)
    assert data["changes"] == [
        {"path": "./shop/orders.py", "edits": 2},
        {"path": "./shop/prices.py", "edits": 1},
    ]
    assert link.is_symlink()
    assert coding.text("shop/orders.py") == PYTHON["shop/orders.py"].replace("total", "add_up")


BILL = """interface Bill {
  total: number;
}
export function bill(total: number): Bill {
  return { total };
}
export const read = bill(1).total;
"""


@pytest.mark.requirement("language_servers.tool.shorthands")
async def test_a_property_and_a_variable_of_one_name_are_distinguished(coding):
    server_path("typescript-language-server")
    coding.put_all(TYPESCRIPT)
    for line, form in ((4, "{ total: sum }"), (2, "{ sum: total }")):
        coding.put("src/bill.ts", BILL)
        await coding.lsp("rename", path="src/bill.ts", line=line, symbol="total", new_name="sum")
        assert form in coding.text("src/bill.ts")
        assert (await coding.lsp("diagnostics", path="src/bill.ts", severity="error"))["count"] == 0
