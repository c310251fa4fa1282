"""What a server says of the whole project at once: put together, bounded, taken for no more than it is."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace

import pytest

from tests.bridges.conftest import until
from tests.bridges.lsp.conftest import QUICK, Open, Place
from tests.driver.loop_watch import LongestTurn

pytestmark = pytest.mark.requirement("language_servers.tool.whole_project")
ASKED = "workspace/diagnostic"
LOADED = 3.0
"""How long a server of which nothing is known is given to announce that it loads a project."""
NAMES = ("one.hostile", "sub/three.hostile", "two.hostile")


def put_three(place: Place) -> None:
    place.put("two.hostile", "bad\n")
    place.put("sub/three.hostile", "bad bad\n")


@pytest.mark.parametrize("way", ["answer", "work"])
async def test_an_answer_in_one_piece_or_in_parts_is_whole(hostile: Open, way: str) -> None:
    """Parts come twice: first empty, as the file has not been looked at yet. With `work` the request is never
    answered, and the last part comes after the end of the work."""
    async with hostile("--pull", "--project", way) as place:
        put_three(place)
        server = await place.project.server_for("one.hostile")
        report = await server.project_diagnostics("one.hostile", seconds=30)
        assert (report.way, report.finished, report.fresh) == ("reported", True, True)
        assert {name: len(report.items(name)) for name in report.files} == dict(
            zip(NAMES, (1, 2, 1), strict=True)
        )
        await until(lambda: len(place.received("$/cancelRequest")) == (way == "work"))


@pytest.mark.parametrize(("way", "known"), [("never", 0), ("parts", 3), ("refuse", 0), ("wrong", 1)])
async def test_an_answer_without_an_end_is_given_up_and_not_taken_for_whole(
    hostile: Open, way: str, known: int
) -> None:
    async with hostile("--pull", "--project", way) as place:
        put_three(place)
        server = await place.project.server_for("one.hostile")
        began = time.monotonic()
        report = await server.project_diagnostics("one.hostile", seconds=LOADED + 4)
        assert time.monotonic() - began < LOADED + 30
        assert (len(report.files), report.finished) == (known, way == "wrong")
        # A server may wait for changes with its answer: it is not ended, and answers other requests.
        assert (await server.diagnostics("one.hostile")).fresh
        assert len(place.starts()) == 1
        await until(lambda: len(place.received("$/cancelRequest")) == (way in {"never", "parts"}))


async def test_a_flood_of_parts_neither_blocks_nor_stays(hostile: Open) -> None:
    async with hostile("--pull", "--project", "flood", "--flood", "60") as place:
        longest = LongestTurn()
        server = await place.project.server_for("one.hostile")
        report = await server.project_diagnostics("one.hostile", seconds=LOADED + 8)
        assert not report.finished and "one.hostile" in report.files
        assert sum(map(len, report.files.values())) <= 8 * 1024 * 1024
        assert longest.stop() < 0.5, "the loop was held up"


async def test_a_cancelled_call_is_cancelled_in_the_server(hostile: Open) -> None:
    async with hostile("--pull", "--project", "never") as place:
        server = await place.project.server_for("one.hostile")
        tasks = len(asyncio.all_tasks())
        call = asyncio.create_task(server.project_diagnostics("one.hostile", seconds=60))
        await until(lambda: place.received(ASKED) != [])
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: len(place.received("$/cancelRequest")) == 1)
        await until(lambda: len(asyncio.all_tasks()) <= tasks)


async def test_a_server_that_is_killed_is_asked_again(hostile: Open) -> None:
    async with hostile("--pull", "--project", "never", limits=replace(QUICK, forgive_seconds=0.0)) as place:
        server = await place.project.server_for("one.hostile")
        call = asyncio.create_task(server.project_diagnostics("one.hostile", seconds=LOADED + 4))
        await until(lambda: place.received(ASKED) != [])
        os.kill(place.starts()[0], signal.SIGKILL)
        assert not (await call).finished
        assert (len(place.starts()), len(place.received(ASKED))) == (2, 2)


async def test_what_changes_meanwhile_is_not_fresh(hostile: Open) -> None:
    async with hostile("--pull", "--project", "parts") as place:
        server = await place.project.server_for("one.hostile")
        await server.document("one.hostile")
        call = asyncio.create_task(server.project_diagnostics("one.hostile", seconds=LOADED + 4))
        await until(lambda: place.received(ASKED) != [])
        place.put("one.hostile", "other\n")
        assert not (await call).fresh


async def test_a_server_without_the_mode_is_not_asked(hostile: Open) -> None:
    """What it has published counts, as far as it is for the present contents."""
    async with hostile() as place:
        put_three(place)
        server = await place.project.server_for("one.hostile")
        await server.diagnostics("sub/three.hostile")
        report = await server.project_diagnostics("one.hostile", seconds=5)
        assert (report.way, report.finished, list(report.files)) == ("published", False, [NAMES[1]])
        place.put("sub/three.hostile", "good\n")
        await server.synchronise()
        assert not place.received(ASKED)
