"""The library of the protocol is imported at the first connection, not by an idle daemon."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.requirement("mcp.client.connections")

SCRIPT = (
    "import sys, app.daemon.lifespan, app.api.application, app.cli.mcp, app.bridges.mcp.manager;"
    "sys.exit(any(name.partition('.')[0] in ('mcp', 'mcp_types') for name in sys.modules))"
)


def test_an_idle_daemon_has_not_imported_the_library() -> None:
    assert subprocess.run([sys.executable, "-c", SCRIPT], check=False, timeout=100).returncode == 0
