"""A daemon over a project with subagents; every agent's model is scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.driver.family import Cast, write_family
from tests.driver.sessions import Driver, driven
from tests.fakes.provider_server import FakeProvider

Drive = Callable[..., AbstractAsyncContextManager[Driver]]


@pytest.fixture
def cast(fake: FakeProvider) -> Cast:
    cast = Cast()
    fake.respond = cast.respond
    return cast


@pytest.fixture
def drive(tmp_path: Path, settings_overrides: dict[str, Any]) -> Drive:
    """Return what drives a daemon over a family of agents."""

    @asynccontextmanager
    async def drive(
        primary: dict[str, Any], *, project: dict[str, Any] | None = None, **settings: Any
    ) -> AsyncIterator[Driver]:
        root = write_family(tmp_path / "family", primary, **(project or {}))
        async with driven(tmp_path / "data", root, **{**settings_overrides, **settings}) as driver:
            yield driver

    return drive
