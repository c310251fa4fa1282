"""What clangd says first rests on the headers as it knew them: that is no answer, however long it takes."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.bridges.lsp.manager import Declared, LanguageServer
from tests.bridges.conftest import until
from tests.bridges.lsp.conftest import QUICK, Place, messages, open_place, serving
from tests.driver.language_servers import ROOT

SERVER = ROOT / "tests" / "fakes" / "header_language_server.py"
LATE = 0.5
"""Seconds; longer than a quiet that could be taken for the end."""
NEVER = 600.0
WITH, BARE = '#include "used.hpp"\n', "int x;\n"


@asynccontextmanager
async def opened(base: Path, late: float) -> AsyncIterator[tuple[Place, LanguageServer]]:
    """A project with `used.hpp`, and `user.cpp` which includes it and is open; neither has an error."""
    program = base / "bin" / "clangd"  # known by its name
    program.parent.mkdir()
    command = [sys.executable, str(SERVER), "--log", str(base / "server.log"), "--late", str(late)]
    program.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    program.chmod(0o755)
    declared = [Declared(language="cpp", command=(str(program),))]
    async with open_place(base, declared=declared, limits=QUICK) as place:
        place.put("used.hpp", "good\n")
        place.put("user.cpp", WITH)
        server = await place.project.server_for("user.cpp")
        await server.document("user.cpp")
        yield place, server


def counts(place: Place) -> list[int]:
    """Return how many errors each publication for the user had."""
    return [one["count"] for one in place.said() if one["event"] == "sent" and "user.cpp" in one["uri"]]


def read_anew(place: Place) -> int:
    """Return how often the headers were to be read in any case."""
    return sum(one["params"].get("forceRebuild") is True for one in place.received("textDocument/didChange"))


@pytest.mark.requirement("language_servers.freshness.headers")
async def test_what_rests_on_old_headers_is_no_answer(tmp_path: Path) -> None:
    async with opened(tmp_path, LATE) as (place, server):
        assert messages(await server.diagnostics("user.cpp")) == []
        before = len(counts(place))
        place.put("used.hpp", "bad!\n")
        place.put("user.cpp", WITH + "bad\n")
        assert messages(await server.diagnostics("user.cpp")) == ["this is bad", "used.hpp is bad"]
        assert counts(place)[before] == 1, "the first was of the old header"
        place.put("used.hpp", "good\n")
        assert messages(await server.diagnostics("user.cpp")) == ["this is bad"], "only the header"
        place.put("more.hpp", "bad\n")
        place.put("user.cpp", WITH + '#include "more.hpp"\n')
        assert messages(await server.diagnostics("user.cpp")) == ["more.hpp is bad"], "a new one"
        place.put("user.cpp", WITH + BARE)
        assert messages(await server.diagnostics("user.cpp")) == []


@pytest.mark.requirement("language_servers.freshness.headers")
async def test_a_header_that_is_open_too_is_as_new(tmp_path: Path) -> None:
    async with opened(tmp_path, LATE) as (place, server):
        await server.document("used.hpp")
        for text, told in (("bad\n", ["used.hpp is bad"]), ("good\n", [])):
            place.put("used.hpp", text)
            place.put("user.cpp", WITH + BARE * len(text))
            asked = [server.diagnostics("user.cpp") for _ in range(2)]
            assert [messages(one) for one in await asyncio.gather(*asked)] == [told] * 2


@pytest.mark.requirement("language_servers.freshness.headers")
async def test_what_has_not_read_its_headers_in_time_is_not_called_fresh(tmp_path: Path) -> None:
    async with opened(tmp_path, NEVER) as (place, server):
        assert (await server.diagnostics("used.hpp", seconds=0.5)).fresh is False
        place.put("used.hpp", "bad\n")
        place.put("user.cpp", WITH + "bad\n")
        for _ in range(2):
            found = await server.diagnostics("user.cpp", seconds=0.5)
            assert found.fresh is False
        await until(lambda: read_anew(place) > 0)
        assert read_anew(place) == 1, "asked again it does not begin again"
        assert len(place.starts()) == 1


@pytest.mark.requirement("language_servers.freshness.headers")
async def test_headers_are_read_again_only_where_one_may_have_changed_unseen(tmp_path: Path) -> None:
    async with opened(tmp_path, 0) as (place, server):
        for number in range(3):
            place.put("user.cpp", WITH + BARE * number)
            assert messages(await server.diagnostics("user.cpp")) == []
            place.put("other.cpp", BARE * (number + 1))
            assert messages(await server.diagnostics("other.cpp")) == []
        assert read_anew(place) == 0
        place.put("used.hpp", "gone\n")
        assert messages(await server.diagnostics("user.cpp")) == []
        assert messages(await server.diagnostics("user.cpp")) == []
        assert read_anew(place) == 1
        place.put("other.cpp", BARE)  # it may be included below the top of the file
        assert messages(await server.diagnostics("user.cpp")) == []
        assert read_anew(place) == 2


@pytest.mark.requirement("language_servers.freshness.headers")
@pytest.mark.parametrize("included", ["values.def", "values.hpp", "values.cpp"])
async def test_what_is_included_further_down_is_read_too(included: str, tmp_path: Path) -> None:
    async with open_place(tmp_path, declared=serving("clangd", "cpp")) as place:
        place.put("user.cpp", f'enum Colour {{\n#include "{included}"\n}};\nColour one = RED;\n')
        place.put(included, "RED,\n")
        server = await place.project.server_for("user.cpp")
        assert messages(await server.diagnostics("user.cpp")) == []
        for _ in range(2):
            place.put(included, "TAN,\n")  # as long, and in the same second
            [told] = messages(await server.diagnostics("user.cpp"))
            assert "RED" in told
            place.put(included, "RED,\n")
            assert messages(await server.diagnostics("user.cpp")) == []
