"""The proxy keeps up with a direct connection; `python -m bench proxy` has the figures."""

from __future__ import annotations

import pytest

from bench.proxy import LEAST_SHARE, medians


@pytest.mark.requirement("cages.net.speed")
async def test_the_proxy_carries_a_good_part_of_what_goes_straight() -> None:
    straight, through = await medians(100_000_000, 3)
    assert through / straight > LEAST_SHARE / 6, "a sixth of what is promised, for a slow machine under load"
