"""Each attack, with its control before it and the oracles after it, on each daemon."""

from __future__ import annotations

import pytest

from tests.attacks.all_cases import CASES
from tests.attacks.case import Case
from tests.attacks.conftest import KINDS
from tests.attacks.oracles import Oracles
from tests.attacks.scene import TIERS, Kind

AREAS = {
    "paths",
    "symlinks",
    "races",
    "shell",
    "network",
    "proc",
    "seccomp",
    "environment",
    "http",
    "websocket",
    "project",
    "archives",
    "grep",
    "language-server",
    "debug-adapter",
    "plugin",
    "terminal",
    "web-fetch",
    "root-agent",
}
WITHOUT_CAGES = {"http", "websocket", "project", "web-fetch"}
"""What nothing in a cage has to do with: the same in every tier, so it is tried in one, as each user."""
BY_DAY = 9
"""By day the ordinary user tries each attack on the tier full. Of the attacks by root, and on the lower
tiers, the first of each area and one in so many are tried, others in each of them. By night all are."""


def _cases(kind: Kind) -> list[tuple[int, Case]]:
    """Return the attacks on a daemon of this kind, each with its place among all."""
    return [
        (number, case)
        for number, case in enumerate(CASES)
        if kind.tier in case.tiers and (kind.tier == TIERS[0] or case.area not in WITHOUT_CAGES)
    ]


def _by_day(kind: Kind) -> set[str]:
    full = kind.tier == TIERS[0] and kind.user == "ordinary"
    first = {case.area: case.id for _, case in reversed(_cases(kind))}
    chosen = {case.id for number, case in _cases(kind) if full or number % BY_DAY == TIERS.index(kind.tier)}
    return chosen | set(first.values())


ATTACKS = [
    pytest.param(kind, case, id=f"{kind}-{case.id}", marks=[] if case.id in by_day else [pytest.mark.nightly])
    for kind in KINDS
    for by_day in [_by_day(kind)]
    for _, case in _cases(kind)
]


@pytest.mark.requirement("attacks.tiers")
@pytest.mark.parametrize(("oracles", "case"), ATTACKS, indirect=["oracles"])
def test_an_attack_comes_to_nothing(oracles: Oracles, case: Case) -> None:
    try:
        case.control(oracles.scene)
        case.attack(oracles.scene)
    finally:
        found = oracles.findings()
        assert found == []


@pytest.mark.requirement("attacks.count")
def test_there_are_many_attacks_in_every_area() -> None:
    assert len(CASES) >= 150
    assert len({case.id for case in CASES}) == len(CASES)
    assert {case.area for case in CASES} == AREAS
    assert all(case.attack is not case.control for case in CASES)
    assert all(sum(case.area == area for case in CASES) >= 5 for area in AREAS)


@pytest.mark.requirement("attacks.tiers")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_by_day_each_area_is_tried_in_each_tier(kind: Kind) -> None:
    areas = {case.area for _, case in _cases(kind)}
    assert {case.area for _, case in _cases(kind) if case.id in _by_day(kind)} == areas
    assert areas == (AREAS if kind.tier == TIERS[0] else areas & (AREAS - WITHOUT_CAGES)) != set()
    night = {param.id for param in ATTACKS if param.marks}
    assert not night & {f"{kind}-{one}" for one in _by_day(kind)}
