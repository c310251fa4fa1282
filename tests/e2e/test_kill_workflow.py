"""kill -9 while a workflow of twenty steps runs: it ends once, and what a step has finished is not repeated.

Each step is a command that writes the name of its call into a file, so that what was executed is known
from outside of the daemon. A call that was cut off may have run: the model is told so, and does the step
again under another name.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import get, get_all
from tests.driver.rounds import SEED, rounds
from tests.driver.sessions import write_project
from tests.e2e.work_script import complaints_about
from tests.fakes.provider_script import Answer, Delay, RecordedRequest, Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider

KILLS = rounds(8, 30)
STEPS = 20
LANES = 2
LEDGER = "ledger.txt"
YAML = """\
version: 1
project: shop
primary:
  model: main
  system_prompt: project:/prompts/primary.md
  cage: disabled
  tools: { shell.bash: { enabled: true } }
workflows:
  count:
    description: Count to twenty.
    system_prompt: project:/prompts/primary.md
    tools: [shell.bash]
"""


class Counting:
    """The model: one command for each step that is not done yet, then a last word."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._calls = count(1)

    def __call__(self, request: RecordedRequest) -> Answer:
        messages = request.json["messages"]
        self.complaints += complaints_about(messages)
        results = [message["content"] for message in messages if message["role"] == "tool"]
        done = sum(not content.startswith("Error") for content in results)
        if done >= STEPS:
            return Reply((Text("Counted."),))
        call_id = f"call_{next(self._calls)}"
        call = ToolCall("shell_bash", {"command": f"echo {call_id} >> {LEDGER}"}, id=call_id)
        return Reply((Text(f"Step {done + 1}."), Delay(0.01), call))


class Lane:
    """One data folder whose daemon is killed again and again."""

    def __init__(self, folder: Path, model: FakeProvider, chance: random.Random) -> None:
        folder.mkdir()
        self.kills = 0
        self.cut_off = 0
        self._data_dir = folder / "data"
        self._root = write_project(folder / "shop", YAML)
        self._config = write_config(folder / "config.toml", model.port)
        self._model = model
        self._chance = chance
        self._start_seconds = 1.0

    async def run(self, kills: int) -> None:
        while self.kills < kills:
            if self._chance.random() < 0.2:
                await self._die_while_starting()
            await self._live()
        daemon = await DaemonProcess.start(self._data_dir, self._config, self._root)
        try:
            async with daemon.client() as client:
                await self._until_over(client)
                await self._check(client)
        finally:
            await daemon.kill()

    async def _die_while_starting(self) -> None:
        """Be killed while the run is taken up again, or just before or after."""
        daemon = await DaemonProcess.spawn(self._data_dir, self._config, self._root)
        await asyncio.sleep(self._start_seconds * self._chance.uniform(0.6, 1.1))
        await daemon.kill()
        self.kills += 1

    async def _live(self) -> None:
        began = time.monotonic()
        daemon = await DaemonProcess.start(self._data_dir, self._config, self._root)
        self._start_seconds = time.monotonic() - began
        try:
            async with daemon.client() as client:
                run = await self._going_on(client, daemon.project_id)
                await asyncio.sleep(self._chance.uniform(0, 0.25))
                if self._chance.random() < 0.5:  # in the middle of a step
                    await self._next_request()
                self.cut_off += (await get(client, f"/workflow-runs/{run}"))["state"] == "running"
                await daemon.kill()
            self.kills += 1
        finally:
            await daemon.kill()

    async def _next_request(self) -> None:
        asked = self._model.request_count
        try:
            await self._model.until_requests(asked + 1, seconds=0.3)
        except TimeoutError:  # the run is over, and asks no more
            return
        await asyncio.sleep(self._chance.uniform(0, 0.04))

    async def _going_on(self, client: httpx2.AsyncClient, project_id: str) -> str:
        """Return the run that goes on; begin one when there is none."""
        newest = (await get(client, "/workflow-runs?limit=1"))["items"]
        if newest and newest[0]["state"] in ("queued", "running"):
            return str(newest[0]["id"])
        answer = await client.post(f"/projects/{project_id}/workflows/count/invoke", json={"inputs": {}})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def _until_over(self, client: httpx2.AsyncClient) -> None:
        async with asyncio.timeout(60):
            while True:
                runs = await get_all(client, "/workflow-runs")
                if all(run["state"] not in ("queued", "running") for run in runs):
                    return
                await asyncio.sleep(0.05)

    async def _check(self, client: httpx2.AsyncClient) -> None:
        executed = Counter((self._root / LEDGER).read_text().split())
        assert set(executed.values()) == {1}, "a call was executed twice"
        runs = await get_all(client, "/workflow-runs")
        sessions = await get_all(client, "/sessions")
        assert sorted(run["session_id"] for run in runs) == sorted(session["id"] for session in sessions)
        ended = Counter(
            row["data"]["run_id"] for row in await get_all(client, "/audit", "event=workflow.ended")
        )
        started = Counter(
            row["data"]["run_id"] for row in await get_all(client, "/audit", "event=workflow.started")
        )
        for run in runs:
            assert run["state"] == "succeeded", run
            assert (ended[run["id"]], started[run["id"]]) == (1, 1)
            whole = await get(client, f"/workflow-runs/{run['id']}")
            assert whole["output"] == "Counted."
            calls = await self._calls(client, run["session_id"])
            finished = [call["call_id"] for call in calls if call["state"] == "succeeded"]
            assert len(finished) == STEPS
            assert all(executed[call_id] == 1 for call_id in finished)
            assert {call["state"] for call in calls} <= {"succeeded", "interrupted"}

    async def _calls(self, client: httpx2.AsyncClient, session_id: str) -> list[dict[str, Any]]:
        found = []
        for run in await get_all(client, f"/sessions/{session_id}/runs"):
            found += (await get(client, f"/runs/{run['id']}"))["tool_calls"]
        return found


@pytest.mark.requirement("workflows.durable")
@pytest.mark.timeout(120 + KILLS * 6)
async def test_a_workflow_that_is_killed_again_and_again_ends_once(tmp_path: Path) -> None:
    model = Counting()
    async with FakeProvider(model, keep_requests=0) as fake, asyncio.TaskGroup() as tasks:
        lanes = [
            Lane(tmp_path / f"lane{number}", fake, random.Random(SEED * LANES + number))
            for number in range(LANES)
        ]
        for lane in lanes:
            tasks.create_task(lane.run(KILLS // LANES))
    assert not model.complaints, model.complaints[:3]
    # The test must have met what it is about: kills in the middle of a run.
    assert sum(lane.cut_off for lane in lanes) > KILLS // 3
