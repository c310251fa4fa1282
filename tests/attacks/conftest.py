"""The scenes of the attacks: one daemon for each user and tier, shared by all attacks on it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from app.bridges.sandbox.tier import Tier
from tests.attacks.oracles import Oracles
from tests.attacks.scene import TIERS, Kind, Scene
from tests.driver.machine import need_tier

USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)
KINDS = [Kind(user, tier) for tier in TIERS for user in USERS]


class Scenes:
    """At most one daemon at a time: the attacks come sorted by the kind of theirs."""

    def __init__(self) -> None:
        self._current: Oracles | None = None

    def watched(self, kind: Kind) -> Oracles:
        """Return who watches a daemon of this kind, which is started when another was asked for before."""
        if self._current is None or self._current.scene.kind != kind:
            self.end()
            need_tier(Tier(kind.tier, "the attacks are tried in it"))
            self._current = Oracles(Scene(kind))
            assert self._current.findings() == []
        return self._current

    def end(self) -> None:
        """Stop the daemon. Nothing of it may be left."""
        if self._current is not None:
            scene, self._current = self._current.scene, None
            report = scene.stop()
            scene.place.remove()
            assert report == {"exit_code": 0, "survivors": []}, f"after the attacks on {scene.kind}"


@pytest.fixture(scope="session")
def scenes() -> Iterator[Scenes]:
    scenes = Scenes()
    yield scenes
    scenes.end()


@pytest.fixture
def oracles(request: pytest.FixtureRequest, scenes: Scenes) -> Oracles:
    """Who watches the daemon of the kind that is the parameter."""
    kind: Kind = request.param
    return scenes.watched(kind)
