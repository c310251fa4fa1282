"""The slim image, built once in a run, and places for its containers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.container.engine import Place, build
from tests.driver.machine import need
from tests.fakes.provider_server import FakeProvider

MakePlace = Callable[..., Place]


@pytest.fixture(scope="session")
def image() -> str:
    need("containers")
    return build("slim")


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest.fixture
async def place(image: str, tmp_path: Path) -> AsyncIterator[MakePlace]:
    """Make a place for a project's folder: it and what is in it belong to the user of the container."""

    places: list[Place] = []

    def make(project: Path, *options: str, data: Path | None = None, **more: object) -> Place:
        made = Place(image, project, data or tmp_path / "data", options, **more)  # type: ignore[arg-type]
        made.give(project, made.user)
        places.append(made)
        return made

    yield make
    for one in places:
        await one.aclose()
