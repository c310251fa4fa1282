"""The files of the page: a browser keeps them, and asks whether they have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.daemon import running_daemon

pytestmark = pytest.mark.requirement("usability.page")


async def test_a_file_of_the_page_is_compressed_and_sent_once(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        plain = await client.get("/static/app.js", headers={"Accept-Encoding": "identity"})
        small = await client.get("/static/app.js", headers={"Accept-Encoding": "br;q=1.0, gzip"})
        refused = await client.get("/static/app.js", headers={"Accept-Encoding": "gzip;q=0"})
        tag = plain.headers["etag"]
        again = await client.get("/static/app.js", headers={"If-None-Match": f'"other", {tag}'})
        other = await client.get("/static/app.js", headers={"If-None-Match": '"other"'})

    assert plain.headers["cache-control"] == "no-cache"
    assert plain.headers["content-type"].startswith("text/javascript")
    assert "content-encoding" not in plain.headers
    assert small.headers["content-encoding"] == "gzip"
    assert int(small.headers["content-length"]) < len(plain.content) // 2
    assert (small.content, small.headers["etag"], small.headers["vary"]) == (
        plain.content,
        tag,
        "accept-encoding",
    )
    assert "content-encoding" not in refused.headers
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert (other.status_code, other.content) == (200, plain.content)


async def test_answers_with_data_are_kept_nowhere(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as daemon, daemon.client() as client:
        for path in ("/", "/api/v1/projects", "/static/absent.js"):
            assert (await client.get(path)).headers["cache-control"] == "no-store"
