"""Conflicts that an agent was given and has not resolved: they never reach the checkout."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.sessions import Driver
from tests.driver.workspaces import Workplace, digest_of, git, new_workplace
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("workspaces.merge")
ODD = os.fsdecode(b"caf\xe9.txt")


@pytest.fixture
async def place(driver: Driver, project_root: Path) -> Workplace:
    for name in ("a.txt", ODD):
        (project_root / name).write_text("first\n")
    git(project_root, "add", "-A"), git(project_root, "commit", "-qm", "more")
    return await new_workplace(driver.client, driver.project_id)


async def rest(driver: Driver, place: Workplace, last: str) -> list[dict[str, Any]]:
    """Wait until the agent has said its `last` words, and return the session's messages."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            messages = await driver.client.get(f"/api/v1/sessions/{place.session_id}/messages")
            items: list[dict[str, Any]] = messages.json()["items"]
            if last in {one["content"] for one in items}:
                session = await driver.client.get(f"/api/v1/sessions/{place.session_id}")
                if session.json()["state"] == "idle":
                    return items
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("into", ["working_tree", "main", "other"])
async def test_a_merge_is_refused_while_the_agent_has_left_conflict_markers(
    driver: Driver, fake: FakeProvider, place: Workplace, project_root: Path, into: str
) -> None:
    for root, who in ((place.root, "agent"), (project_root, "user")):
        for name in ("a.txt", ODD):
            (root / name).write_text(f"{who}\n")
    git(project_root, "commit", "-qam", "the user's"), git(project_root, "branch", "other")
    fake.script(text_reply("I cannot."))
    first = await place.merge(conflicts="agent", into=into)
    assert first["given_to_agent"]
    told = await rest(driver, place, "I cannot.")
    before = digest_of(project_root)
    refused = (await place.merge(409, into=into))["error"]["details"]
    assert (refused["reason"], sorted(refused["paths"])) == ("merge_conflicts", sorted(first["conflicts"]))
    assert (await place.merge(into=into, dry_run=True))["conflicts"] == refused["paths"]
    (place.root / "a.txt").write_text("both\n")
    fake.script(text_reply("Nor the other."))
    again = await place.merge(conflicts="agent", into=into)
    (odd,) = again["conflicts"]
    assert again["given_to_agent"] and odd.startswith("~bytes:")
    more = (await rest(driver, place, "Nor the other."))[len(told) :]
    assert f"conflict markers (<<<<<<<, =======, >>>>>>>):\n\n- {odd}\n" in more[0]["content"]
    assert "have no markers" not in more[0]["content"]
    assert digest_of(project_root) == before
    (place.root / ODD).write_text("both\n")
    done = await place.merge(into=into)
    assert done["conflicts"] == [] and "a.txt" in {one["path"] for one in done["files"]}
    if into != "other":
        assert (project_root / ODD).read_text() == "both\n"


@pytest.mark.parametrize(("given", "then"), [("working_tree", "main"), ("main", "working_tree")])
async def test_conflicts_that_are_resolved_are_none_for_a_target_with_the_same_files(
    driver: Driver, fake: FakeProvider, place: Workplace, project_root: Path, given: str, then: str
) -> None:
    for root, who in ((place.root, "agent"), (project_root, "user")):
        (root / "a.txt").write_text(f"{who}\n")
    git(project_root, "commit", "-qam", "the user's")
    fake.script(text_reply("I resolve it."))
    await place.merge(conflicts="agent", into=given)
    await rest(driver, place, "I resolve it.")
    (place.root / "a.txt").write_text("both\n")
    done = await place.merge(into=then)
    assert [one["path"] for one in done["files"]] == ["a.txt"]
    assert (project_root / "a.txt").read_text() == "both\n"


async def test_what_looks_like_a_marker_is_no_conflict_where_none_was_given(
    driver: Driver, fake: FakeProvider, place: Workplace, project_root: Path
) -> None:
    lookalike = f"<<<<<<< {'a' * 40}\n=======\n>>>>>>> {'b' * 40}\n"
    (place.root / "how-to.txt").write_text(lookalike)
    for root, who in ((place.root, "agent"), (project_root, "user")):
        (root / "a.txt").write_text(f"{who}\n")
    git(project_root, "commit", "-qam", "the user's")
    fake.script(text_reply("I resolve it."))
    await place.merge(conflicts="agent")
    await rest(driver, place, "I resolve it.")
    (place.root / "a.txt").write_text("<<<<<<< HEAD\nis what git writes\n>>>>>>> feature\n")
    await place.merge()
    assert (project_root / "how-to.txt").read_text() == lookalike
    assert (project_root / "a.txt").read_text().startswith("<<<<<<< HEAD\n")
