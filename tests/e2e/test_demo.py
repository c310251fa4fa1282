"""The demo project: a newcomer asks for the bug to be fixed, and afterwards it is."""

from __future__ import annotations

from typing import Any

import httpx2
import orjson
import pytest

from app.config import load_settings
from app.harness.dsl.compiler import compile_project
from app.harness.providers.drivers.replay.transcript import load_transcript
from tests.driver.demo_daemon import EXAMPLE, Demo
from tests.driver.tool_registry import tool_registry

IN_ONE_LOOP = pytest.mark.asyncio(loop_scope="module")


class Talk:
    """One session, as a client that only looks at the stream sees it."""

    def __init__(self, demo: Demo, client: httpx2.AsyncClient, session: dict[str, Any]) -> None:
        assert demo.daemon is not None
        self.daemon = demo.daemon
        self.client = client
        self.id: str = session["id"]
        self.seq: int = session["last_seq"]

    @classmethod
    async def begin(cls, demo: Demo, client: httpx2.AsyncClient) -> Talk:
        assert demo.daemon is not None
        created = await client.post("/sessions", json={"project_id": demo.daemon.project_id})
        return cls(demo, client, created.raise_for_status().json())

    async def ask(self, text: str) -> list[dict[str, Any]]:
        """Post a message and return all frames until its run has ended."""
        frames = []
        async with self.daemon.websocket(f"/sessions/{self.id}/ws?after_seq={self.seq}") as socket:
            (
                await self.client.post(f"/sessions/{self.id}/messages", json={"content": text})
            ).raise_for_status()
            async for raw in socket:
                frames.append(orjson.loads(raw))
                if frames[-1]["type"] == "run.ended":
                    break
        self.seq = frames[-1]["seq"]
        return frames


def payloads(frames: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [frame["payload"] for frame in frames if frame["type"] == kind]


def said(frames: list[dict[str, Any]], kind: str = "text") -> str:
    return "".join(delta["delta"] for delta in payloads(frames, "message.delta") if delta["kind"] == kind)


@pytest.mark.requirement("demo.walk")
@IN_ONE_LOOP
async def test_the_replayed_agent_reads_finds_edits_and_explains_until_the_tests_pass(demo: Demo) -> None:
    code, output = await demo.tests()
    assert code == 1
    assert "FAILED (failures=1)" in output

    assert demo.daemon is not None
    async with demo.daemon.client() as client:
        frames = await (await Talk.begin(demo, client)).ask("Fix the failing test")

    calls = [(call["name"], call["arguments"]) for call in payloads(frames, "message.tool_call")]
    assert [
        (name, given.get("path") or given.get("command") or given["pattern"]) for name, given in calls
    ] == [
        ("shell.bash", "python3 -m unittest"),
        ("file.read", "tests/test_discounts.py"),
        ("file.read", "bakery/discounts.py"),
        ("file.read", "bakery/basket.py"),
        ("search.grep", r"\bpieces\("),
        ("edit.text", "bakery/basket.py"),
        ("shell.bash", "python3 -m unittest -v"),
    ]
    assert not any(result["isError"] for result in payloads(frames, "message.tool_result"))
    assert "number of keys" in said(frames, "thinking")
    assert "**What I changed.** One line in `bakery/basket.py`" in said(frames)
    ended = payloads(frames, "run.ended")[0]
    assert (ended["state"], ended["steps"]) == ("succeeded", 5)
    assert ended["cost_usd"] > 0
    code, output = await demo.tests()
    assert code == 0, output


@IN_ONE_LOOP
async def test_asked_again_the_agent_finds_that_there_is_nothing_left_to_fix(demo: Demo) -> None:
    assert demo.daemon is not None
    async with demo.daemon.client() as client:
        talk = await Talk.begin(demo, client)
        await talk.ask("fix the failing test")
        again = await talk.ask("Is there another bug?")
        elsewhere = await (await Talk.begin(demo, client)).ask("Why does the test fail?")
    for frames in (again, elsewhere):
        assert payloads(frames, "run.ended")[0]["state"] == "succeeded"
        assert "There is nothing left to fix." in said(frames)
        assert "edit.text" not in [call["name"] for call in payloads(frames, "message.tool_call")]


@IN_ONE_LOOP
async def test_the_agent_explains_the_project_and_writes_a_test_that_passes(demo: Demo) -> None:
    assert demo.daemon is not None
    async with demo.daemon.client() as client:
        talk = await Talk.begin(demo, client)
        explained = await talk.ask("Explain this project")
        written = await talk.ask("Write a missing test")
        twice = await talk.ask("write a test")
    assert "| `receipt.py` | prints the slip of paper |" in said(explained)
    assert [call["name"] for call in payloads(written, "message.tool_call")][-2:] == [
        "file.create",
        "shell.bash",
    ]
    assert "is there already" in said(twice)
    _, output = await demo.tests()
    assert "Ran 8 tests" in output
    assert "failures=1" in output


@IN_ONE_LOOP
async def test_what_the_agent_does_not_know_gets_a_list_of_what_it_does(demo: Demo) -> None:
    assert demo.daemon is not None
    async with demo.daemon.client() as client:
        frames = await (await Talk.begin(demo, client)).ask("Bake me a cake")
        (demo.root / "bakery" / "discounts.py").unlink()
        lost = await (await Talk.begin(demo, client)).ask("Fix the failing test")
    assert "**Fix the failing test**" in said(frames)
    assert "fresh copy" in said(lost)
    assert payloads(lost, "run.ended")[0]["state"] == "succeeded"


@IN_ONE_LOOP
async def test_an_overloaded_provider_is_tried_again_before_the_reader_waits_long(demo: Demo) -> None:
    assert demo.daemon is not None
    async with demo.daemon.client() as client:
        frames = await (await Talk.begin(demo, client)).ask("What happens when the provider is overloaded?")
    assert [retry["error"] for retry in payloads(frames, "model.retry")] == ["overloaded"]
    assert "tried again" in said(frames)


def test_the_demo_compiles_without_a_finding_and_its_transcript_is_valid() -> None:
    settings = load_settings(config_file=EXAMPLE / "config.toml", environ={})
    result = compile_project(EXAMPLE, catalog=tool_registry(), known_models=set(settings.models))
    assert result.diagnostics == ()
    assert result.project is not None
    assert set(result.project.root.children) == {"reviewer", "tester"}
    names = [call.name for step in _steps() for part in step.answer if (call := part.tool_call) is not None]
    assert set(names) == {
        "file.read",
        "file.create",
        "edit.text",
        "search.grep",
        "shell.bash",
        "kaged.ask",
        "kaged.issue",
        "kaged.todo",
    }
    assert set(names) <= set(result.project.root.enabled_tools())


def _steps() -> list[Any]:
    transcript = load_transcript(EXAMPLE / "transcripts" / "demo.yaml")
    return [step for conversation in transcript.conversations for step in conversation.steps]
