"""The folders of the machine over HTTP, among which an operator chooses a project."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon import Daemon, running_daemon, write_project

pytestmark = pytest.mark.requirement("http.folders")
AT = "/api/v1/folders"


async def names(client: httpx2.AsyncClient, path: Path, **query: str | bool) -> list[str]:
    answer = await client.get(AT, params={"path": str(path), **query})
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["items"]]


async def refusal(client: httpx2.AsyncClient, path: str) -> tuple[int, str | None]:
    answer = await client.get(AT, params={"path": path})
    return answer.status_code, answer.json()["error"].get("details", {}).get("reason")


async def test_an_operator_walks_through_folders_and_sees_which_are_projects(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    write_project(place / "shop")
    for name in ("Zoo", "apple", ".hidden", "new\nline"):
        (place / name).mkdir()
    os.mkdir(os.fsencode(place) + b"/caf\xe9")
    (place / "file.txt").write_text("x")
    (place / "link").symlink_to(place / "shop", target_is_directory=True)
    (place / "nowhere").symlink_to(tmp_path / "gone")

    answer = (await client.get(AT, params={"path": f"{place}/../place/"})).json()
    assert (answer["path"], answer["parent"], answer["is_project"]) == (str(place), str(tmp_path), False)
    found = {one["name"]: (one["path"], one["is_project"]) for one in answer["items"]}
    assert found == {
        "Zoo": (f"{place}/Zoo", False),
        "apple": (f"{place}/apple", False),
        "link": (f"{place}/link", True),
        "shop": (f"{place}/shop", True),
    }
    assert ".hidden" in await names(client, place, hidden=True)
    first = (await client.get(AT, params={"path": str(place), "limit": 3})).json()
    rest = await names(client, place, limit="3", cursor=first["next_cursor"])
    assert [one["name"] for one in first["items"]] + rest == sorted(found)
    inside = (await client.get(AT, params={"path": f"{place}/link"})).json()
    assert (inside["path"], inside["is_project"]) == (f"{place}/shop", True)
    loaded = await client.post("/api/v1/projects/load", json={"path": found["shop"][0]})
    assert loaded.status_code == 200
    assert (await client.get(AT, params={"path": "/"})).json()["parent"] is None
    assert (await client.get(AT)).json()["path"] == os.path.realpath(Path.home())


async def test_a_folder_that_cannot_be_listed_is_refused_with_what_to_do(
    client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "file.txt").write_text("x")
    assert await refusal(client, str(tmp_path / "file.txt")) == (409, "not_a_folder")
    assert await refusal(client, str(tmp_path / "gone")) == (404, "path_not_found")
    assert (await refusal(client, "shop"))[0] == 400
    assert await refusal(client, "/tmp/\x00") == (400, "nul_character")


async def test_the_daemon_s_own_folders_are_closed_by_whatever_path(
    client: httpx2.AsyncClient, daemon: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "uploads").mkdir(exist_ok=True)
    assert "data" not in await names(client, tmp_path)
    for path in ("data", "way", "data/uploads", "way/uploads", "data/../data"):
        assert await refusal(client, str(tmp_path / path)) == (403, "folder_closed")


async def test_nobody_but_an_operator_sees_folders(tmp_path: Path) -> None:
    async with running_daemon(tmp_path / "data") as daemon:
        async with daemon.client() as operator:
            made = await operator.post("/api/v1/tokens", json={"name": "eyes", "scope": "read-only"})
        async with daemon.client(token=made.json()["token"]) as reader:
            assert await refusal(reader, str(tmp_path)) == (403, "read_only")
        async with daemon.client(token="") as stranger:
            assert (await stranger.get(AT)).status_code == 401
