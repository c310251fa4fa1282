"""The story of the web tools in docs/tools.md, run as it is written: a search, and a page on this machine."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.driver.daemon_process import REPOSITORY
from tests.driver.kaged import DaemonProcess
from tests.e2e.interop_reader import Reader, blocks
from tests.e2e.recipes_page import Kitchen, prepare
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.fakes.web_server import WebServer, answer, html, web_server

pytestmark = [pytest.mark.requirement("web.documented"), pytest.mark.needs("curl", "cages")]

STORY = "A search and a page of your own"
PAGE = REPOSITORY / "docs" / "tools.md"


@dataclass
class Story:
    """The story's project and its daemon, a SearXNG and a wiki at the addresses of the page."""

    kitchen: Kitchen
    model: FakeProvider
    search: WebServer
    wiki: WebServer

    def placed(self, text: str) -> str:
        """Return a text with the ports of the servers in place of those on the page."""
        return text.replace("127.0.0.1:8888", self.search.place).replace(
            "localhost:8080", f"localhost:{self.wiki.port}"
        )

    def play(self) -> None:
        """Have the model search, and read what it finds."""
        self.model.script(
            Reply((ToolCall("web_search", {"query": "opening hours"}, id="s"),)),
            Reply((ToolCall("web_fetch", {"url": f"http://localhost:{self.wiki.port}/hours"}, id="f"),)),
            text_reply("From 8 to 18."),
        )

    def result(self) -> str:
        """Return the result that the newest request of the model ends with."""
        return json.dumps(self.model.requests[-1].json["messages"][-1], ensure_ascii=False)


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[Story]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(FakeProvider())
        search = await stack.enter_async_context(web_server())
        wiki = await stack.enter_async_context(web_server())
        found = {
            "title": "Hours",
            "url": f"http://localhost:{wiki.port}/hours",
            "content": "When the shop is open.",
        }
        search.pages["/search"] = answer(json.dumps({"results": [found]}), Content_Type="application/json")
        wiki.pages["/hours"] = html("<h1>Hours</h1><p>The shop opens <b>at eight</b>.</p>")
        reader = Reader(tmp_path, model_port=model.port)
        prepare(reader)
        await reader.paste("kaged init --model smart", cwd=reader.project)
        [settings], [declared] = blocks(STORY, "toml", PAGE), blocks(STORY, "yaml", PAGE)
        told = Story(Kitchen(reader, DaemonProcess(reader)), model, search, wiki)
        reader.config.write_text(f"{reader.config.read_text()}\n{told.placed(settings)}")
        reader.add_to_project(told.placed(declared))
        with told.kitchen.daemon.start():
            yield told


async def test_the_agent_searches_and_reads_a_page_on_a_private_address(story: Story) -> None:
    [commands] = blocks(STORY, "sh", PAGE)
    story.play()
    printed = await story.kitchen.cook(story.placed(commands))
    assert "From 8 to 18." in printed
    assert [request.target.partition("?")[0] for request in story.search.requests] == ["/search"]
    assert [request.target for request in story.wiki.requests] == ["/hours"]
    assert "The shop opens **at eight**." in story.result()
    searched = json.dumps(story.model.requests[-2].json["messages"][-1])
    assert "When the shop is open." in searched


async def test_without_the_rule_the_page_is_refused(story: Story) -> None:
    [commands] = blocks(STORY, "sh", PAGE)
    lines = [line for line in commands.splitlines() if "/permissions" not in line]
    assert len(lines) == len(commands.splitlines()) - 1
    story.play()
    await story.kitchen.cook(story.placed("\n".join(lines)))
    assert "address_refused" in story.result()
    assert story.wiki.connections == 0
