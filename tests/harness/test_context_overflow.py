"""A conversation that no longer fits: refused, shortened, and the flag that a larger model clears."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.events.sessions import SessionStateChanged
from app.harness.stream.session_stream import SessionStream
from tests.driver.sessions import (
    DRIVERS,
    FEW_TOOLS_YAML,
    Driver,
    check_stream,
    driven,
    provider_settings,
    write_project,
)
from tests.fakes.provider_script import Document, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

LONG = "word " * 3_000

REFUSALS = {
    "openai": Document(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages "
                "resulted in 9000 tokens.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
    ),
    "openai-responses": Document(
        400,
        {
            "error": {
                "message": "Your input exceeds the context window of this model. Please adjust your input.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            }
        },
    ),
    "anthropic": Document(
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 209015 tokens > 200000 maximum",
            },
        },
    ),
    "google": Document(
        400,
        {
            "error": {
                "code": 400,
                "message": "The input token count (1200000) exceeds the maximum number of tokens "
                "allowed (1048576).",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
}


@asynccontextmanager
async def overflowing(
    tmp_path: Path, overrides: dict[str, Any], yaml: str = "", **settings: Any
) -> AsyncIterator[Driver]:
    """A daemon that knows a model with a small window (`small`) and one with a large one (`large`)."""
    models = {"main": ["fake:small"], "large": ["fake:large"]}
    prices = {"fake:small": {"context_window": 5_000}, "fake:large": {"context_window": 100_000}}
    root = write_project(tmp_path / "narrow", FEW_TOOLS_YAML + yaml)
    merged = {**overrides, "models": models, "prices": prices, **settings}
    async with driven(tmp_path / "data", root, **merged) as driver:
        yield driver


@pytest.mark.requirement("loop.pipeline")
async def test_a_request_above_the_window_is_not_sent_and_the_session_is_flagged_until_a_larger_model(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with overflowing(tmp_path, settings_overrides) as driver:
        watch = await driver.run(LONG)
        run = await driver.last_run()
        assert (run["state"], run["reason"], run["step_count"]) == ("failed", "context_overflow", 0)
        assert "the model takes 3750 beside its answer" in str(run["error"])
        assert fake.request_count == 0
        assert not watch.of("message.start", "step.started")
        assert (await driver.session_call("GET"))["context_overflow"] is True
        assert await driver.state() == "idle"

        fake.script(text_reply("That fits."))
        await driver.run("And now?", model="large")
        assert (await driver.last_run())["state"] == "succeeded"
        assert (await driver.session_call("GET"))["context_overflow"] is False


@pytest.mark.requirement("loop.pipeline")
async def test_with_truncate_older_messages_are_left_out_and_pairs_stay_together(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    # Compaction comes first; here it may take nothing away, so that truncating is what is left.
    yaml = "  compaction: { always_keep: [{ role: tool }] }\nlimits: { on_overflow: truncate }\n"
    async with overflowing(tmp_path, settings_overrides, yaml) as driver:
        big = "x" * 20 + " line\n"
        root = Path(driver.daemon.services.projects.root_of(driver.project_id))
        (root / "big.txt").write_text(big * 250)
        calls = [
            Reply((ToolCall("file_read", {"path": "big.txt"}, id=f"c{n}"),), usage=None) for n in range(4)
        ]
        fake.script(*calls, text_reply("Done."))
        watch = await driver.run("Read it again and again")
        check_stream(watch.frames)
        run = await driver.last_run()
        assert (run["state"], run["step_count"]) == ("succeeded", 5)
        last = fake.requests[-1].json["messages"]
        assert last[1]["content"] == "Read it again and again"
        asked = [c["id"] for m in last for c in m.get("tool_calls") or ()]
        answered = [m["tool_call_id"] for m in last if m["role"] == "tool"]
        assert asked == answered
        assert 1 <= len(asked) < 4
        assert asked[-1] == "c3"
        events = [row["event"] for row in (await driver.call("GET", "/audit?limit=100"))["items"]]
        assert "policy.truncated" in events
        assert len(await driver.messages()) == 1 + 2 * 4 + 1  # nothing is deleted


@pytest.mark.requirement("loop.context_length", "providers.errors")
@pytest.mark.parametrize("wire", DRIVERS)
async def test_a_providers_own_refusal_of_the_length_fails_the_run_and_flags_the_session(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], wire: str
) -> None:
    providers = provider_settings(wire, fake.base_url)
    async with overflowing(tmp_path, settings_overrides, providers=providers) as driver:
        fake.script(REFUSALS[wire], text_reply("Better."))
        watch = await driver.run("Hello")
        run = await driver.last_run()
        assert (run["state"], run["reason"]) == ("failed", "context_overflow")
        assert run["error"]["code"] == "context_overflow"
        assert run["error"]["provider"] == "fake"
        assert fake.request_count == 1  # the same request would be refused again
        assert watch.of("message.end")[0]["payload"]["stopReason"] == "error"
        assert (await driver.session_call("GET"))["context_overflow"] is True
        await driver.run("Again", model="large")
        assert (await driver.session_call("GET"))["context_overflow"] is False


@pytest.mark.requirement("loop.context_length")
async def test_with_truncate_a_refusal_of_the_length_is_answered_once_with_a_shorter_request(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    yaml = "limits: { on_overflow: truncate }\n"
    async with overflowing(tmp_path, settings_overrides, yaml, prices={}) as driver:
        fake.script(*(text_reply(f"Answer {n}.") for n in range(4)))
        for n in range(4):
            await driver.run(f"Question {n}: " + "word " * 200)
        fake.script(REFUSALS["openai"], text_reply("Shorter."))
        await driver.run("Last")
        assert (await driver.last_run())["state"] == "succeeded"
        refused, shorter = (r.json["messages"] for r in list(fake.requests)[-2:])
        assert len(shorter) < len(refused)
        assert shorter[1]["content"].startswith("Question 0")
        assert shorter[-1]["content"] == "Last"

        fake.script(REFUSALS["openai"], REFUSALS["openai"])
        await driver.run("Too long still")
        assert (await driver.last_run())["reason"] == "context_overflow"


@pytest.mark.requirement("durability.overflow_flag")
async def test_a_session_is_seen_idle_only_together_with_its_flag(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is seen while the end of the run is on its way into the storage."""
    seen: list[tuple[str, bool]] = []
    record = SessionStream.record

    def looked_at(self: SessionStream, events: Any, work: Any = None, **options: Any) -> Any:
        idle = any(isinstance(one, SessionStateChanged) and one.state == "idle" for one in events)
        if not idle:
            return record(self, events, work, **options)

        async def look_first() -> Any:
            detail = await driver.session_call("GET")
            seen.append((detail["state"], detail["context_overflow"]))
            return await record(self, events, work, **options)

        return asyncio.ensure_future(look_first())

    async with overflowing(tmp_path, settings_overrides) as driver:
        monkeypatch.setattr(SessionStream, "record", looked_at)
        await driver.run(LONG)
        assert (await driver.session_call("GET"))["context_overflow"] is True
    assert seen == [("running", False)]
