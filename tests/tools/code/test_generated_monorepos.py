"""After any rename that was accepted, a monorepo still type-checks: by the compilers of its packages."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from app.bridges.lsp.manager import Declarations, Declared
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import code_desk
from tests.tools.code.generated_monorepos import GENERATORS, complaints

REFUSALS = {"rename_incomplete", "rename_not_possible"}


async def outcome(base: Path, language: str, seed: int) -> str:
    """Rename one function of the monorepo of this seed at one of its places, on cold servers."""
    generate, server = GENERATORS[language]
    files, places = generate(seed)
    place = random.Random(seed).choice(places)
    declared = Declared(language=language, command=server_command(server))
    base.mkdir()
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(files)
        at = {"path": place.path, "line": place.line, "symbol": place.name}
        done = await desk.call("code.lsp", action="rename", **at, new_name=f"{place.name}Anew")
        if done.type == "error":
            assert done.code in REFUSALS, done.model_text()
            assert {path: desk.text(path) for path in files} == files
            return str(done.code)
        said = await asyncio.to_thread(complaints, language, desk.root, base / "home")
        assert not said, f"seed {seed}, {place}: {said}"
    return "renamed"


@pytest.mark.requirement("language_servers.monorepos.checked")
@pytest.mark.parametrize("language", GENERATORS)
async def test_a_rename_leaves_no_error(tmp_path: Path, language: str) -> None:
    assert await outcome(tmp_path / "one", language, 7) == "renamed"


@pytest.mark.requirement("language_servers.monorepos.checked")
@pytest.mark.parametrize("seed", [5, 14])
async def test_packages_that_nothing_has_opened_are_renamed_in(tmp_path: Path, seed: int) -> None:
    """gopls says that their files have version 0, which no document has."""
    assert await outcome(tmp_path / "one", "go", seed) == "renamed"


@pytest.mark.requirement("language_servers.monorepos.checked")
@pytest.mark.parametrize("language", GENERATORS)
@pytest.mark.timeout(3600)
async def test_no_rename_of_forty_leaves_an_error(tmp_path: Path, language: str) -> None:
    outcomes = Counter([await outcome(tmp_path / str(seed), language, seed) for seed in range(40)])
    assert outcomes["renamed"] >= 39, outcomes  # false refusals are at most 2%
