"""The tier is found by trying: what holds, what is seen when something does not, and who says so."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import canary, tier_search
from app.bridges.sandbox.canary import Trial, try_cage
from app.bridges.sandbox.host_support import Host, look_at_host
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.bridges.sandbox.tier_search import find_tier
from app.cages.cage import Cage
from tests.bridges.conftest import descriptors, until

pytestmark = pytest.mark.requirement("cages.kernel.tier")

HOST = Host(
    bubblewrap=Path("/usr/bin/bwrap"),
    landlock=7,
    container=None,
    namespaces_refused=None,
    namespaces_advice=None,
    known_machine=True,
    root=False,
)


class Keeper:
    """Cages of whatever tier is tried, all ended together; `change` is made to each cage before."""

    def __init__(self, children: ChildProcesses) -> None:
        self.children = children
        self.made: list[Cages] = []
        self.tried: list[str] = []

    def __call__(self, tier: Tier) -> Cages:
        self.made.append(Cages(self.children, tier))
        self.tried.append(tier.name)
        return self.made[-1]


@pytest.fixture
async def keeper(children: ChildProcesses) -> AsyncIterator[Keeper]:
    one = Keeper(children)
    yield one
    for cages in one.made:
        await cages.aclose()


@pytest.mark.needs("cages")
async def test_a_machine_with_namespaces_holds_a_cage(keeper: Keeper) -> None:
    await try_cage("full", keeper)
    before = descriptors().keys()
    tier = await find_tier("auto", keeper)
    assert (tier.name, tier.advice) == ("full", None)
    assert "11 of 11" in tier.reason
    assert dict(tier.found)["trial"] == "11 of 11 checks hold"
    for cages in keeper.made:
        await cages.aclose()
    await until(lambda: descriptors().keys() == before)


@pytest.mark.needs("cages")
async def test_a_trial_takes_as_long_as_some_small_programs(keeper: Keeper) -> None:
    """A tenth of a second where a program of Python takes fifteen milliseconds."""
    trials, programs = [], []
    for _ in range(20):  # of a machine that others use, the quietest moments count
        begun = time.perf_counter()
        assert (await try_cage("full", keeper)).holds
        trials.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await keeper.children.run(
            [sys.executable, "-I", "-S", "-c", ""],
            owner="test",
            cwd=Path("/"),
            env={},
            seconds=60.0,
            max_output=100,
        )
        programs.append(time.perf_counter() - begun)
        if len(trials) >= 5 and min(trials) < 20 * min(programs):
            return
    raise AssertionError((trials, programs))


async def test_a_switched_off_sandbox_is_not_tried(keeper: Keeper) -> None:
    tier = await find_tier("off", keeper)
    assert (tier.name, keeper.tried) == ("off", [])


class Leaky:
    """Starts the canary with the daemon's rights, as a cage that does not hold would."""

    def __init__(self, children: ChildProcesses) -> None:
        self._children = children

    async def children(self, key: str, cage: Cage, root: Path) -> Any:
        return self._children

    async def end(self, key: str) -> None:
        pass


@pytest.mark.needs("cages")
async def test_a_cage_that_holds_nothing_back_is_seen(children: ChildProcesses) -> None:
    trial = await try_cage("full", lambda _: Leaky(children))
    failed = dict(trial.failed)
    assert {"other files absent", "network absent", "namespaces own", "system calls refused"} <= failed.keys()
    assert {"granted files read", "granted files written", "processes start"} <= set(trial.passed)
    assert not trial.holds
    tier = await find_tier("full", lambda _: Leaky(children))
    assert tier.name == "none"
    assert "network absent: a port of the host was reached" in tier.reason


async def test_a_landlock_that_holds_nothing_back_is_seen(children: ChildProcesses) -> None:
    failed = dict((await try_cage("landlock", lambda _: Leaky(children))).failed)
    assert {"other files absent", "network absent", "daemon untouchable"} <= failed.keys()


class Lying(Leaky):
    """A cage in which somebody else answers for the canary."""

    def __init__(self, children: ChildProcesses, said: str) -> None:
        super().__init__(children)
        self._said = said

    async def children(self, key: str, cage: Cage, root: Path) -> Any:
        return self

    async def run(self, argv: Sequence[str], **options: Any) -> Any:
        return await self._children.run(["/bin/echo", "-n", self._said], **options)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{",
        '{"passed": [], "failed": {}}',
        '{"passed": 1, "failed": {}}',
        '{"passed": [], "failed": 3}',
    ],
)
async def test_what_says_nothing_of_a_check_has_failed_it(children: ChildProcesses, said: str) -> None:
    trial = await try_cage("full", lambda _: Lying(children, said))
    assert not trial.holds


async def test_what_was_written_is_looked_for_outside(children: ChildProcesses) -> None:
    everything = ", ".join(
        f'"{check.__name__.replace("_", " ")}"' for check in (*canary.EVERYWHERE, *canary.WITH_NAMESPACES)
    )
    trial = await try_cage("full", lambda _: Lying(children, f'{{"passed": [{everything}], "failed": {{}}}}'))
    assert dict(trial.failed) == {"granted files written": "what was written has not arrived"}


async def test_a_cage_that_never_answers_is_given_up(
    children: ChildProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "CANARY_SECONDS", 0.5)

    class Silent(Lying):
        async def run(self, argv: Sequence[str], **options: Any) -> Any:
            return await self._children.run(["/bin/sleep", "60"], **{**options, "seconds": 60.0})

    trial = await try_cage("full", lambda _: Silent(children, ""))
    assert trial.problem == "the trial did not end within 0.5 seconds"


@pytest.mark.parametrize(
    ("host", "reason", "advice"),
    [
        (replace(HOST, bubblewrap=None), "bubblewrap is not installed", "Install bubblewrap"),
        (replace(HOST, known_machine=False), "processor", "x86_64 or aarch64"),
    ],
)
async def test_the_report_says_what_a_machine_lacks(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, host: Host, reason: str, advice: str
) -> None:
    monkeypatch.setattr(tier_search, "look_at_host", lambda: host)
    for mode in ("auto", "full"):
        tier = await find_tier(mode, keeper)
        assert (tier.name, keeper.tried) == ("none", [])
        assert reason in tier.reason
        assert advice in (tier.advice or "")


@pytest.mark.parametrize(
    ("host", "advice"),
    [
        (replace(HOST, container="Docker"), "docker/seccomp.json"),
        (replace(HOST, namespaces_refused="x is 0", namespaces_advice="Set x to 1"), "Set x to 1"),
        (HOST, "kaged doctor"),
    ],
)
async def test_a_cage_that_cannot_be_made_says_what_to_do(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, host: Host, advice: str
) -> None:
    async def refused(*_: object) -> Trial:
        return Trial(problem="bwrap: No permissions to create new namespace")

    monkeypatch.setattr(tier_search, "look_at_host", lambda: host)
    monkeypatch.setattr(tier_search, "try_cage", refused)
    tier = await find_tier("auto", keeper)
    assert tier.name == "none"
    assert "No permissions to create new namespace" in tier.reason
    assert advice in (tier.advice or "")
    assert "without" not in (tier.advice or "")


@pytest.mark.needs("cages")
async def test_an_old_bubblewrap_is_reported_as_one(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> Trial:
        return Trial(problem="bwrap: Unknown option --bind-fd")

    monkeypatch.setattr(tier_search, "try_cage", refused)
    tier = await find_tier("auto", keeper)
    assert tier.name == "none"
    assert "too old" in (tier.advice or "")


@pytest.mark.parametrize("version", [0, 1, 5])
async def test_an_old_landlock_is_not_tried(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    monkeypatch.setattr(tier_search, "look_at_host", lambda: replace(HOST, landlock=version))
    tier = await find_tier("landlock", keeper)
    assert (tier.name, keeper.tried) == ("none", [])
    assert "Linux 6.12" in tier.reason


@pytest.mark.needs("cages")
def test_the_host_is_described() -> None:
    found = dict(look_at_host().findings())
    assert found.keys() == {"bubblewrap", "user namespaces", "landlock", "container", "bounds", "user"}
    assert found["bubblewrap"].endswith("bwrap")
