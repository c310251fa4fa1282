"""What changes in one file shows in the diagnostics of another, and in whatever way a file is written."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from tests.bridges.lsp.conftest import Place, messages, open_place, serving
from tests.driver.language_servers import copy_of


@dataclass(frozen=True)
class Pair:
    """Two files: `user` has no errors while `used` holds `good`, and an error with `told` when it holds
    `bad`, which has the same length."""

    server: str
    folder: str
    used: str
    good: str
    bad: str
    user: str
    text: str
    told: str


def python(server: str) -> Pair:
    return Pair(
        server, "python", "freight/used.py", "value: int = 1\n", "valve: int = 1\n",
        "freight/user.py", "from freight.used import value\n\nprint(value)\n", "value",
    )  # fmt: skip


def script(server: str) -> Pair:
    return Pair(
        server, "typescript", "src/used.ts", "export const value = 1;\n", "export const valve = 1;\n",
        "src/user.ts", 'import { value } from "./used.js";\n\nexport const two = value * 2;\n', "value",
    )  # fmt: skip


PAIRS = {
    pair.server: pair
    for pair in (
        python("pyright"),
        python("basedpyright"),
        script("typescript-language-server"),
        script("typescript-7"),
        Pair(
            "gopls", "go",
            "used/used.go", "package used\n\nvar Value = 1\n", "package used\n\nvar Valve = 1\n",
            "user/user.go",
            'package user\n\nimport "example.com/freight/used"\n\nvar Two = used.Value * 2\n', "Value",
        ),
        Pair(
            "clangd", "cpp", "include/used.hpp", "inline int value = 1;\n", "inline int valve = 1;\n",
            "src/user.cpp", '#include "used.hpp"\n\nint two() { return value * 2; }\n', "value",
        ),
        Pair(
            "rust-analyzer", "rust",
            "src/carrier.rs", "pub const VALUE: u8 = 1;\n", "pub const VALVE: u8 = 1;\n",
            "src/lib.rs", "pub mod carrier;\n\npub const TWO: u8 = carrier::VALUE * 2;\n", "VALUE",
        ),
    )
}  # fmt: skip


async def told(server: LanguageServer, path: str) -> str:
    return "\n".join(messages(await server.diagnostics(path)))


async def begin(place: Place, pair: Pair) -> LanguageServer:
    place.put(pair.used, pair.good)
    place.put(pair.user, pair.text)
    server = await place.project.server_for(pair.user)
    assert await told(server, pair.user) == ""
    return server


@pytest.mark.requirement("language_servers.freshness.files")
@pytest.mark.parametrize("name", PAIRS)
async def test_a_change_of_one_file_shows_in_another(name: str, tmp_path: Path) -> None:
    pair = PAIRS[name]
    root = copy_of(pair.folder, tmp_path)
    async with open_place(tmp_path, root, declared=serving(pair.server, pair.folder)) as place:
        server = await begin(place, pair)
        for opened in (False, True):
            if opened:
                await server.document(pair.used)
            for _ in range(2):
                place.put(pair.used, pair.bad)
                assert pair.told in await told(server, pair.user), f"broken, {opened=}"
                place.put(pair.used, pair.good)
                assert await told(server, pair.user) == "", f"mended, {opened=}"


@pytest.mark.requirement("language_servers.freshness.files")
@pytest.mark.parametrize("name", PAIRS)
async def test_files_that_come_and_go_show_in_others(name: str, tmp_path: Path) -> None:
    pair = PAIRS[name]
    root = copy_of(pair.folder, tmp_path)
    async with open_place(tmp_path, root, declared=serving(pair.server, pair.folder)) as place:
        server = await begin(place, pair)
        used = place.root / pair.used
        used.unlink()
        assert await told(server, pair.user) != "", "deleted"
        with pytest.raises(ToolError, match=r".") as gone:
            await server.diagnostics(pair.used)
        assert gone.value.code in {"not_found", "file_not_found", "path_not_found"}
        place.put(pair.used, pair.good)
        assert await told(server, pair.user) == "", "created anew"
        if name == "rust-analyzer":
            return  # cargo goes by times: a file older than its last run, moved here during it, is no change
        aside = tmp_path / "aside"
        aside.write_text(pair.bad)
        aside.rename(used)
        assert pair.told in await told(server, pair.user), "replaced by a rename"
        aside.write_text(pair.good)
        aside.rename(used)
        assert await told(server, pair.user) == "", "replaced back"


@pytest.mark.requirement("language_servers.freshness.edit")
@pytest.mark.parametrize("name", ["pyright", "typescript-language-server", "gopls", "json"])
async def test_an_edit_that_a_status_does_not_show_is_seen(name: str, tmp_path: Path) -> None:
    pair = PAIRS.get(name) or Pair(
        "json", "json", "used.json", '{"a": 1 }\n', '{"a": 1 ]\n', "user.json", "{}\n", "Expected"
    )
    root = copy_of(pair.folder, tmp_path)
    async with open_place(tmp_path, root, declared=serving(pair.server, pair.folder)) as place:
        server = await begin(place, pair)
        file = place.root / pair.used
        stamp = file.stat()
        for _ in range(3):
            await server.diagnostics(pair.used)
            place.put(pair.used, pair.bad)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            assert (file.stat().st_size, file.stat().st_mtime_ns) == (stamp.st_size, stamp.st_mtime_ns)
            text = (await server.diagnostics(pair.used)).text
            assert text.text == pair.bad
            place.put(pair.used, pair.good)
            os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            assert (await server.document(pair.used)).text == pair.good


@pytest.mark.requirement("language_servers.freshness.edit")
async def test_what_is_written_during_the_wait_is_what_is_answered_for(tmp_path: Path) -> None:
    pair = PAIRS["pyright"]
    async with open_place(
        tmp_path, copy_of("python", tmp_path), declared=serving("pyright", "python")
    ) as place:
        server = await begin(place, pair)
        for number in range(20):
            asking = asyncio.create_task(server.diagnostics(pair.user))
            for step in range(number % 7):
                await asyncio.sleep(0)
                place.put(pair.user, f"name_{number}_{step}\n")
            found = await asking
            now = (place.root / pair.user).read_text()
            shown = "\n".join(item["message"] for item in found.items)
            if found.fresh and found.text.text == now and now.startswith("name"):
                assert now.strip() in shown
            elif found.fresh:
                assert "name_" not in shown or found.text.text.strip() in shown
            assert now == pair.text or now.strip() in await told(server, pair.user)


@pytest.mark.requirement("language_servers.freshness.files")
async def test_a_folder_that_is_moved_shows_in_others(tmp_path: Path) -> None:
    async with open_place(
        tmp_path, copy_of("python", tmp_path), declared=serving("pyright", "python")
    ) as place:
        place.put("inner/used.py", "value = 1\n")
        place.put("user.py", "from inner.used import value\n\nprint(value)\n")
        server = await place.project.server_for("user.py")
        assert await told(server, "user.py") == ""
        shutil.move(place.root / "inner", place.root / "outer")
        assert "inner" in await told(server, "user.py")
        place.put("user.py", "from outer.used import value\n\nprint(value)\n")
        assert await told(server, "user.py") == ""
        shutil.rmtree(place.root / "outer")
        assert "outer" in await told(server, "user.py")
