"""Twenty ends of an owner, by SIGKILL and by SIGSTOP: every acknowledged message and frame is there, once."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

import httpx2
import pytest

from tests.driver.ledger import Ledger, get_all
from tests.driver.replicas import WAIT_SECONDS, Work, new_session, post, prepared, until
from tests.driver.rounds import SEED
from tests.fakes.provider_server import FakeProvider

KILLS = 20


@pytest.mark.needs("cages")
@pytest.mark.timeout(300 + KILLS * 180)
@pytest.mark.requirement("replicas.takeover", "replicas.fencing")
async def test_twenty_ends_of_an_owner_lose_nothing_and_repeat_nothing(
    tmp_path: Path, postgres_url: str, model: FakeProvider
) -> None:
    chance = random.Random(SEED)
    work = Work.of(model)
    async with prepared(tmp_path, postgres_url, model.port) as replicas:
        owner, other = "first", "second"
        for name in (owner, other):
            await replicas.start(name)
        async with replicas.daemons[owner].client() as client:
            ledger = Ledger(await new_session(client, replicas.project_id))
        for number in range(KILLS):
            daemon, successor = replicas.daemons[owner], replicas.daemons[other]
            async with daemon.client() as client:
                wish = chance.choice(("Please stall", "Please answer"))
                ledger.acknowledged(await post(client, ledger.session_id, f"{wish}, {number}"))
                await asyncio.sleep(chance.uniform(0, 0.5))
            stops = bool(chance.getrandbits(1))
            if stops:
                daemon.send_signal(signal.SIGSTOP)
            else:
                await daemon.kill()
            await replicas.until_owner(successor)
            if stops:
                daemon.send_signal(signal.SIGCONT)
                await daemon.ready(WAIT_SECONDS)
            else:
                await replicas.start(owner)
            work.answer_all = True
            async with successor.client() as client:
                session = await ledger.check(successor, client)
                if session["state"] == "paused":
                    resumed = await client.post(f"/sessions/{ledger.session_id}/resume")
                    assert resumed.status_code in (200, 201), resumed.text
                await until(lambda: idle(client, ledger.session_id))
            work.answer_all = False
            owner, other = other, owner
        async with replicas.daemons[owner].client() as client:
            await ledger.check(replicas.daemons[owner], client)
            runs = await get_all(client, f"/sessions/{ledger.session_id}/runs")
    assert len(work.asked) <= len(runs)


async def idle(client: httpx2.AsyncClient, session_id: str) -> bool:
    return str((await client.get(f"/sessions/{session_id}")).json()["state"]) == "idle"
