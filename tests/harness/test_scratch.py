"""What was too long for an answer is kept in a file for as long as the session is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.sessions import Driver
from tests.harness.laboratory import Laboratory


@pytest.mark.requirement("tools.dispatch", "http.sessions")
@pytest.mark.parametrize("close", [("POST", "/archive"), ("DELETE", "")], ids=["archived", "deleted"])
async def test_what_was_cut_can_be_read_until_the_session_is_closed(
    lab_driver: Driver, lab: Laboratory, tmp_path: Path, close: tuple[str, str]
) -> None:
    driver, text = lab_driver, "long " * 300_000
    lab.release(text)
    cut = await driver.session_call("POST", "/tools/lab.wait", {"params": {"name": text}})
    assert cut["metadata"]["truncated"] is True
    file = Path(cut["metadata"]["output_path"])
    assert text in file.read_text()
    read = await driver.session_call("POST", "/tools/file.read", {"params": {"path": str(file)}})
    assert (read["type"], read["data"]["type"]) == ("output", "file")
    other = (await driver.call("POST", "/sessions", {"project_id": driver.project_id}))["id"]
    refused = await driver.call("POST", f"/sessions/{other}/tools/file.read", {"params": {"path": str(file)}})
    assert refused["type"] == "error"

    await driver.session_call(*close)
    assert not file.exists()
    assert not file.parent.exists()
    assert file.is_relative_to(tmp_path / "data")
