"""Prompts edited while a session is paused: for this session, with hashes, until they are removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, driven, restarted
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_rollback import paused, say

pytestmark = pytest.mark.requirement("checkpoint.prompts")

FILE = "You keep the shop.\n"
EDITED = "You keep the shop politely.\n"


def system_of(fake: FakeProvider, at: int = -1) -> str:
    first = fake.requests[at].json["messages"][0]
    assert first["role"] == "system"
    content = first["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


async def prompt(driver: Driver) -> dict[str, Any]:
    (found,) = (await driver.session_call("GET", "/prompts"))["items"]
    return found


async def resume(driver: Driver, fake: FakeProvider, answer: str = "Done.") -> None:
    fake.script(text_reply(answer))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")


async def test_an_edit_is_applied_when_the_session_goes_on_and_not_before(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    before = await prompt(driver)
    assert (before["source"], before["content"]) == ("file", FILE)
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    body = {"content": EDITED, "base_hash": before["digest"]}
    edited = await driver.session_call("PUT", path, body)
    assert (edited["source"], edited["pending"], edited["content"]) == ("edited", True, EDITED)
    assert edited["digest"] != before["digest"] == edited["file_digest"]
    assert (await driver.session_call("GET", path))["content"] == EDITED
    shown = await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    (edit,) = shown["edits"]
    assert (edit["old_hash"], edit["new_hash"]) == (before["digest"], edited["digest"])
    assert edit["applied_at"] is None

    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        fake.script(text_reply(" done."))
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    (told,) = watch.of("prompt.reloaded")
    assert told["payload"]["agents"] == ["primary"]
    assert FILE.strip() in system_of(fake, 0)
    assert EDITED.strip() in system_of(fake, 1)
    after = await prompt(driver)
    assert (after["source"], after["pending"]) == ("edited", False)
    assert after["sent"]["blocks"][0] == {"name": "agent", "text": EDITED}
    assert (project_root / "prompts" / "primary.md").read_text() == FILE
    # Another session of the project has the file's text.
    await driver.new_session()
    await say(driver, fake, "Other", "Yes.")
    assert EDITED.strip() not in system_of(fake)


async def test_a_stale_hash_is_refused_with_the_present_one_and_so_is_a_wrong_moment(
    driver: Driver, fake: FakeProvider
) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    stale = (await prompt(driver))["digest"]
    edited = await driver.session_call("PUT", path, {"content": EDITED, "base_hash": stale})
    refused = await driver.session_call("PUT", path, {"content": "Else.", "base_hash": stale}, status=409)
    assert refused["error"]["details"]["present_hash"] == edited["digest"]
    unknown = path.replace("primary", "primary.subagents.nobody")
    await driver.session_call("PUT", unknown, {"content": "x"}, status=404)
    await driver.session_call("GET", unknown, status=404)
    await driver.session_call("PUT", path, {"content": " \n "}, status=400)
    await resume(driver, fake)
    refused = await driver.session_call("PUT", path, {"content": "Too late."}, status=409)
    assert refused["error"]["details"]["state"] == "idle"
    second = await paused(driver, fake, "Two", "Ha")
    refused = await driver.session_call("PUT", path, {"content": "Not here."}, status=409)
    assert second["id"] in refused["error"]["message"]


async def test_an_edit_outlives_a_restart_and_wins_over_a_later_file_until_it_is_removed(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    file = project_root / "prompts" / "primary.md"
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        checkpoint = await paused(driver, fake, "One", "Half")
        path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
        await driver.session_call("PUT", path, {"content": EDITED})
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        await driver.load(project_root)
        driver.session_id = session_id
        assert (await prompt(driver))["pending"] is True
        await resume(driver, fake)
        assert EDITED.strip() in system_of(fake)
    file.write_text("You keep the newer shop.\n")
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        await driver.load(project_root)
        driver.session_id = session_id
        await say(driver, fake, "Two", "Yes.")
        assert EDITED.strip() in system_of(fake)
        await driver.session_call("DELETE", "/prompts/primary", status=204)
        await driver.session_call("DELETE", "/prompts/primary", status=404)
        assert (await prompt(driver))["source"] == "file"
        await say(driver, fake, "Three", "Yes.")
        assert "newer shop" in system_of(fake)


async def test_with_write_the_file_is_changed_for_everybody(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    file = project_root / "prompts" / "primary.md"
    file.chmod(0o640)
    checkpoint = await paused(driver, fake, "One", "Half")
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": "Only for now."})
    written = await driver.session_call("PUT", path, {"content": EDITED, "write": True})
    assert (written["source"], written["content"]) == ("file", EDITED)
    assert file.read_text() == EDITED
    assert file.stat().st_mode & 0o777 == 0o640
    await resume(driver, fake)
    assert EDITED.strip() in system_of(fake)
    await driver.new_session()
    await say(driver, fake, "Other", "Yes.")
    assert EDITED.strip() in system_of(fake)


async def test_an_edit_also_holds_when_the_pause_ends_with_a_rollback_or_a_cancel(
    driver: Driver, fake: FakeProvider
) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": EDITED})
    await driver.session_call("POST", "/rollback", {"checkpoint_id": checkpoint["id"]}, status=201)
    await say(driver, fake, "Two", "Yes.")
    assert EDITED.strip() in system_of(fake)
    second = await paused(driver, fake, "Three", "Ha")
    path = f"/checkpoints/{second['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": "Short.\n"})
    await driver.session_call("POST", "/cancel")
    await say(driver, fake, "Four", "Yes.")
    assert system_of(fake).startswith("Short.")
