"""Every operation of the document, with generated requests, by strangers and by tokens that may do little."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import schemathesis

from tests.api.fuzzed_daemon import FuzzedDaemon, fuzzed_daemon
from tests.api.fuzzed_requests import bounded, fuzzed, sent

pytestmark = pytest.mark.requirement("http.document", "daemon.document")

EVERYBODY_ELSE = itertools.cycle(("nobody", "wrong", "read-only", "agent", "plugin"))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzedDaemon]:
    with fuzzed_daemon(tmp_path_factory.mktemp("fuzzed")) as daemon:
        yield daemon


@pytest.fixture
def daemon(running: FuzzedDaemon) -> Iterator[FuzzedDaemon]:
    """The daemon with one of everything in it; still well when the requests of one operation are over."""
    running.fill()
    yield running
    assert running.is_alive()


@fuzzed.parametrize()
@bounded(3)
def test_requests_of_strangers_and_bound_tokens_get_documented_refusals(
    case: schemathesis.Case, daemon: FuzzedDaemon
) -> None:
    who = next(EVERYBODY_ELSE)
    answer = sent(case, daemon, who)
    if who in ("nobody", "wrong") and case.operation.definition.raw["security"]:
        assert answer.status_code in (400, 401, 405, 413)
