"""What looks like a credential is not sent to another machine unasked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.tools.authorisation.guard import built_in
from app.tools.dispatch.service import ToolService
from tests.fakes.web_server import answer

pytestmark = pytest.mark.requirement("authorisation.watchdog", "locked.web_fetch.hosts")

TOKEN = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize("path", [f"/{TOKEN}", f"/a?t={TOKEN}", f"/%67hp_{TOKEN[4:]}", f"/a?x=1&jwt={JWT}"])
async def test_an_address_with_a_credential_is_asked_about(web, server, path):
    server.pages["/"] = server.pages["/a"] = answer("fine", Content_Type="text/plain")
    guarded = ToolService(web.desk.service.registry, watchdogs=built_in(Path("/data"), home=Path("/home/me")))
    desk = replace(web.allowing(server).desk, service=guarded)
    assert await desk.code("web_fetch", url=server.url(path)) == "watchdog_denied"
    assert [one.suggestions for one in web.ports.asked] == [()]
    assert await desk.code("web_search", query=f"what is {TOKEN}") == "watchdog_denied"
    assert server.connections == 0
    for harmless in ("/a?sortKey=name&token=abcdef&code=12345", "/a?api_key=example#key=abcd"):
        await desk.ok("web_fetch", url=server.url(harmless))
    assert len(web.ports.asked) == 2
    assert (
        await desk.code("web_search", query="how do I set api_key=abc123 in a config") == "tool_unavailable"
    )
