"""Generated requests for every operation of the document, and the judgement of their answers.

Owns: which operations, how many requests, sending one, and the checks. Never: the daemon (`fuzzed_daemon`).
"""

from __future__ import annotations

import zlib

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.fuzzed_daemon import REPOSITORY, WAIT_SECONDS, FuzzedDaemon
from tests.driver.rounds import NIGHT, rounds

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)

TAKING_AWAY = ("/archive", "/rollback", "/reload", "/load")

document = schemathesis.openapi.from_path(str(REPOSITORY / "openapi" / "openapi.json"))
# What it makes useless is what the other requests need; tests/api/test_access.py has them.
fuzzed = document.exclude(operation_id=["create_launch_link"])


def bounded(examples: int) -> settings:
    """By day as many cases for each operation, always the same ones; by night ten times as many others."""
    return settings(
        max_examples=rounds(examples, 10 * examples),
        derandomize=not NIGHT,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def sent(case: schemathesis.Case, daemon: FuzzedDaemon, who: str) -> schemathesis.Response:
    """Send the request as `who` and check the answer against the document."""
    parts = (case.path_parameters, case.query, case.body)
    choice = zlib.crc32(repr(parts).encode("utf-8", "replace")) % 4
    for part in parts:
        daemon.name_what_exists(part, choice)
    token = daemon.tokens[who]
    headers = {"authorization": f"Bearer {token}"} if token else {}
    daemon.lacking |= case.method == "DELETE" or case.operation.path.endswith(TAKING_AWAY)
    # By itself it waits for ten seconds only.
    answer = case.call(base_url=daemon.url, headers=headers, allow_redirects=False, timeout=WAIT_SECONDS)
    case.validate_response(answer, checks=list(CHECKS))
    return answer
