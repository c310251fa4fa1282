"""Every attack of the suite."""

from __future__ import annotations

from tests.attacks import cases_http, cases_links, cases_paths, cases_search, cases_websocket
from tests.attacks.case import Case

CASES: tuple[Case, ...] = (
    *cases_paths.CASES,
    *cases_links.CASES,
    *cases_search.CASES,
    *cases_http.CASES,
    *cases_websocket.CASES,
)
