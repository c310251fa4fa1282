"""Each agent has a window, an estimate and compactions of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.driver.small_window import (
    asked_and_answered,
    compactions,
    reads,
    runs_of,
    small,
    texts,
    to,
    verified,
)
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import until

CHILD = """\
  subagents:
    reader:
      description: Reads files.
      model: kid
      system_prompt: project:/prompts/primary.md
      cage: disabled
      tools: { "file.*": { enabled: true } }
"""
MODELS = {"main": ["fake:small"], "kid": ["fake:kid"], "short": ["fake:sum"]}
PRICES = {"fake:small": {"context_window": 100_000}, "fake:kid": {"context_window": 8_000}}
LIMITS = "limits: { max_output_tokens: 500 }\n"


def answers(kid: list[Reply]) -> Any:
    """The root calls its child once; the child reads and answers."""
    root = [
        Reply((ToolCall("agent-reader", {"task": "Read all files."}, id="child"),), usage=None),
        text_reply("So it is.", usage=None),
    ]

    def respond(request: RecordedRequest) -> Reply:
        return (kid if request.json["model"] == "kid" else root).pop(0)

    return respond


@pytest.mark.requirement("compaction.manual", "compaction.threshold", "compaction.keep")
async def test_a_childs_context_is_compacted_and_its_parents_is_not(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.respond = answers([*reads(22), text_reply("All read.", usage=None)])
    async with small(
        tmp_path, settings_overrides, "", CHILD + LIMITS, models=MODELS, prices=PRICES
    ) as driver:
        await driver.run("Have them read")
        assert (await driver.last_run())["state"] == "succeeded"
        made = await compactions(driver)
        assert {one["agent_path"] for one in made} == {"primary.subagents.reader"}
        last = to("kid", fake)[-1]
        asked, answered = asked_and_answered(last)
        assert asked == answered and "c0" not in asked
        assert texts(last)[1:3] == texts(to("kid", fake)[0])[1:3]
        assert "Read all files." in texts(last)[2]  # its task
        everything = (await driver.session_call("GET", "/messages?limit=100&include_superseded=true"))[
            "items"
        ]
        gone = [m for m in everything if m["superseded"]]
        assert gone and {m["agent_path"] for m in gone} == {"primary.subagents.reader"}
        use = {u["agent_path"]: u for u in (await driver.session_call("GET"))["context"]}
        assert use.keys() == {"primary", "primary.subagents.reader"}
        assert use["primary.subagents.reader"]["window"] == 8_000
        await verified(driver, fake, "kid", agent="primary.subagents.reader")
        await verified(driver, fake, "small", agent="primary")


@pytest.mark.requirement("compaction.manual")
async def test_a_childs_context_is_compacted_at_its_next_boundary_when_an_operator_asks(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    held = Hold()
    waiting = Reply((Text("Mo"), held, ToolCall("file_read", {"path": "file9.txt"}, id="c9")), usage=None)
    fake.respond = answers([*reads(5), waiting, text_reply("All read.", usage=None)])
    path = "primary.subagents.reader"
    async with small(
        tmp_path, settings_overrides, "", CHILD + LIMITS, models=MODELS, prices=PRICES
    ) as driver:
        await driver.session_call("POST", "/compact", {"agent_path": path}, status=409)
        async with driver.watching() as watch:
            await driver.post("Have them read")
            await watch.until(lambda f: f["type"] == "message.delta" and f["payload"]["delta"] == "Mo")
            asking = asyncio.create_task(driver.session_call("POST", "/compact", {"agent_path": path}))
            (child,) = runs_of(driver).active.context.controls.children.values()
            await until(lambda: child.context.controls.compactions._waiting)
            held.gate.set()
            made = await asking
            await watch.until(lambda f: f["type"] == "run.ended" and "agent_path" not in f)
        assert (made["outcome"], made["compaction"]["agent_path"]) == ("completed", path)
        done = await watch.until_type("compaction.completed")
        assert done["agent_path"] == path
        assert len(to("kid", fake)[-1].json["messages"]) < len(to("kid", fake)[-2].json["messages"])
