"""What the files of a project declare, searched over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2
import pytest

from app.workspace.any_names import address_of
from tests.driver.daemon import Daemon
from tests.driver.file_reader import FileReader, git, reason
from tests.driver.workspaces import new_workplace

pytestmark = pytest.mark.requirement("http.files")

SHOP = {
    "bakery/basket.py": "class Basket:\n    @staticmethod\n    def total(e):\n        def d(): ...\n",
    "bakery/money.py": "\n\ndef format_money(cents): ...\n\nasync def round_money(cents): ...\n",
    "web/Basket.ts": "export class BasketView {\n  total() {}\n}\ninterface Totals {}\n",
    "shop/main.go": "package shop\n\ntype Basket struct{}\n\nfunc (b Basket) Total() int { return 0 }\n",
    "build/out.py": "def format_money_built(): ...\n",
    "notes.md": "def format_money_note(): ...\n",
    ".gitignore": "/build/\n",
}


def fill(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


async def test_declarations_are_found_by_name_and_what_is_around_it(shop: Path, files: FileReader) -> None:
    fill(shop, SHOP)
    money = (None, "format_money", "function", "bakery/money.py", 3)
    method = ("Basket", "total", "function", "bakery/basket.py", 3)

    assert await files.declared("format_money") == await files.declared("@fmoney") == [money]
    assert await files.declared("money.py format") == [money]
    assert (await files.declared("Money"))[:2] == [
        (None, "round_money", "function", "bakery/money.py", 5),
        money,
    ]
    assert (await files.declared("total"))[:3] == [
        method,
        (None, "Total", "method", "shop/main.go", 5),
        ("BasketView", "total", "method", "web/Basket.ts", 2),
    ]
    assert (await files.declared("total", limit=1)) == [method]
    for written in ("Basket.total()", "Basket::total", "basket total", "@Basket->total"):
        assert (await files.declared(written))[0] == method, written
    assert (await files.declared("BasketView#total"))[0][3] == "web/Basket.ts"
    assert (await files.declared("basket"))[:2] == [
        (None, "Basket", "class", "bakery/basket.py", 1),
        (None, "Basket", "type", "shop/main.go", 3),
    ]
    # The name's own place, though its letter stands before it.
    assert await files.declared("total d") == [("total", "d", "function", "bakery/basket.py", 4)]
    assert await files.declared("zzz") == await files.declared("") == await files.declared(" @ ") == []

    found = await files.symbols("fmoney")
    assert (found["state"], found["reason"], found["searched"], found["complete"]) == ("ok", None, 4, True)
    [hit] = found["items"]
    assert "".join(hit["name"][at] for at in hit["positions"]) == "fmoney"


async def test_what_changes_is_read_again(shop: Path, files: FileReader) -> None:
    fill(shop, SHOP)
    assert await files.declared("format_money")

    (shop / "bakery" / "money.py").write_text("# Moved.\n\n\n\ndef format_money(cents): ...\n")
    (shop / "bakery" / "new.py").write_text("def brand_new(): ...\n")
    (shop / "web" / "Basket.ts").unlink()
    await files.declared_becomes("format_money", [("bakery/money.py", 5)])
    await files.declared_becomes("brand_new", [("bakery/new.py", 1)])
    await files.declared_becomes("BasketView", [])


async def test_names_of_all_kinds_are_data_and_nothing_outside_is_read(
    shop: Path, files: FileReader, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text("def outside_secret(): ...\n")
    (shop / "linked.py").symlink_to(tmp_path / "outside.py")
    (shop / "folder").symlink_to(tmp_path)
    os.mkfifo(shop / "pipe.py")
    hostile = {
        "new\nline.py": "def found_newline(): ...\n",
        "-rule.py": "def found_dash(): ...\n",
        "~tilde.py": "def found_tilde(): ...\n",
        "--config=x.py": "def found_option(): ...\n",
        "id_rsa.py": "def found_plain(): ...\n",
    }
    fill(shop, hostile)
    raw = os.fsencode(shop) + b"/caf\xe9.py"
    Path(os.fsdecode(raw)).write_text("def found_latin(): ...\n")
    (shop / "wide.py").write_bytes("def found_wide(): ...\n".encode("utf-16"))
    (shop / "bidi.sh").write_text("found_\u202e<img> () { :; }\n")
    (shop / "long.js").write_text("function found_minified() {}" + " " * 20_000 + "\n")
    (shop / "broken.py").write_bytes(b"def found_broken(: \0\n")

    for name, text in hostile.items():
        word = text.split()[1].split("(")[0]
        assert await files.declared(word) == [(None, word, "function", address_of(name), 1)]
    assert (await files.declared("found_latin"))[0][3] == "~bytes:Y2Fm6S5weQ"
    assert (await files.declared("found_wide"))[0][3:] == ("wide.py", 1)
    everything = await files.symbols("found", limit=100)
    assert not [one for one in everything["items"] if "\u202e" in one["name"]]
    assert await files.declared("outside") == await files.declared("minified") == []
    assert (everything["state"], everything["complete"]) == ("ok", False)


async def test_the_daemons_own_folder_is_not_searched(
    client: httpx2.AsyncClient, daemon: Daemon, tmp_path: Path
) -> None:
    fill(
        tmp_path,
        {
            ".kaged/project.yaml": "version: 1\nproject: above\n"
            "primary: {model: main, system_prompt: ./p.md, cage: disabled}\n",
            "p.md": "You help.\n",
            "own.py": "def own_shop(): ...\n",
        },
    )
    loaded = await client.post("/api/v1/projects/load", json={"path": str(tmp_path)})
    assert loaded.status_code == 200, loaded.text
    data = daemon.services.settings.daemon.data_dir
    (data / "inner.py").write_text("def own_data(): ...\n")
    os.link(data / "inner.py", tmp_path / "copied.py")
    files = FileReader(client, loaded.json()["id"])

    assert [path for _, _, _, path, _ in await files.declared("own")] == ["own.py"]


async def test_it_says_when_nothing_can_be_known_and_whose_the_files_are(
    client: httpx2.AsyncClient, daemon: Daemon, shop: Path, session_id: str, files: FileReader
) -> None:
    nothing = await files.symbols("basket")
    assert nothing == {
        "items": [],
        "next_cursor": None,
        "total": 0,
        "state": "none",
        "reason": None,
        "searched": 0,
        "complete": True,
    }
    fill(shop, SHOP)
    place = files.at.removesuffix("files") + "symbols"
    await files.declared_becomes("format_money", [("bakery/money.py", 3)], session_id=session_id)
    for session in ("ses_01JZ0000000000000000000000", "x"):
        answer = await client.get(place, params={"q": "x", "session_id": session})
        assert answer.status_code == 404
    assert (await client.get("/api/v1/projects/prj_01JZ0000000000000000000000/symbols")).status_code == 404
    for wrong in ({"q": "x" * 201}, {"q": "x", "limit": 0}, {"q": "x", "limit": 101}):
        assert (await client.get(place, params=wrong)).status_code == 400, wrong


async def test_read_only_tokens_search(
    client: httpx2.AsyncClient, daemon: Daemon, project_id: str, shop: Path
) -> None:
    fill(shop, SHOP)
    made = await client.post("/api/v1/tokens", json={"name": "viewer", "scope": "read-only"})
    async with daemon.client(token=made.json()["token"]) as viewer:
        await FileReader(viewer, project_id).declared_becomes("format_money", [("bakery/money.py", 3)])


async def test_a_session_searches_its_own_workspace(
    client: httpx2.AsyncClient, project_id: str, shop: Path, files: FileReader
) -> None:
    fill(shop, SHOP)
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "first")
    place = await new_workplace(client, project_id)
    own = {"session_id": place.session_id}
    assert await files.declared("format_money", **own) == await files.declared("format_money")

    (place.root / "bakery" / "money.py").write_text("def format_money_here(): ...\n")
    await files.declared_becomes("format_money", [("bakery/money.py", 1)], **own)
    assert [one[4] for one in await files.declared("format_money")] == [3]
    await place.post("keep")
    await place.until_removed()
    where = files.at.removesuffix("files") + "symbols"
    gone = await client.get(where, params={"q": "format_money", **own})
    assert reason(gone) == (409, "workspace_removed")
