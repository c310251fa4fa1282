"""The log of a real daemon, with nothing configured: JSON lines in the published format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.kaged import DaemonProcess, Home


def lines_of(daemon: DaemonProcess, event: str) -> list[dict[str, Any]]:
    found = [orjson.loads(line) for line in daemon.log().splitlines()]
    return [line for line in found if line["event"] == event]


@pytest.mark.requirement("observability.logs")
@pytest.mark.parametrize("level", ["info", "debug"])
def test_a_model_call_is_one_json_line_in_the_format_of_the_source(tmp_path: Path, level: str) -> None:
    home = Home(tmp_path)
    home.config.write_text(home.config.read_text() + f'[log]\nlevel = "{level}"\n')
    daemon = DaemonProcess(home).start()
    sent = home.run("send", "read", "--json")
    daemon.stop()

    assert sent.returncode == 0, sent.stderr
    first, second = lines_of(daemon, "agent.generation")
    names = {"level", "event", "session_id", "run_id", "agent", "model", "tokens_in", "tokens_out"}
    names |= {"duration_ms", "tool_calls", "timestamp"}
    for line in (first, second):
        assert names <= line.keys()
        assert line["level"] == "info"
        assert line["agent"] == "primary"
        assert line["model"] == "replay:demo"
        assert line["session_id"].startswith("ses_") and line["run_id"].startswith("run_")
        assert line["timestamp"].endswith("Z")
    assert first["tool_calls"] == ["file.read", "file.read"]
    assert second["tool_calls"] == []
    traced = lines_of(daemon, "agent.trace")
    assert len(traced) == (2 if level == "debug" else 0)
    for line in traced:
        assert "You keep the library." in line["system_messages"]
        assert orjson.loads(line["messages"])[0]["role"] == "user"
    assert not lines_of(daemon, "error")
