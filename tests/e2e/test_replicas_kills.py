"""Ends of an owner, of its network and of the database lose nothing and repeat nothing.

Every acknowledged message and event is there, once and in order, for a client of each daemon. No run is done
twice, as the model counts.
"""

from __future__ import annotations

import asyncio
import logging
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from tests.driver.daemon_process import DaemonProcess
from tests.driver.database_relay import DatabaseRelay
from tests.driver.ledger import Ledger, get_all
from tests.driver.pooler import Pooler
from tests.driver.postgres import PostgresServer
from tests.driver.replicas import WAIT_SECONDS, Replicas, Work, new_session, post, prepared, until
from tests.driver.rounds import SEED, rounds
from tests.driver.stream_follower import StreamFollower
from tests.fakes.provider_server import FakeProvider

ENDS = rounds(10, 50)
"""For two daemons and for three: a hundred in a night."""
log = logging.getLogger("tests.replicas")
KINDS = ("kill", "stop", "stall", "database")


@dataclass
class Cluster:
    """Daemons, each behind a network of its own. The notices of the last one pass no pooler."""

    replicas: Replicas
    server: PostgresServer
    relays: dict[str, DatabaseRelay]
    owner: str = ""
    resumed: Counter[str] = field(default_factory=Counter)
    """How often the run of each posted message was resumed, which asks the model again."""
    seen: str = ""
    """The session as it was last seen."""
    takeovers: dict[str, list[float]] = field(default_factory=dict)

    @property
    def daemon(self) -> DaemonProcess:
        return self.replicas.daemons[self.owner]

    async def end(self, kind: str) -> None:
        """Do something to the owner, wait for the next one, and have the earlier one there again."""
        name, daemon, begun = self.owner, self.daemon, time.monotonic()
        others = [one for key, one in self.replicas.daemons.items() if key != name]
        if kind == "database":
            await asyncio.to_thread(self.server.stop)
            await asyncio.to_thread(self.server.start)
            others = list(self.replicas.daemons.values())
        elif kind == "kill":
            await daemon.kill()
        elif kind == "stop":
            daemon.send_signal(signal.SIGSTOP)
        else:
            self.relays[name].stall()
        found = await self.replicas.until_owner(*others)
        self.owner = next(key for key, one in self.replicas.daemons.items() if one is found)
        self.takeovers.setdefault(kind, []).append(time.monotonic() - begun)
        if kind == "kill":
            await self.replicas.start(name)
        elif kind == "stop":
            daemon.send_signal(signal.SIGCONT)
            await daemon.ready(WAIT_SECONDS)
        elif kind == "stall":
            self.relays[name].resume()
            await daemon.ready(WAIT_SECONDS)


@asynccontextmanager
async def cluster(
    count: int, folder: Path, server: PostgresServer, url: str, model: FakeProvider
) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        replicas = await stack.enter_async_context(prepared(folder, url, model.port))
        pooler = stack.enter_context(Pooler.before(server))
        names = ["first", "second", "third"][:count]
        relays = {name: await stack.enter_async_context(DatabaseRelay.before(server)) for name in names}
        made = Cluster(replicas, server, relays, names[0])
        for name in names:
            listen_url = pooler.url if name == names[-1] else ""
            await replicas.start(name, url=relays[name].url, listen_url=listen_url)
        yield made


@pytest.mark.needs("cages", "pgbouncer")
@pytest.mark.timeout(600 + ENDS * 180)
@pytest.mark.requirement("replicas.takeover", "replicas.fencing", "replicas.streams")
@pytest.mark.parametrize("count", [2, 3])
async def test_ends_of_an_owner_lose_nothing_and_repeat_nothing(
    count: int,
    tmp_path: Path,
    postgres_url: str,
    postgres_server: PostgresServer,
    model: FakeProvider,
) -> None:
    chance = random.Random(SEED + count)
    work = Work.of(model)
    async with cluster(count, tmp_path, postgres_server, postgres_url, model) as daemons:
        async with daemons.daemon.client() as client:
            session_id = await new_session(client, daemons.replicas.project_id)
        ledger = Ledger(session_id, outages=True)
        followers = {
            name: StreamFollower(lambda name=name: daemons.replicas.daemons[name], session_id)  # type: ignore[misc]
            for name in daemons.relays
        }
        async with asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(one.follow()) for one in followers.values()]
            for number in range(ENDS):
                kind = KINDS[number % 4] if number < 4 else chance.choice(KINDS)
                await one_round(daemons, ledger, work, kind, number, chance)
            async with daemons.daemon.client() as client:
                session = await ledger.check(daemons.daemon, client)
                runs = await get_all(client, f"/sessions/{session_id}/runs")
            stored = {seq: text for seq, text in ledger.frames.items() if seq <= session["last_seq"]}
            for follower in followers.values():
                await until(lambda follower=follower: follower.frames.keys() >= stored.keys())  # type: ignore[misc]
            for task in following:
                task.cancel()
    for name, follower in followers.items():
        assert not follower.broken, (name, follower.broken)
        assert follower.resyncs == 0, name
        assert follower.frames == stored, name
        assert list(follower.frames) == sorted(follower.frames), name
    asked = Counter(said for said in work.asked if said.startswith("user: Please"))
    assert all(count <= 1 + daemons.resumed[said] for said, count in asked.items()), (asked, daemons.resumed)
    assert len(work.asked) <= len(runs)
    for kind, seconds in daemons.takeovers.items():
        log.info("%d daemons, %s: takeovers after %s s", count, kind, [round(one, 1) for one in seconds])


async def one_round(
    daemons: Cluster, ledger: Ledger, work: Work, kind: str, number: int, chance: random.Random
) -> None:
    """Post a message, end the owner while it is answered, and bring the session to rest at the next one."""
    async with daemons.daemon.client() as client:
        wish = chance.choice(("Please stall", "Please answer"))
        said = f"{wish}, {number}"
        ledger.acknowledged(await post(client, ledger.session_id, said))
        await asyncio.sleep(chance.uniform(0, 0.5))
    await daemons.end(kind)
    work.answer_all = True
    try:
        await until(lambda: brought_to_rest(daemons, ledger.session_id, said))
    except TimeoutError:
        raise AssertionError(f"after {kind}: {daemons.seen}") from None
    work.answer_all = False


async def brought_to_rest(daemons: Cluster, session_id: str, said: str) -> bool:
    """Do what an operator would do next about the message; return whether the session is idle at its owner.

    After a restart of the database the owner may be another one than at the first look."""
    found = await daemons.replicas.until_owner(*daemons.replicas.daemons.values())
    daemons.owner = next(name for name, one in daemons.replicas.daemons.items() if one is found)
    try:
        async with found.client() as client:
            answer = await client.get(f"/sessions/{session_id}")
            state = answer.json().get("state")
            daemons.seen = answer.text
            if state == "paused":
                resumed = await client.post(f"/sessions/{session_id}/resume")
                daemons.resumed[f"user: {said}"] += resumed.is_success
            elif state == "running" and "stall" in said:
                await client.post(f"/sessions/{session_id}/cancel")
            return bool(state == "idle")
    except httpx2.HTTPError:
        return False  # the daemon or its database is away
