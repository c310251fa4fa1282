"""Fixtures of the tests from outside: one browser for a file of tests.

Who uses them shares one event loop with them: `pytest.mark.asyncio(loop_scope="module")`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from tests.driver.browser import running_browser


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """A Chromium, shared by the tests of one file."""
    async with running_browser() as running:
        yield running
