"""A stop within the time that the examples of deployment give, beside a command that refuses to end.

`tests/e2e/test_stopping.py` has a stop beside a silent model.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.examples import seconds_to_stop
from tests.driver.kaged import PROJECT_YAML, WAIT_SECONDS, DaemonProcess, Home

GRACE_SECONDS = 1
TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: wait
    steps:
      - answer:
          - tool_call:
              name: shell.bash
              arguments: { command: "trap '' TERM INT HUP; echo begun > begun; while :; do sleep 0.1; done" }
      - answer:
          - text: Never mind.
"""


def until(condition: Callable[[], bool], what: str) -> None:
    due = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < due, what
        time.sleep(0.02)


@pytest.mark.requirement("deployment.stop")
def test_a_command_that_refuses_to_end_does_not_hold_a_stop_up_and_its_session_can_go_on(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path).give(PROJECT_YAML + '    "shell.bash": { enabled: true }\n', TRANSCRIPT)
    home.config.write_text(f"{home.config.read_text()}shutdown_grace_seconds = {GRACE_SECONDS}\n")
    with DaemonProcess(home).start() as daemon:
        made = {"project_id": daemon.project_id, "mode": "full"}
        session: dict[str, Any] = daemon.call("POST", "/sessions", made)
        daemon.call("POST", f"/sessions/{session['id']}/messages", {"content": "wait"})
        until((home.project / "begun").exists, "the command did not begin")
        begun = time.monotonic()
        daemon.signal(signal.SIGTERM)
        assert daemon.wait() == 0
        assert GRACE_SECONDS <= time.monotonic() - begun < min(seconds_to_stop().values())

    with DaemonProcess(home).start() as daemon:
        found = daemon.newest_session()
        assert (found["state"], found["state_reason"]) == ("paused", "daemon_restart")
        path = f"/sessions/{session['id']}"
        [result] = [row for row in daemon.call("GET", f"{path}/messages")["items"] if row["role"] == "tool"]
        assert result["details"]["isError"]
        daemon.call("POST", f"{path}/resume")
        until(lambda: daemon.newest_session()["state"] == "idle", "the session did not go on")
        last = daemon.call("GET", f"{path}/messages")["items"][-1]
        assert last["content"] == "Never mind."
