"""What a caged agent learns, and what it cannot change, by a real TypeScript server."""

from __future__ import annotations

import orjson
import pytest
import pytest_asyncio

from app.tools.contract.rules import PermissionRule
from tests.driver.caging import FULL
from tests.driver.language_servers import server_path
from tests.tools.code.conftest import code_desk, of_agent
from tests.tools.code.projects import TYPESCRIPT

pytestmark = pytest.mark.asyncio(loop_scope="module")
PASSWORD = "the password"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory):
    server_path("typescript-language-server")
    async with code_desk(tmp_path_factory.mktemp("caged"), tier=FULL) as opened:
        opened.put_all(TYPESCRIPT)
        yield opened


@pytest.fixture
def caged(desk):
    return of_agent(desk, ("ro", "./src"), outside="mark")


def find(call, **more):
    return call("references", path="src/types.ts", line=1, symbol="User", **more)


@pytest.mark.requirement("language_servers.tool.cage")
async def test_references_outside_the_cage_have_their_line_and_no_preview(caged):
    data = await find(caged.lsp)
    assert data["references"][:2] == [
        {"path": "./lib/secret.ts", "line": 1, "outside_cage": True},
        {"path": "./lib/secret.ts", "line": 3, "outside_cage": True},
    ]
    assert data["references"][2]["preview"] == 'import type { User } from "./types";'
    assert data["count"] == 7 and PASSWORD not in orjson.dumps(data).decode()


@pytest.mark.requirement("language_servers.tool.cage")
async def test_a_cage_may_drop_what_is_outside(desk):
    data = await find(of_agent(desk, ("ro", "./src")).lsp)
    assert {one["path"] for one in data["references"]} == {"./src/auth.ts", "./src/main.ts"}
    assert data["count"] == 5
    denied = await find(of_agent(desk, ("ro", "."), ("deny", "lib")).lsp)
    assert denied["count"] == 5
    library = of_agent(desk, ("ro", "./src"))
    found = await library.lsp("definition", path="src/main.ts", line=5, symbol="log")
    assert found["definitions"] == []


@pytest.mark.requirement("language_servers.tool.cage")
async def test_definitions_outside_the_cage_have_their_line_only(desk):
    narrow = of_agent(desk, ("ro", "src/main.ts"), outside="mark")
    data = await narrow.lsp("definition", path="src/main.ts", line=4, symbol="User")
    # The server of this cage knows no more than the import.
    imported, outside = data["definitions"]
    assert (imported["path"], imported["line"]) == ("./src/main.ts", 1)
    assert outside == {"path": "./src/types.ts", "line": 1, "outside_cage": True}
    library = await narrow.lsp("definition", path="src/main.ts", line=5, symbol="log")
    assert library["definitions"][0]["outside_cage"] is True


@pytest.mark.requirement("language_servers.tool.cage")
async def test_symbols_outside_the_cage_have_no_name(caged):
    data = await caged.lsp("symbols", path="src", scope="workspace", query="hidden")
    assert data["symbols"] == [{"path": "./lib/secret.ts", "line": 3, "outside_cage": True}]


@pytest.mark.requirement("language_servers.tool.cage")
@pytest.mark.parametrize(
    "call",
    [
        {"action": "hover", "line": 3, "symbol": "hidden"},
        {"action": "diagnostics"},
        {"action": "definition", "line": 3, "symbol": "User"},
        {"action": "symbols"},
        {"action": "code_actions", "line": 3},
        {"action": "capabilities"},
        {"action": "request", "query": "textDocument/hover", "payload": "{}"},
    ],
    ids=lambda call: call["action"],
)
async def test_nothing_is_shown_of_a_file_that_may_not_be_read(caged, call):
    refused = await caged.call("code.lsp", {"path": "lib/secret.ts", **call})
    assert refused.code == "capability_denied" and PASSWORD not in refused.error_text


@pytest.mark.requirement("language_servers.tool.cage")
async def test_a_link_to_a_file_that_may_not_be_read_opens_nothing(desk, caged):
    link = desk.root / "src" / "link.ts"
    link.symlink_to("../lib/secret.ts")
    try:
        refused = await caged.refused("hover", path="src/link.ts", line=3, symbol="hidden")
        assert refused.code == "capability_denied"
    finally:
        link.unlink()


@pytest.mark.requirement("language_servers.tool.cage")
async def test_rules_hide_files_as_a_cage_does(desk):
    ruled = desk.ruled(PermissionRule("fs.read", "lib", "deny", "project"))
    data = await find(ruled.lsp)
    assert {one["path"] for one in data["references"]} == {"./src/auth.ts", "./src/main.ts"}
    assert (await ruled.refused("hover", path="lib/secret.ts", line=3, symbol="hidden")).code == (
        "permission_denied"
    )


@pytest.mark.requirement("language_servers.tool.rename_cage")
async def test_rename_cage_scoping(desk):
    """rename cage scoping: rename a symbol used in files inside and outside the cage. Assert
    rejection before any edits."""
    worker = of_agent(desk, ("rw", "./src"), ("ro", "./lib"), outside="mark")
    before = desk.snapshot()
    refused = await worker.refused("rename", path="src/types.ts", line=1, symbol="User", new_name="Person")
    assert refused.code == "rename_scope_exceeds_cage"
    assert refused.detail["files"] == ["./lib/secret.ts"] and "./lib/secret.ts" in refused.error_text
    *_, denied = (data for event, data in desk.ports.events if event == "tool.denied")
    assert denied["denied_capability"] == "rename_scope_exceeds_cage"
    hidden = of_agent(desk, ("rw", "./src"))
    refused = await hidden.refused("rename", path="src/types.ts", line=1, symbol="User", new_name="Person")
    assert refused.code == "rename_scope_exceeds_cage"
    assert refused.detail == {"files": [], "count": 1, "rpc_code": -32001}
    assert "secret" not in refused.error_text
    moved = await worker.refused("rename_file", path="src/types.ts", new_name="src/models.ts")
    assert moved.code == "rename_scope_exceeds_cage"
    assert desk.snapshot() == before


@pytest.mark.requirement("language_servers.tool.rename_cage")
async def test_a_rename_from_a_file_that_may_only_be_read_names_all_that_it_would_write(desk):
    before = desk.snapshot()
    worker = of_agent(desk, ("rw", "./src"), ("ro", "./src/types.ts"), ("ro", "./lib"))
    place = {"path": "src/types.ts", "line": 1, "symbol": "User", "new_name": "Person"}
    refused = await worker.refused("rename", **place)
    assert refused.code == "rename_scope_exceeds_cage"
    assert refused.detail["files"] == ["./lib/secret.ts", "./src/types.ts"]
    assert "./src/types.ts" in refused.error_text
    unseen = of_agent(desk, ("rw", "./src"), ("deny", "./src/types.ts"))
    assert (await unseen.refused("rename", **place)).code == "capability_denied"
    assert desk.snapshot() == before


@pytest.mark.requirement("language_servers.tool.rename_cage")
async def test_reading_is_enough_for_what_only_reads(caged):
    assert (await caged.lsp("hover", path="src/main.ts", line=5, symbol="user"))["content"]
    assert (await caged.lsp("diagnostics", path="src"))["count"] == 1
    refused = await caged.refused("rename", path="src/main.ts", line=5, symbol="user", new_name="person")
    assert refused.code == "rename_scope_exceeds_cage"
    refused = await caged.refused("rename_file", path="src/main.ts", new_name="src/other.ts")
    assert refused.code == "capability_denied"


@pytest.mark.requirement("language_servers.tool.request_cage")
async def test_a_caged_caller_requests_only_what_reads_its_own_file(caged):
    position = '{"position": {"line": 0, "character": 17}'
    for method in (
        "workspace/symbol",
        "textDocument/completion",
        "textDocument/rename",
        "codeAction/resolve",
        "textDocument/hover",
        "textDocument/signatureHelp",
    ):
        refused = await caged.refused("request", path="src/types.ts", query=method, payload=position + "}")
        assert refused.code == "capability_denied"
    secret = (caged.root / "lib" / "secret.ts").as_uri()
    elsewhere = await caged.refused(
        "request",
        path="src/types.ts",
        query="textDocument/documentHighlight",
        payload=f'{position}, "textDocument": {{"uri": "{secret}"}}}}',
    )
    assert elsewhere.code == "invalid_params"
    data = await caged.lsp(
        "request",
        path="src/types.ts",
        query="textDocument/references",
        payload=position + ', "context": {"includeDeclaration": true}}',
    )
    assert len(data["result"]) == 6
    assert all("/src/" in one["uri"] for one in data["result"])


@pytest.mark.requirement("language_servers.tool.cage")
async def test_documentation_that_is_written_outside_the_cage_is_not_shown(desk, caged):
    documented = "/** Opens the safe. */\nexport function safe(): void {}\n"
    desk.put("lib/safe.ts", documented)
    desk.put("src/door.ts", documented)
    desk.put("src/opens.ts", 'import { safe } from "../lib/safe";\nimport * as door from "./door";\n'
             "safe();\ndoor.safe();\n")  # fmt: skip
    outside = {"action": "hover", "path": "src/opens.ts", "line": 3, "symbol": "safe"}
    everything = await desk.lsp(**outside)
    assert everything["documentation"] == "Opens the safe." and "note" not in everything
    hidden = of_agent(desk, ("ro", "./src"))
    for agent in (caged, hidden):
        told = await agent.lsp(**outside)
        assert "safe" in told["content"] and told["limited_by_cage"] is True
        assert "Opens" not in orjson.dumps(told).decode()
        inside = await agent.lsp("hover", path="src/opens.ts", line=4, symbol="safe")
        assert inside["documentation"] == "Opens the safe."


@pytest.mark.requirement("language_servers.tool.actions")
async def test_one_action_can_be_enabled_or_denied_by_itself(desk):
    few = {"code.lsp", "code.lsp.hover"}
    position = {"path": "src/main.ts", "line": 5, "symbol": "user"}
    shown = await desk.call("code.lsp", {"action": "hover", **position}, allowed=few)
    assert shown.type == "output"
    refused = await desk.call("code.lsp", {"action": "definition", **position}, allowed=few)
    assert refused.code == "tool_not_found" and "code.lsp.hover" in refused.error_text
    spec = desk.service.registry.spec("code.lsp", allowed=few)
    assert spec.parameters["properties"]["action"]["enum"] == ["hover"]
    ruled = desk.ruled(PermissionRule("code.lsp.rename", "*", "deny", "project"))
    refused = await ruled.refused("rename", **position, new_name="person")
    assert refused.code == "permission_denied"
    assert (await ruled.lsp("hover", **position))["content"]


@pytest.mark.requirement("security.outside_cage")
async def test_places_of_a_server_are_followed_by_the_sentence_that_others_are_not_shown(desk):
    worker = of_agent(desk, ("ro", "./src"))
    told = [
        await find(worker.lsp),
        await worker.lsp("definition", path="src/main.ts", line=4, symbol="User"),
        await worker.lsp("symbols", path="src", scope="workspace", query="hidden"),
    ]
    for one in told:
        assert "places outside your cage are not shown" in one["note"]
        assert "outside_cage" not in orjson.dumps(one).decode()
