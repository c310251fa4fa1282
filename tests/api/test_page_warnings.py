"""The page says beside the daemon's name what does not protect whoever uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.bridges.sandbox.tier import Tier
from app.daemon import cage_setup
from tests.driver.daemon import running_daemon


@pytest.mark.requirement("cages.kernel.off")
@pytest.mark.parametrize(
    ("overrides", "found", "told"),
    [
        ({"sandbox": {"mode": "off"}}, None, ["no sandbox"]),
        ({"sandbox": {"mode": "off"}, "auth": {"mode": "insecure"}}, None, ["no sign-in", "no sandbox"]),
        ({}, Tier("none", "there is <no> bubblewrap", "Install it"), ["no cages"]),
        ({}, Tier("full", "all checks hold"), []),
    ],
)
async def test_the_page_says_what_does_not_protect(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    overrides: dict[str, Any],
    found: Tier | None,
    told: list[str],
) -> None:
    if found is not None:
        monkeypatch.setitem(cage_setup._found, "auto", found)
    async with running_daemon(tmp_path, **overrides) as daemon, daemon.client() as client:
        page = (await client.get("/")).text
    head = page[page.index('id="version"') : page.index("</footer>")]
    assert [words for words in ("no sign-in", "no sandbox", "no cages") if f">{words}</span>" in head] == told
    assert "<no>" not in page
    assert "{warnings}" not in page
