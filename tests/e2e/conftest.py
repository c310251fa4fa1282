"""Fixtures of the tests from outside: one browser and one demo for a file of tests, or a demo for one test.

Who uses them shares one event loop with them: `pytest.mark.asyncio(loop_scope="module")`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.driver.browser import running_browser
from tests.driver.demo_daemon import Demo
from tests.driver.replicas import Replicas, Work, prepared
from tests.fakes.provider_server import FakeProvider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium, shared by the tests of one file."""
    async with running_browser() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_demo(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Demo]:
    """The demo with its daemon, shared by the tests of one file."""
    demo = Demo(tmp_path_factory.mktemp("demo"))
    await demo.start()
    yield demo
    await demo.stop()


@pytest.fixture
async def model() -> AsyncIterator[FakeProvider]:
    """The model provider of a reader of the documentation."""
    async with FakeProvider() as fake:
        yield fake


@pytest_asyncio.fixture(loop_scope="module")
async def demo(shared_demo: Demo) -> Demo:
    """The shared demo at rest, with the code as it was in the beginning; its sessions and issues stay."""
    await shared_demo.restore()
    return shared_demo


@pytest_asyncio.fixture(loop_scope="module")
async def own_demo(tmp_path: Path) -> AsyncIterator[Demo]:
    """A demo for one test alone, whose daemon has yet to start."""
    demo = Demo(tmp_path)
    yield demo
    await demo.stop()


@pytest.fixture
def work(model: FakeProvider) -> Work:
    """What the model of daemons that share a database is asked."""
    return Work.of(model)


@pytest.fixture
async def replicas(tmp_path: Path, postgres_url: str, model: FakeProvider) -> AsyncIterator[Replicas]:
    """Daemons that share a database, none of them started yet."""
    async with prepared(tmp_path, postgres_url, model.port) as made:
        yield made
