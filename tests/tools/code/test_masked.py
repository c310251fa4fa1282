"""What a language server may know is what those who ask it may read, by real servers in real cages."""

from __future__ import annotations

import orjson
import pytest
import pytest_asyncio

from app.bridges.sandbox.tier import Tier
from app.tools.contract.rules import PermissionRule
from tests.driver.caging import FULL
from tests.driver.language_servers import server_path
from tests.tools.code.conftest import code_desk, of_agent

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("security.server_views")]
SECRET = "hunter2-canary"
FILES = {
    "pyproject.toml": '[tool.pyright]\nreportMissingImports = "error"\n',
    "secret/__init__.py": "",
    "secret/keys.py": f'from typing import Final\n\nAPI_KEY: Final = "{SECRET}"\n',
    "src/open.py": "from secret.keys import API_KEY\n\nreveal_type(API_KEY)\nprint(API_KEY)\n",
    "src/lib.py": 'GREETING = "hello"\n',
    "src/plain.py": "from lib import GREETING\n\nprint(GREETING)\n",
}
HOVER = {"path": "src/open.py", "line": 4, "symbol": "API_KEY"}
CAGES = {
    "granted-src": (("ro", "src"),),
    "denied-secret": (("rw", "."), ("deny", "secret")),
    "denied-file": (("rw", "."), ("deny", "secret/keys.py")),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory):
    server_path("pyright")
    async with code_desk(tmp_path_factory.mktemp("masked"), tier=FULL) as opened:
        opened.put_all(FILES)
        yield opened


@pytest.mark.parametrize("outside", ["none", "mark"])
@pytest.mark.parametrize("fs", CAGES.values(), ids=CAGES)
async def test_literals_of_a_denied_file_are_in_no_answer(desk, fs, outside):
    whole = [await desk.lsp("hover", **HOVER), await desk.lsp("diagnostics", path="src/open.py")]
    assert orjson.dumps(whole).count(SECRET.encode()) >= 2
    agent = of_agent(desk, *fs, outside=outside)
    hover = await agent.lsp("hover", **HOVER)
    found = await agent.lsp("diagnostics", path="src")
    place = await agent.lsp("definition", **HOVER)
    actions = await agent.lsp("code_actions", path="src/open.py", line=1)
    assert SECRET not in orjson.dumps([hover, found, place, actions]).decode()
    assert hover["limited_by_cage"] is found["limited_by_cage"] is place["limited_by_cage"] is True
    inside = await agent.lsp("hover", path="src/plain.py", line=3, symbol="GREETING")
    assert "GREETING" in inside["content"] and "limited_by_cage" not in inside


@pytest.mark.parametrize("outside", ["none", "mark"])
@pytest.mark.parametrize("fs", CAGES.values(), ids=CAGES)
async def test_requests_of_the_protocol_show_no_literal_of_a_denied_file(desk, fs, outside):
    at = {"position": {"line": 3, "character": 8}}
    hover = {"path": "src/open.py", "query": "textDocument/hover", "payload": orjson.dumps(at).decode()}
    assert SECRET in orjson.dumps(await desk.lsp("request", **hover)).decode()
    agent = of_agent(desk, *fs, outside=outside)
    for method in ("hover", "completion", "signatureHelp", "inlayHint"):
        refused = await agent.refused("request", **hover | {"query": f"textDocument/{method}"})
        assert refused.code == "capability_denied"
    told = [await agent.lsp("symbols", path="src", scope="workspace", query="API_KEY")]
    for method in ("documentSymbol", "documentHighlight", "definition", "typeDefinition"):
        told.append(await agent.lsp("request", **hover | {"query": f"textDocument/{method}"}))
    for action in ("type_definition", "references"):
        told.append(await agent.lsp(action, **HOVER))
    assert SECRET not in orjson.dumps(told).decode()


async def test_a_file_that_takes_the_place_of_a_denied_one_is_hidden_too(desk):
    agent = of_agent(desk, ("rw", "."), ("deny", "secret/keys.py"))
    await agent.lsp("hover", **HOVER)
    fresh = desk.root / "secret" / "fresh.py"
    fresh.write_text(FILES["secret/keys.py"].replace(SECRET, SECRET * 2))
    fresh.rename(desk.root / "secret" / "keys.py")
    told = [await agent.lsp("hover", **HOVER), await agent.lsp("diagnostics", path="src/open.py")]
    assert SECRET not in orjson.dumps(told).decode()


async def test_a_rule_hides_a_file_from_the_server_as_a_cage_does(desk):
    for pattern in ("secret", "secret/*", "*keys.py"):
        ruled = desk.ruled(PermissionRule("fs.read", pattern, "deny", "project"))
        told = [await ruled.lsp("hover", **HOVER), await ruled.lsp("diagnostics", path="src/open.py")]
        assert SECRET not in orjson.dumps(told).decode(), pattern


async def test_agents_that_read_the_same_share_a_server_and_at_most_three_run(desk):
    await desk.lsp("reload")

    async def running(*cages):
        for fs in cages:
            await of_agent(desk, *fs).lsp("hover", path="src/plain.py", line=3, symbol="GREETING")
        return len(desk.languages.project("prj_1", desk.root).running())

    every = (("rw", "."),)
    assert await running(every, (("ro", "."),)) == 1
    await desk.lsp("hover", path="src/plain.py", line=3, symbol="GREETING")
    assert await running(every) == 1
    assert await running(CAGES["granted-src"], (("rw", "src"),), (("ro", "."), ("deny", "secret"))) == 3
    assert await running((("ro", "."), ("deny", "secret/keys.py"))) == 3


@pytest.mark.parametrize("tier", [None, Tier("landlock", "the tests need it")], ids=["lsp-none", "landlock"])
async def test_without_masks_the_words_of_a_server_are_withheld(tmp_path, tier):
    server_path("pyright")
    async with code_desk(tmp_path, tier=tier) as desk:
        desk.put_all(FILES)
        agent = of_agent(desk, ("rw", "src"))
        actions = {"action": "code_actions", "path": "src/open.py", "line": 1}
        for call in ({"action": "hover", **HOVER}, actions):
            refused = await agent.refused(**call)
            assert refused.code == "capability_denied" and "withheld" in refused.error_text
        found = await agent.lsp("diagnostics", path="src/open.py")
        assert found["count"] and "withheld" in found["note"]
        assert SECRET not in orjson.dumps(found).decode()
        outline = {"query": "textDocument/documentSymbol", "payload": "{}"}
        assert (await agent.refused("request", path="src/open.py", **outline)).code == "capability_denied"
        whole = of_agent(desk, ("ro", "."))
        assert SECRET in (await whole.lsp("hover", **HOVER))["content"]
