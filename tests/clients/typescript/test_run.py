"""A message followed to the end of its run by the built client: questions, and a token that is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clients.typescript.programs import printed
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import get
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

ASKED = {"summary": "First.", "questions": [{"id": "a", "title": "Which?", "options": [{"label": "x"}]}]}

pytestmark = pytest.mark.requirement("client.typescript")


@pytest.fixture
def asking() -> tuple[Reply, Reply]:
    return Reply((ToolCall("kaged_ask", ASKED),)), text_reply("You chose x.")


async def test_run_answers_a_question_and_returns_the_last_text(
    tmp_path: Path, built: Path, node: list[str], asking: tuple[Reply, Reply]
) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        model.script(*asking, *asking, text_reply("Done."))
        daemon = await DaemonProcess.start(tmp_path / "data", config, root)
        try:
            async with daemon.client() as client:
                made = await client.post("/sessions", json={"project_id": daemon.project_id})
            place = (daemon.url, daemon.token, made.json()["id"])
            answer = json.dumps({"answers": {"a": ["x"]}})
            answered = await printed(node, "run.mjs", built, *place, "Ask", answer)
            needed = await printed(node, "run.mjs", built, *place, "Ask")
            behind = await printed(node, "run.mjs", built, *place, "Behind it")
            async with daemon.client() as client:
                stored = await get(client, f"/sessions/{place[2]}/messages")
            first = await printed(node, "run.mjs", built, *place, "After it", answer)
            wrong = (daemon.url, "wrong-token", place[2])
            refused = await printed(node, "run.mjs", built, *wrong, "Ask")
        finally:
            await daemon.stop()

    assert answered == {"text": "You chose x.", "state": "succeeded", "asked": ["ask"]}
    assert needed["name"] == "AnswerNeeded" and needed["id"].startswith("itx_")
    assert behind == needed, "an open question is found before anything is posted"
    assert "Behind it" not in [message["content"] for message in stored["items"]]
    assert first == {"text": "Done.", "state": "succeeded", "asked": ["ask"]}
    assert refused == {"name": "KagedError", "code": "unauthenticated", "status": 401}
