"""A desk with the tools of the web, and a server that an operator's rule allows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.config import Proxies, SearchSettings
from app.tools.contract.call import ToolEnvelope
from app.tools.contract.rules import PermissionRule
from app.tools.dispatch.service import ToolService
from app.tools.documents import html
from app.tools.web import fetch
from app.tools.web.access import WebAccess
from tests.bridges.network.conftest import Names
from tests.driver.tool_registry import tool_registry
from tests.fakes.web_server import WebServer, web_server


def operators(pattern: str, permission: str = "net") -> PermissionRule:
    return PermissionRule(permission, pattern, "allow", "project")


@dataclass
class WebDesk:
    """Calls `web_fetch` and `web_search`. `names` are what the resolver says."""

    desk: Any
    children: ChildProcesses
    names: Names
    access: WebAccess

    @property
    def ports(self) -> Any:
        return self.desk.ports

    def ruled(self, *rules: PermissionRule, headless: bool = False) -> WebDesk:
        return replace(self, desk=self.desk.ruled(*rules, headless=headless))

    def allowing(self, *servers: WebServer) -> WebDesk:
        """Return a desk whose operator allows exactly these servers."""
        return self.ruled(*self.desk.context.rules, *(operators(one.place) for one in servers))

    def caged(self, *hosts: str) -> WebDesk:
        cage: Mapping[str, Any] = {"fs": [], "net": {"allow": list(hosts)}}
        return replace(self, desk=self.desk.as_agent("primary.subagents.worker", cage))

    def with_access(self, search: SearchSettings | None = None, proxies: Proxies | None = None) -> WebDesk:
        access = WebAccess(search or SearchSettings(), proxies or Proxies(), resolve=self.names)
        registry = tool_registry(children=self.children, web=access)
        return replace(self, access=access, desk=replace(self.desk, service=ToolService(registry)))

    async def fetch(self, url: str) -> ToolEnvelope:
        found: ToolEnvelope = await self.desk.call("web_fetch", url=url)
        return found

    async def text(self, url: str) -> str:
        """Return the text of a page, without the line that marks it."""
        envelope = await self.fetch(url)
        assert not envelope.is_error, envelope.model_text()
        mark, _, text = envelope.data["content"].partition("\n\n")
        assert mark.startswith("[Text from ")
        return str(text)

    async def refused(self, url: str) -> ToolEnvelope:
        envelope = await self.fetch(url)
        assert envelope.is_error, envelope.data
        return envelope

    async def search(self, query: str = "kaged", **params: Any) -> ToolEnvelope:
        found: ToolEnvelope = await self.desk.call("web_search", query=query, **params)
        return found


@pytest.fixture
def web(desk: Any, children: ChildProcesses, monkeypatch: pytest.MonkeyPatch) -> WebDesk:
    """Limits of time are far away, so that a busy machine does not reach them; tests of limits set them."""
    monkeypatch.setattr(fetch, "SECONDS", 90.0)
    monkeypatch.setattr(html, "SECONDS", 90.0)
    return WebDesk(desk, children, Names({}), WebAccess()).with_access()


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with web_server() as found:
        yield found


@pytest.fixture
async def inner() -> AsyncIterator[WebServer]:
    """A server of this machine that no rule allows."""
    async with web_server("127.0.0.2") as found:
        yield found
