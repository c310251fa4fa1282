"""What an agent learns from a real TypeScript server: places, types, outlines, positions."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import pytest_asyncio

from tests.driver.language_servers import server_path
from tests.tools.code.conftest import code_desk
from tests.tools.code.projects import TYPESCRIPT

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory):
    server_path("typescript-language-server")
    async with code_desk(tmp_path_factory.mktemp("reading")) as opened:
        opened.put_all(TYPESCRIPT)
        opened.put("src/wide.ts", 'const a = "😀é́"; const later = a;\r\n\tconst tab = later;\r\n')
        opened.put("src/many.ts", "export let many = 0;\n" + "many += many;\n" * 300)
        opened.put("src/notes.unknown", "x")
        yield opened


@pytest.mark.requirement("language_servers.tool.definition")
async def test_definition_navigates(desk):
    """definition navigates: cursor on a function call, assert definition in the correct file."""
    data = await desk.lsp("definition", path="./src/main.ts", line=4, character=35)
    assert data == {
        "definitions": [
            {
                "path": "./src/auth.ts",
                "line": 7,
                "character": 16,
                "preview": "export function validate(user: User): boolean {",
            }
        ]
    }


@pytest.mark.requirement("language_servers.tool.definition")
async def test_types_and_implementations_are_found(desk):
    [found] = (await desk.lsp("type_definition", path="src/main.ts", line=5, symbol="user"))["definitions"]
    assert (found["path"], found["line"], found["character"]) == ("./src/types.ts", 1, 17)
    data = await desk.lsp("implementation", path="src/types.ts", line=1, symbol="User")
    places = [(one["path"], one["line"]) for one in data["definitions"]]
    assert ("./src/auth.ts", 3) in places and places == sorted(places)


@pytest.mark.requirement("language_servers.tool.definition")
async def test_a_place_in_a_library_has_its_path_and_line_and_no_preview(desk):
    [found] = (await desk.lsp("definition", path="src/main.ts", line=5, symbol="log"))["definitions"][:1]
    assert found["path"].startswith("/") and found["line"] > 1
    assert found["outside_project"] is True and found.keys() == {"path", "line", "outside_project"}


@pytest.mark.requirement("language_servers.tool.definition")
async def test_where_nothing_is_known_the_answer_says_so(desk):
    data = await desk.lsp("definition", path="src/main.ts", line=3, character=0)
    assert data["definitions"] == [] and "no place" in data["note"]


@pytest.mark.requirement("language_servers.tool.references")
async def test_references_finds_usages(desk):
    """references finds usages: cursor on a type, assert all usage locations."""
    data = await desk.lsp("references", path="src/types.ts", line=1, character=17)
    places = [(one["path"], one["line"], one["character"]) for one in data["references"]]
    assert places == [
        ("./lib/secret.ts", 1, 14),
        ("./lib/secret.ts", 3, 21),
        ("./src/auth.ts", 1, 14),
        ("./src/auth.ts", 3, 30),
        ("./src/auth.ts", 7, 31),
        ("./src/main.ts", 1, 14),
        ("./src/main.ts", 4, 12),
    ]
    assert data["count"] == 7
    assert data["references"][1]["preview"] == 'export const hidden: User = { name: "the password" };'
    declared = await desk.lsp(
        "references", path="src/types.ts", line=1, character=17, include_declaration=True
    )
    assert declared["count"] == 8
    assert ("./src/types.ts", 1) in [(one["path"], one["line"]) for one in declared["references"]]


@pytest.mark.requirement("language_servers.tool.bounds")
async def test_long_lists_are_cut_paged_and_kept_whole(desk):
    envelope = await desk.call("code.lsp", action="references", path="src/many.ts", line=1, symbol="many")
    assert (len(envelope.data["references"]), envelope.data["count"]) == (100, 600)
    assert envelope.data["truncated"] is True and "offset 100" in envelope.data["note"]
    assert envelope.metadata.truncated
    rows = [orjson.loads(line) for line in Path(envelope.metadata.output_path).read_bytes().splitlines()]
    whole = [(one["path"], line) for one in rows for line in one["lines"]]
    places = [(one["path"], one["line"]) for one in envelope.data["references"]]
    assert len(whole) == 600 and whole[:100] == places
    rest = await desk.lsp("references", path="src/many.ts", line=1, symbol="many", offset=595, limit=10)
    last = [(one["path"], one["line"]) for one in rest["references"]]
    assert last == whole[595:] and "truncated" not in rest


@pytest.mark.requirement("language_servers.tool.hover")
async def test_hover_splits_type_and_documentation(desk):
    data = await desk.lsp("hover", path="src/auth.ts", line=8, symbol="name")
    assert data == {
        "content": "(property) User.name: string",
        "documentation": "The display name.",
        "range": {"start": {"line": 8, "character": 14}, "end": {"line": 8, "character": 18}},
    }
    nothing = await desk.lsp("hover", path="src/main.ts", line=3, character=0)
    assert nothing["content"] == "" and "nothing" in nothing["note"]


@pytest.mark.requirement("language_servers.tool.symbols")
async def test_the_outline_is_flat_in_order_and_in_words(desk):
    data = await desk.lsp("symbols", path="src/auth.ts")
    assert data == {
        "symbols": [
            {
                "name": "Admin",
                "kind": "class",
                "path": "./src/auth.ts",
                "line": 3,
                "character": 13,
                "end_line": 5,
            },
            {"name": "name", "kind": "property", "path": "./src/auth.ts", "line": 4, "character": 2}
            | {"end_line": 4, "container": "Admin"},
            {"name": "validate", "kind": "function", "path": "./src/auth.ts", "line": 7, "character": 16}
            | {"end_line": 9},
        ],
        "count": 3,
    }
    one = await desk.lsp("symbols", path="src/auth.ts", query="VALID")
    assert [found["name"] for found in one["symbols"]] == ["validate"]
    first = await desk.lsp("symbols", path="src/auth.ts", limit=1)
    assert (len(first["symbols"]), first["count"], first["truncated"]) == (1, 3, True)


@pytest.mark.requirement("language_servers.tool.symbols")
@pytest.mark.parametrize("path", ["src/main.ts", "src", "."])
async def test_symbols_are_searched_in_the_whole_project(desk, path):
    data = await desk.lsp("symbols", path=path, scope="workspace", query="User")
    first = data["symbols"][0]
    assert first == {
        "name": "User",
        "kind": "interface",
        "path": "./src/types.ts",
        "line": 1,
        "character": 17,
    }
    assert {one["path"] for one in data["symbols"]} >= {"./src/types.ts", "./src/main.ts"}


@pytest.mark.requirement("language_servers.tool.positions")
async def test_columns_are_characters_also_behind_emoji_tabs_and_crlf(desk):
    line = desk.text("src/wide.ts").split("\r\n")[0]
    column = line.index("later")
    data = await desk.lsp("hover", path="src/wide.ts", line=1, character=column)
    assert data["range"] == {
        "start": {"line": 1, "character": column},
        "end": {"line": 1, "character": column + 5},
    }
    [found] = (await desk.lsp("definition", path="src/wide.ts", line=2, symbol="later"))["definitions"]
    assert (found["line"], found["character"]) == (1, column)
    used = await desk.lsp("references", path="src/wide.ts", line=1, symbol="later")
    assert [(one["line"], one["character"]) for one in used["references"]] == [(2, 13)]


@pytest.mark.requirement("language_servers.tool.positions")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"line": 99, "character": 0}, "./src/types.ts has 5 lines"),
        ({"line": 3, "character": 16}, "has 15 characters"),
        ({"line": 3}, "character: is required"),
        ({"character": 1}, "line: is required"),
        ({"line": 3, "character": 1, "symbol": "name"}, "either character or symbol"),
        ({"line": 0, "character": 1}, "greater than or equal to 1"),
        ({"line": 1, "character": -1}, "greater than or equal to 0"),
    ],
)
async def test_positions_that_are_none_say_what_is_there(desk, given, said):
    for action in ("hover", "definition"):
        refused = await desk.refused(action, path="src/types.ts", **given)
        assert refused.code == "invalid_params" and said in refused.error_text


@pytest.mark.requirement("language_servers.tool.positions")
async def test_a_column_may_be_the_end_of_the_line(desk):
    await desk.lsp("hover", path="src/types.ts", line=3, character=15)


@pytest.mark.requirement("language_servers.tool.symbol")
async def test_a_symbol_on_a_line_stands_for_its_column(desk):
    [found] = (await desk.lsp("definition", path="src/main.ts", line=4, symbol="validate#2"))["definitions"]
    assert found["path"] == "./src/auth.ts"
    refused = await desk.refused("definition", path="src/main.ts", line=4, symbol="validate")
    assert refused.code == "symbol_ambiguous"
    assert refused.detail["places"] == [
        {"symbol": "validate#1", "character": 34},
        {"symbol": "validate#2", "character": 50},
    ]
    assert "validate#2 (character 50)" in refused.error_text
    path = await desk.lsp("hover", path="src/main.ts", line=5, symbol="console.log")
    assert path["range"]["start"]["character"] == 8


@pytest.mark.requirement("language_servers.tool.symbol")
async def test_a_symbol_that_is_not_there_is_reported_with_where_it_is(desk):
    refused = await desk.refused("hover", path="src/main.ts", line=5, symbol="validate")
    assert refused.code == "symbol_not_found"
    assert refused.detail["elsewhere"] == [2, 4] and "console.log(user.naem)" in refused.error_text
    third = await desk.refused("hover", path="src/main.ts", line=4, symbol="validate#3")
    assert third.code == "symbol_not_found" and third.detail["count"] == 2
    part = await desk.refused("hover", path="src/main.ts", line=4, symbol="valid")
    assert part.code == "symbol_not_found"


@pytest.mark.requirement("language_servers.tool.errors")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (
            {"action": "hover", "path": "src/notes.unknown", "line": 1, "character": 0},
            "language_not_supported",
        ),
        ({"action": "diagnostics", "path": "src/notes.unknown"}, "language_not_supported"),
        ({"action": "hover", "path": "src", "line": 1, "character": 0}, "is_directory"),
        ({"action": "hover", "path": "src/none.ts", "line": 1, "character": 0}, "file_not_found"),
        ({"action": "hover", "path": "../x.ts", "line": 1, "character": 0}, "invalid_path"),
        ({"action": "hover", "line": 1, "character": 0}, "invalid_params"),
        ({"action": "symbols", "path": "src", "scope": "workspace"}, "invalid_params"),
        ({"action": "rename", "path": "src/main.ts", "line": 4, "symbol": "user#1"}, "invalid_params"),
        ({"action": "request", "path": "src/main.ts", "query": "textDocument/hover"}, "invalid_params"),
        ({"action": "explode"}, "invalid_params"),
        ({"action": "hover", "path": "src/main.ts", "line": 1, "charakter": 1}, "invalid_params"),
    ],
)
async def test_errors_have_codes_and_say_what_to_do(desk, given, code):
    envelope = await desk.call("code.lsp", given)
    assert (envelope.type, envelope.code) == ("error", code)
    assert envelope.error_text


@pytest.mark.requirement("language_servers.tool.request")
async def test_any_reading_request_can_be_sent(desk):
    data = await desk.lsp(
        "request",
        path="src/main.ts",
        query="textDocument/documentHighlight",
        payload='{"position": {"line": 3, "character": 6}}',
    )
    assert data["position_encoding"] == "utf-16" and data["language"] == "typescript"
    assert data["result"][0]["range"]["start"] == {"line": 3, "character": 6}


@pytest.mark.requirement("language_servers.tool.request")
@pytest.mark.parametrize(
    "method",
    [
        "initialize", "shutdown", "exit", "textDocument/didOpen", "textDocument/didChange", "$/cancelRequest",
        "workspace/executeCommand", "workspace/applyEdit", "workspace/didChangeConfiguration",
        "notebookDocument/didOpen", "window/showMessageRequest", "client/registerCapability", "a b", "",
    ],
)  # fmt: skip
async def test_requests_that_would_break_the_server_or_write_are_refused(desk, method):
    refused = await desk.refused("request", path="src/main.ts", query=method, payload="{}")
    assert refused.code == "invalid_params"
    assert (await desk.lsp("hover", path="src/main.ts", line=5, symbol="user"))["content"]


@pytest.mark.requirement("language_servers.tool.request")
@pytest.mark.parametrize("payload", ["{", "3", '"x"'])
async def test_a_payload_must_be_parameters(desk, payload):
    refused = await desk.refused("request", path="src/main.ts", query="textDocument/hover", payload=payload)
    assert refused.code == "invalid_params" and "payload" in refused.detail["fields"]


@pytest.mark.requirement("language_servers.tool.capabilities")
async def test_capabilities_say_what_the_server_can_do(desk):
    data = await desk.lsp("capabilities", path="src/main.ts")
    assert data["offers"]["rename"] is True and data["offers"]["implementation"] is True
    assert data["capabilities"]["renameProvider"] and data["position_encoding"] == "utf-16"
    running = await desk.lsp("capabilities")
    assert running["capabilities"]["typescript"]["offers"] == data["offers"]
