"""Servers whose diagnostics come from a build: it runs in the cage, and one that fails is no answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.bridges.lsp.manager import Declared
from tests.bridges.conftest import until
from tests.bridges.lsp.conftest import Place, messages, open_place, serving
from tests.driver.language_servers import ROOT, server_command, server_environment, server_path

CRATE = '[package]\nname = "parcel"\nversion = "0.1.0"\nedition = "2021"\n'
LIBRARY = "pub fn weight() -> u8 {\n    scale::read()\n}\n\npub fn twice() -> u16 {\n    weight()\n}\n"
FILES = {
    "Cargo.toml": f'{CRATE}[dependencies]\nscale = {{ path = "scale" }}\n',
    "scale/Cargo.toml": CRATE.replace("parcel", "scale"),
    "scale/src/lib.rs": "pub fn read() -> u8 {\n    1\n}\n",
    "src/lib.rs": LIBRARY,
}


def put_all(place: Place) -> None:
    for path, text in FILES.items():
        place.put(path, text)


async def lock(root: Path, home: Path) -> None:
    """Have cargo write the lock file, as the operator does."""
    cargo = server_path("rust-analyzer").with_name("cargo")
    command = (str(cargo), "generate-lockfile", "--offline")
    made = await asyncio.create_subprocess_exec(*command, cwd=root, env=server_environment(home))
    assert await made.wait() == 0


@pytest.mark.requirement("language_servers.freshness.failed_check", "cages.where.lsp")
async def test_rust_errors_arrive_in_the_default_cage_and_a_missing_lock_file_is_named(
    tmp_path: Path,
) -> None:
    """cargo builds below the home of the cage, as the project is read-only there. Without a Cargo.lock, which
    it may not write, the check fails: no fresh answer, and the words say what to do."""
    async with open_place(tmp_path, declared=serving("rust-analyzer", "rust"), caged=True) as place:
        put_all(place)
        server = await place.project.server_for("src/lib.rs")
        await server.load("src/lib.rs")
        assert not (await server.diagnostics("src/lib.rs")).fresh
        assert "failed to write" in server.problem and "cargo generate-lockfile" in server.problem
        await lock(place.root, tmp_path / "home")
        found = messages(await server.diagnostics("src/lib.rs"))
        assert any("mismatched types" in one for one in found), found
        assert server.problem == ""
        assert {one.name for one in place.root.iterdir()} == {
            "Cargo.lock",
            *(path.split("/")[0] for path in FILES),
        }
        place.put("src/lib.rs", LIBRARY.replace("    weight()", "    weight().into()"))
        assert not messages(await server.diagnostics("src/lib.rs"))


@pytest.mark.requirement("language_servers.freshness.failed_check")
async def test_a_check_that_ends_by_failure_is_no_answer(tmp_path: Path) -> None:
    settings = {"rust-analyzer": {"check": {"extraArgs": ["--nonsense"]}}}
    declared = Declared(language="rust", command=server_command("rust-analyzer"), settings=settings)
    async with open_place(tmp_path, declared=[declared]) as place:
        put_all(place)
        await lock(place.root, tmp_path / "home")
        server = await place.project.server_for("src/lib.rs")
        await server.load("src/lib.rs")
        for text in (LIBRARY, LIBRARY + "\n"):
            place.put("src/lib.rs", text)
            assert not (await server.diagnostics("src/lib.rs")).fresh
            assert "--nonsense" in server.problem


@pytest.mark.requirement("language_servers.freshness.failed_check")
async def test_the_end_of_a_stopped_check_is_no_answer(tmp_path: Path) -> None:
    """rust-analyzer says the same of a check that it stops for a newer one as of one that has ended, and the
    newer one may begin late: on a busy machine its failure was taken for an answer without errors."""
    fake = ROOT / "tests" / "fakes" / "checking_language_server.py"
    command = (sys.executable, str(fake), "rust-analyzer", str(tmp_path))
    settings = {"rust-analyzer": {"check": {"extraArgs": ["--nonsense"]}, "checkOnSave": True}}
    declared = Declared(language="rust", command=command, settings=settings)

    def logged(event: str = "") -> list[Any]:
        lines = (tmp_path / "log").read_bytes().rpartition(b"\n")[0].splitlines()
        return [one for one in map(orjson.loads, lines) if event in {"", one[0]}]

    async with open_place(tmp_path, declared=[declared]) as place:
        place.put("src/lib.rs", LIBRARY)
        server = await place.project.server_for("src/lib.rs")
        await server.load("src/lib.rs")
        place.put("src/lib.rs", LIBRARY + "\n")
        assert not (await server.diagnostics("src/lib.rs")).fresh
        assert "cargo check failed" in server.problem
        asked = len(logged("asked"))
        place.put("src/lib.rs", LIBRARY)
        first = asyncio.create_task(server.diagnostics("src/lib.rs"))
        await until(lambda: len(logged("asked")) > asked)
        place.put("src/lib.rs", LIBRARY + "\n")
        assert not (await server.diagnostics("src/lib.rs")).fresh
        assert not (await first).fresh
        assert "cargo check failed" in server.problem
    ((_, options),) = logged("options")
    assert options["check"] == {"extraArgs": ["--nonsense"]}
    assert options["cargo"] == {"targetDir": True}
    order = [event for event, data in logged() if event == "asked" or data == "begin"]
    assert order == ["asked", "progress"] * (len(order) // 2), "one is asked for after the last has begun"
