"""Each driver from end to end against a server that others wrote: LiteLLM's proxy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.config import ProviderSettings
from app.harness.providers.router import ProviderRouter, ProviderTestResult
from tests.driver.litellm_proxy import KEY, MOCK_ANSWER, litellm_proxy, need_litellm
from tests.driver.sessions import DRIVERS, driven, write_project
from tests.fakes.provider_script import Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = [
    pytest.mark.requirement("providers.vendor_types", "providers.test"),
    pytest.mark.timeout(1800),
]

_RUN_SECONDS = 300.0
"""The server loads most of itself with the first request."""


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    need_litellm()
    yield


async def test_each_driver_answers_calls_tools_and_fails_as_it_should(tmp_path: Path) -> None:
    """One test: the server takes half a minute to start."""
    async with FakeProvider() as upstream, litellm_proxy(tmp_path, upstream.base_url) as proxy:
        for driver in DRIVERS:
            folder = tmp_path / driver
            folder.mkdir()
            root = write_project(folder / "shop")
            (root / "a.txt").write_text("alpha and omega\n")
            settings = {
                "providers": {
                    "far": {"driver": driver, "base_url": proxy.address(driver), "api_key": KEY},
                },
                "models": {"main": ["far:passed-on"], "mocked": ["far:mock"]},
            }
            upstream.script(
                Reply((Text("I look."), ToolCall("file_read", {"path": "a.txt"}, id="call_1", pieces=3))),
                text_reply("It says ", "alpha."),
            )
            before = upstream.request_count
            async with (
                driven(folder / "data", root, **settings) as driven_here,
                driven_here.watching() as watch,
            ):
                await driven_here.post("What does a.txt say?")
                await watch.until_type("run.ended", seconds=_RUN_SECONDS)
            assert watch.text().endswith("It says alpha."), driver
            assert "alpha and omega" in upstream.requests[-1].body.decode(), driver
            assert upstream.request_count - before == 2, driver
            usage = watch.of("message.end")[-1]["payload"]["usage"]
            assert (usage["inputTokens"], usage["outputTokens"]) == (10, 5), driver
            await _misses_its_model(driver, proxy.address(driver))
        await _answers_by_itself(proxy.address("openai"))


async def _misses_its_model(driver: str, base_url: str) -> None:
    result = await _tested(driver, base_url, "mokk")
    assert (result.ok, result.cause) == (False, "unknown_model"), driver


async def _answers_by_itself(base_url: str) -> None:
    """By chat completions only: its mock answers are not streamed on the wire of responses."""
    result = await _tested("openai", base_url, "mock")
    assert (result.ok, result.text) == (True, MOCK_ANSWER)


async def _tested(driver: str, base_url: str, model: str) -> ProviderTestResult:
    settings = ProviderSettings(driver=driver, base_url=base_url, api_key=SecretStr(KEY))
    router = ProviderRouter({}, {"far": settings}, {})
    try:
        return await router.test("far", model)
    finally:
        await router.aclose()
