"""The files of a project over HTTP: trees of all kinds of entries, and search by name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import httpx2
import pytest

from app.workspace.any_names import address_of
from tests.driver.daemon import Daemon
from tests.driver.file_reader import FileReader, git, reason

pytestmark = pytest.mark.requirement("http.files")


async def test_a_tree_is_paged_in_one_order_and_leaves_out_what_is_ignored(
    shop: Path, files: FileReader
) -> None:
    for name in ("b/two.py", "b/inner/deep.py", "a/one.py", "node_modules/x/index.js", "z.log", ".env"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("x\n")
    (shop / ".gitignore").write_text("node_modules/\n*.log\n")
    (shop / "run").write_text("#!/bin/sh\n")
    (shop / "run").chmod(0o755)
    everything = [".kaged", "a", "b", "prompts", ".env", ".gitignore", "README.md", "run"]

    assert [one["path"] for one in (await files.page())["items"]] == everything
    assert list(await files.entries(limit=1)) == everything
    deep = [one for one in await files.entries(depth=3, limit=2) if one.startswith(("a", "b"))]
    assert deep == ["a", "a/one.py", "b", "b/inner", "b/inner/deep.py", "b/two.py"]

    found = await files.entries(ignored=True)
    assert {name for name, one in found.items() if one["ignored"]} == {"node_modules", "z.log"}
    assert [(one["kind"], one["size"], one["executable"]) for one in (found["run"], found["a"])] == [
        ("file", 10, True),
        ("folder", None, False),
    ]
    inside = await files.entries("node_modules/x")
    assert inside["node_modules/x/index.js"]["ignored"] is True
    assert (await files.page())["git"]["state"] == "none"

    (shop / "c.py").write_text("new\n")
    assert "c.py" in await files.entries()
    wrong = await files.client.get(files.at, params={"cursor": "nonsense"})
    assert wrong.status_code == 400
    refused = await files.client.get(files.at, params={"path": "run"})
    assert reason(refused) == (409, "not_a_folder")
    assert refused.json()["error"]["message"].startswith("run is a file;")


async def test_every_name_can_be_listed_read_and_found(shop: Path, files: FileReader) -> None:
    git(shop, "init", "-q")
    raw = os.fsencode(shop) + b"/caf\xe9 menu.txt"
    names = {
        "new\nline.txt": "1\n",
        "~tilde.txt": "2\n",
        "-dash": "3\n",
        'quo"te.txt': "4\n",
        "ünï.txt": "5\n",
    }
    for name, text in names.items():
        (shop / name).write_text(text)
    Path(os.fsdecode(raw)).write_text("6\n")

    found = await files.entries()
    for name, text in names.items():
        entry = found[address_of(name)]
        assert (entry["name"], entry["git"]) == (name, "untracked")
        for path in (f"./{name}", entry["path"]):
            assert (await files.content(path)).text == text
    latin = found["~bytes:Y2Fm6SBtZW51LnR4dA"]
    assert (latin["name"], latin["git"]) == ("caf\ufffd menu.txt", "untracked")
    content = await files.content(latin["path"])
    assert content.text == "6\n"
    assert content.headers["content-disposition"] == "inline; filename*=utf-8''caf%E9%20menu.txt"
    assert (await files.text(latin["path"]))["path"] == latin["path"]
    assert list(await files.entries(limit=1)) == list(found)
    assert await files.names("menu") == [latin["path"]]
    assert await files.names("new line") == [address_of("new\nline.txt")]
    assert reason(await files.content(address_of(b"no\xffne"))) == (404, "file_not_found")
    for path in ("~bytes:%", address_of(b"/etc/\x01passwd"), address_of(b"../caf\xe9"), address_of(b"a\0b")):
        assert (await files.content(path)).status_code == 400, path


async def test_links_pipes_and_sockets_are_listed_and_lead_nowhere(
    shop: Path, files: FileReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside.txt").write_text("outside\n")
    (shop / "out").symlink_to(tmp_path)
    (shop / "out.txt").symlink_to(tmp_path / "outside.txt")
    (shop / "passwd").symlink_to("/etc/passwd")
    (shop / "inside.md").symlink_to("README.md")
    (shop / "again").symlink_to(".")
    (shop / "broken").symlink_to("nowhere")
    os.mkfifo(shop / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with listener:
        monkeypatch.chdir(shop)  # the name of a socket is short
        listener.bind("socket")
        found = await files.entries(depth=9)

        kinds = {name: one["kind"] for name, one in found.items()}
        assert kinds["pipe"] == kinds["socket"] == "other"
        assert found["inside.md"]["target"] == {"path": "README.md", "kind": "file"}
        assert found["again"]["target"] == {"path": "", "kind": "folder"}
        assert [found[one]["target"] for one in ("out", "out.txt", "passwd", "broken")] == [None] * 4
        assert not [name for name in found if name.startswith(("out/", "again/"))]
        assert (await files.content("inside.md")).text.startswith("# Shop")
        for path in ("out.txt", "passwd", "out/outside.txt", "../outside.txt", "/etc/passwd"):
            refused = await files.content(path)
            assert refused.status_code == 400, path
        assert reason(await files.client.get(files.at, params={"path": "out"})) == (400, "leads_out")
        for path in ("pipe", "socket"):
            assert reason(await files.content(path)) == (400, "invalid_path")
        folder = await files.content("prompts")
        assert reason(folder) == (409, "is_a_folder")
        assert folder.json()["error"]["message"].startswith("prompts is a folder;")
        assert reason(await files.content("none.txt")) == (404, "file_not_found")


async def test_the_daemons_own_folder_is_not_shown(
    client: httpx2.AsyncClient, daemon: Daemon, tmp_path: Path
) -> None:
    """A project above the data folder, and further names of a file in it."""
    (tmp_path / ".kaged").mkdir()
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "p.md").write_text("You help.\n")
    (tmp_path / ".kaged" / "project.yaml").write_text(
        "version: 1\nproject: above\nprimary: {model: main, system_prompt: ./prompts/p.md, cage: disabled}\n"
    )
    loaded = await client.post("/api/v1/projects/load", json={"path": str(tmp_path)})
    assert loaded.status_code == 200, loaded.text
    data = daemon.services.settings.daemon.data_dir
    os.link(data / "token", tmp_path / "copied_token")
    files = FileReader(client, loaded.json()["id"])

    assert data.name not in await files.entries()
    assert await files.names("copied") == []
    assert not [name for name in await files.names("token") if name.startswith(data.name)]
    for path in (data.name, f"{data.name}/token", "copied_token"):
        assert reason(await files.content(path)) == (403, "capability_denied")


async def test_search_finds_what_users_of_editors_expect(shop: Path, files: FileReader) -> None:
    names = [
        "src/api/file_browser.py", "src/api/users.py", "src/UserProfile.tsx", "tests/test_users.py",
        "docs/user guide.md", "lib/stuffbox.txt", "lib/FooBar.ts", "deep/users/index.ts", "other/index.ts",
        "node_modules/users/index.js",
    ]  # fmt: skip
    for name in names:
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("x\n")
        os.utime(shop / name, (1_000_000, 1_000_000))
    (shop / ".gitignore").write_text("node_modules/\n")
    os.utime(shop / "other" / "index.ts", (2_000_000, 2_000_000))

    assert (await files.names("@users.py"))[:2] == ["src/api/users.py", "tests/test_users.py"]
    assert (await files.names("users"))[:2] == ["deep/users", "src/api/users.py"]
    assert (await files.names("users", kind="file"))[0] == "src/api/users.py"
    assert (await files.names("fb"))[0] in ("lib/FooBar.ts", "src/api/file_browser.py")
    assert (await files.names("fb"))[-1] == "lib/stuffbox.txt"
    assert (await files.names("up"))[0] == "src/UserProfile.tsx"
    assert await files.names("api/us") == ["src/api/users.py"]
    assert await files.names("test user") == ["tests/test_users.py"]
    assert (await files.names("index.ts"))[0] == "other/index.ts"
    assert await files.names("zzz") == []
    assert await files.names("deep", kind="folder") == ["deep", "deep/users"]
    assert not [one for one in await files.names("") if one.startswith("node_modules")]

    answer = await files.client.get(f"{files.at}/search", params={"q": "FBrow"})
    [hit] = answer.json()["items"]
    assert "".join(hit["path"][at] for at in hit["positions"]) == "fbrow"

    (shop / "lib" / "brand_new.ts").write_text("x\n")
    (shop / "lib" / "stuffbox.txt").unlink()
    await files.names_become("brandnew", ["lib/brand_new.ts"])
    await files.names_become("stuffbox", [])
    assert (await files.names(""))[0] in ("lib/brand_new.ts", ".gitignore")


async def test_a_folder_of_100_000_files_is_paged_and_searched(shop: Path, files: FileReader) -> None:
    many = shop / "many"
    many.mkdir()
    for number in range(100_000):
        os.close(os.open(f"{many}/f{number:06}", os.O_CREAT | os.O_WRONLY))

    first = await files.page("many")
    assert (first["total"], first["items"][0]["path"], len(first["items"])) == (100_000, "many/f000000", 100)
    second = await files.page("many", cursor=first["next_cursor"])
    assert second["items"][0]["path"] == "many/f000100"
    assert (await files.names("f099999"))[0] == "many/f099999"


async def test_a_session_names_the_folder_that_is_meant(
    client: httpx2.AsyncClient, session_id: str, files: FileReader
) -> None:
    assert "README.md" in await files.entries(session=session_id)
    assert await files.names("readme", session=session_id) == ["README.md"]
    for session in ("ses_01JZ0000000000000000000000", "x"):
        answer = await client.get(files.at, params={"session_id": session})
        assert answer.status_code == 404
