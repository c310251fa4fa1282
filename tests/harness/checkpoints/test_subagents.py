"""Checkpoints and rollbacks in a tree of agents."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled, write_family
from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider

FAMILY = agent("primary", subagents={"coder": agent("coder", tools=enabled("kaged.checkpoint"))})
CODER = "primary.subagents.coder"


@pytest.fixture
def cast(fake: FakeProvider) -> Cast:
    cast = Cast()
    fake.respond = cast.respond
    return cast


@pytest.fixture
async def family(cast: Cast, tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Driver]:
    root = write_family(tmp_path / "family", FAMILY)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


async def shown(driver: Driver) -> list[tuple[str, str]]:
    return [(m["agent_path"], m["content"]) for m in await driver.messages() if m["role"] != "tool"]


@pytest.mark.requirement("checkpoint.model")
async def test_a_subagents_checkpoint_stops_those_above_it_before_their_next_step(
    family: Driver, cast: Cast
) -> None:
    ask = ("kaged_checkpoint", {"reason": "Is this right?"})
    cast.script("primary", calling(("agent-coder", {"task": "Write."})), text_reply("Thanks."))
    cast.script("coder", calling(ask), text_reply("I wait."))
    async with family.watching() as watch:
        await family.post("Go")
        await watch.until_state("paused")
    (checkpoint,) = (await family.session_call("GET", "/checkpoints"))["items"]
    assert (checkpoint["created_by"], checkpoint["detail"]) == ("model", "Is this right?")
    last = [m for m in await family.messages() if m["agent_path"] == "primary"][-1]
    assert (last["role"], checkpoint["message_cursor"]) == ("tool", last["id"])
    async with family.watching((await family.session_call("GET"))["last_seq"]) as watch:
        await family.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    assert (await shown(family))[-1] == ("primary", "Thanks.")


@pytest.mark.requirement("checkpoint.rollback")
@pytest.mark.requirement("checkpoint.undo")
async def test_a_childs_messages_go_and_come_back_with_the_call_that_they_belong_to(
    family: Driver, cast: Cast
) -> None:
    call = calling(("agent-coder", {"task": "Write."}))
    cast.script("primary", text_reply("Ready."), call, text_reply("Thanks."), text_reply("Yes."))
    cast.script("coder", text_reply("Written."))
    await family.run("Hello")
    await family.run("Go")
    before = await shown(family)
    assert (CODER, "Written.") in before
    messages = [m for m in await family.messages() if m["agent_path"] == "primary"]
    hello, _, go, called, result, _ = messages
    assert (called["role"], result["role"]) == ("primary", "tool")

    # The step with the call is kept, and so is what its child said for it.
    kept = await family.session_call("POST", "/rollback", {"message_id": called["id"]}, status=201)
    assert await shown(family) == before[:-1]
    await family.session_call("POST", f"/rollbacks/{kept['id']}/undo")
    assert await shown(family) == before

    gone = await family.session_call("POST", "/rollback", {"message_id": go["id"]}, status=201)
    assert not [one for one in await shown(family) if one[0] == CODER]
    path = "/messages?include_superseded=true&limit=100"
    superseded = [m for m in (await family.session_call("GET", path))["items"] if m["superseded"]]
    assert {m["superseded_by"] for m in superseded} == {gone["id"]}
    assert CODER in {m["agent_path"] for m in superseded}
    await family.session_call("POST", f"/rollbacks/{gone['id']}/undo")
    assert await shown(family) == before
    assert hello["superseded"] is False
