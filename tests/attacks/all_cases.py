"""Every attack of the suite."""

from __future__ import annotations

from tests.attacks import (
    cases_archives,
    cases_environment,
    cases_fetch,
    cases_http,
    cases_links,
    cases_network,
    cases_paths,
    cases_programs,
    cases_project,
    cases_races,
    cases_root_agent,
    cases_search,
    cases_seccomp,
    cases_servers,
    cases_shell,
    cases_terminal,
    cases_websocket,
)
from tests.attacks.case import Case

CASES: tuple[Case, ...] = (
    *cases_paths.CASES,
    *cases_links.CASES,
    *cases_search.CASES,
    *cases_http.CASES,
    *cases_websocket.CASES,
    *cases_project.CASES,
    *cases_archives.CASES,
    *cases_shell.CASES,
    *cases_environment.CASES,
    *cases_network.CASES,
    *cases_seccomp.CASES,
    *cases_servers.CASES,
    *cases_programs.CASES,
    *cases_races.CASES,
    *cases_root_agent.CASES,
    *cases_terminal.CASES,
    *cases_fetch.CASES,
)
