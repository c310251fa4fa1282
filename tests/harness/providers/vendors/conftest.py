from __future__ import annotations

import pytest

from tests.harness.providers.vendors.reading import Reader


@pytest.fixture(params=[False, True], ids=["short", "nulls"])
def reader(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Reader:
    """Reads streams whose unset members are left out, and those in which they are null."""
    return Reader(caplog, nulls=request.param)
