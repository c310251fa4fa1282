"""The scenes of the attacks: one daemon for each user and tier, shared by all attacks on it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.attacks.oracles import Oracles
from tests.attacks.scene import TIERS, Kind, Scene

KINDS = [
    Kind(user, tier)
    for tier in TIERS
    for user in (("root", "ordinary") if os.geteuid() == 0 else ("ordinary",))
]


@pytest.fixture(scope="session", params=KINDS, ids=str)
def oracles(request: pytest.FixtureRequest) -> Iterator[Oracles]:
    """A daemon and who watches it. At the end nothing of it may be left."""
    scene = Scene(request.param)
    try:
        oracles = Oracles(scene)
        assert oracles.findings() == []
        yield oracles
    finally:
        report = scene.stop()
        scene.place.remove()
    assert report == {"exit_code": 0, "survivors": []}
