"""The attacks on cages, in a container of each tier: one daemon for all attacks on a tier, as on a host."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from tests.attacks import oracles as watching
from tests.attacks.all_cases import CASES
from tests.attacks.case import Case, worked
from tests.attacks.commands import run
from tests.attacks.oracles import LEFT_BEHIND, Oracles, processes_with
from tests.attacks.scene import TIERS, TierName
from tests.attacks.test_attacks import WITHOUT_CAGES
from tests.container.attacked import ContainerScene
from tests.container.engine import built

PYTHON_SERVER = "literal-of-a-denied-file"
"""These attacks ask a language server for Python, which only the full image has."""
ATTACKS = [
    pytest.param(tier, case, id=f"{tier}-{case.id}")
    for tier in TIERS
    for case in CASES
    if tier in case.tiers
    and case.area not in WITHOUT_CAGES
    and (built().endswith(":full") or tier != "full" or not case.name.startswith(PYTHON_SERVER))
]
HARM = """
cat <outside>/secret.txt
echo x > <outside>/made.txt
/usr/bin/python3 -c 'import socket; socket.create_connection(("127.0.0.1", <port>))'
(setsid sleep <left> &) >/dev/null 2>&1 </dev/null
"""


class Containers:
    """At most one container at a time: the attacks come sorted by their tier."""

    def __init__(self, image: str) -> None:
        self._image = image
        self._current: Oracles | None = None

    def watched(self, tier: TierName) -> Oracles:
        if self._current is None or self._current.scene.kind.tier != tier:
            self.end()
            self._current = Oracles(ContainerScene(tier, self._image))
            assert self._current.findings() == []
        return self._current

    def end(self) -> None:
        if self._current is not None:
            scene, self._current = self._current.scene, None
            report = scene.stop()
            scene.place.remove()
            assert report == {"exit_code": 0, "survivors": []}, f"after the attacks on {scene.kind}"


@pytest.fixture(scope="module")
def containers(image: str) -> Iterator[Containers]:
    containers = Containers(image)
    yield containers
    containers.end()


@pytest.mark.requirement("image.attacks")
@pytest.mark.parametrize(("tier", "case"), ATTACKS)
def test_an_attack_in_a_container_comes_to_nothing(
    containers: Containers, tier: TierName, case: Case
) -> None:
    oracles = containers.watched(tier)
    try:
        case.control(oracles.scene)
        case.attack(oracles.scene)
    finally:
        assert oracles.findings() == []


@pytest.mark.requirement("image.attacks")
def test_what_an_agent_without_a_cage_does_in_the_container_is_seen(
    containers: Containers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the oracles look for would be seen from here, if a cage in the container let it happen."""
    monkeypatch.setattr(watching, "PATIENCE", 0.2)
    scene = (oracles := containers.watched(TIERS[-1])).scene
    port = str(scene.listeners.tcp[1])
    worked(run(scene, "primary", HARM.replace("<port>", port).replace("<left>", LEFT_BEHIND)))
    scene.listeners.settle(1)
    try:
        found = oracles.findings()
    finally:
        for line in processes_with(LEFT_BEHIND):
            os.kill(int(line.split()[0]), signal.SIGKILL)
        containers.end()
    for beginning in ("said a canary", "something outside", "a listener was reached", "a process survived"):
        assert any(finding.startswith(beginning) for finding in found), (beginning, found)
