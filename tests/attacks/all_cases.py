"""Every attack of the suite."""

from __future__ import annotations

from tests.attacks import cases_paths
from tests.attacks.case import Case

CASES: tuple[Case, ...] = (*cases_paths.CASES,)
