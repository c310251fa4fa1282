"""Each attack, with its control before it and the oracles after it, on each daemon."""

from __future__ import annotations

import pytest

from tests.attacks.all_cases import CASES
from tests.attacks.case import Case
from tests.attacks.oracles import Oracles


@pytest.mark.requirement("R8.attacks.tiers")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_attack_comes_to_nothing(oracles: Oracles, case: Case) -> None:
    scene = oracles.scene
    if scene.kind.tier not in case.tiers:
        pytest.skip("not of this tier")
    try:
        case.control(scene)
        case.attack(scene)
    finally:
        found = oracles.findings()
        assert found == []
