"""Every operation of the document, with generated requests, by an operator.

The requests are generated from the document alone, valid ones and broken ones. Most ids in them are
replaced by ones that exist, so that they get past the door. No answer is a 500, and each is one that
the document describes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis

from tests.api.fuzzed_daemon import FuzzedDaemon, fuzzed_daemon
from tests.api.fuzzed_requests import bounded, fuzzed, sent

pytestmark = pytest.mark.requirement("http.document", "daemon.document")


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
@bounded(8)
def test_an_operators_requests_get_documented_answers(case: schemathesis.Case, daemon: FuzzedDaemon) -> None:
    sent(case, daemon, "operator")
