"""Opening a file under the rules stays near a plain `open`; `python -m bench path_open` has the figures."""

from __future__ import annotations

import pytest

from app.tools.authorisation.cage_policy import CagePolicy
from app.workspace import Workspace
from bench.path_open import CAGE, GOAL_US, PATH, medians


@pytest.mark.requirement("cages.paths.speed")
def test_opening_under_a_cage_costs_little_above_a_plain_open(tmp_path):
    root = tmp_path / "project"
    file = root / PATH
    file.parent.mkdir(parents=True)
    file.write_text("pass\n")
    workspace = Workspace(root, policy=CagePolicy(CAGE, root), closed=(tmp_path / "data",))
    bare, under_rules = medians(str(file), workspace, PATH, rounds=40)
    assert under_rules - bare < 10 * GOAL_US, "ten times what is promised, for a slow machine under load"
