"""The files of the page: a browser keeps them, and asks whether they have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.daemon import running_daemon

pytestmark = pytest.mark.requirement("usability.page")


BUILT = Path(__file__).parents[2] / "app" / "api" / "web" / "built" / "static"


async def test_a_file_with_a_digest_in_its_name_is_compressed_and_kept(tmp_path: Path) -> None:
    path = f"/static/{next(BUILT.glob('index-*.js')).name}"
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        plain = await client.get(path, headers={"Accept-Encoding": "identity"})
        smaller = await client.get(path, headers={"Accept-Encoding": "gzip, deflate, zstd"})
        smallest = await client.get(path, headers={"Accept-Encoding": "gzip, BR;q=1.0"})
        refused = await client.get(path, headers={"Accept-Encoding": "gzip;q=0, br;q=0.0"})
        tag = plain.headers["etag"]
        again = await client.get(path, headers={"If-None-Match": f'"other", {tag}'})
        other = await client.get(path, headers={"If-None-Match": '"other"'})

    assert plain.headers["cache-control"] == "max-age=31536000, immutable"
    assert plain.headers["content-type"].startswith("text/javascript")
    assert "content-encoding" not in plain.headers
    assert smaller.headers["content-encoding"] == "gzip"
    assert int(smaller.headers["content-length"]) < len(plain.content) // 2
    assert (smaller.content, smaller.headers["etag"], smaller.headers["vary"]) == (
        plain.content,
        tag,
        "accept-encoding",
    )
    assert smallest.headers["content-encoding"] == "br"
    assert int(smallest.headers["content-length"]) == Path(f"{BUILT / path[8:]}.br").stat().st_size
    assert "content-encoding" not in refused.headers
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert (other.status_code, other.content) == (200, plain.content)


async def test_another_file_is_asked_for_each_time(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        icon = await client.get("/static/icon.svg")
        again = await client.get("/static/icon.svg", headers={"If-None-Match": icon.headers["etag"]})
    assert (icon.headers["cache-control"], icon.headers["content-type"]) == ("no-cache", "image/svg+xml")
    assert again.status_code == 304


async def test_a_page_is_compressed_for_who_takes_that(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        for path in ("/", "/docs"):
            plain = await client.get(path, headers={"Accept-Encoding": "identity"})
            small = await client.get(path, headers={"Accept-Encoding": "gzip"})
            assert "content-encoding" not in plain.headers
            assert small.headers["content-encoding"] == "gzip"
            assert int(small.headers["content-length"]) < len(plain.content)
            assert (small.text, small.headers["content-type"]) == (plain.text, plain.headers["content-type"])


async def test_answers_with_data_are_kept_nowhere(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        for path in ("/", "/api/v1/projects", "/static/absent.js"):
            assert (await client.get(path)).headers["cache-control"] == "no-store"
