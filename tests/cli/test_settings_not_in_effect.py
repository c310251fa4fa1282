"""What an operator sets in vain is said, in the daemon's log and by the doctor."""

from __future__ import annotations

import orjson
import pytest

from app.config import load_settings, settings_not_in_effect
from tests.driver.kaged import DaemonProcess, Home

IN_VAIN = """
[mcp.tickets]
command = ["tickets"]
url = "http://127.0.0.1:9/mcp"
"""


def test_without_configuration_nothing_is_set_without_effect() -> None:
    assert settings_not_in_effect(load_settings(environ={})) == {}


@pytest.mark.needs("cages")
@pytest.mark.requirement("command_line.doctor")
def test_what_has_no_effect_is_reported_at_the_start_and_by_the_doctor(home: Home) -> None:
    home.config.write_text(home.config.read_text() + IN_VAIN)
    keys = {"mcp.tickets"}
    daemon = DaemonProcess(home).start()
    daemon.stop()
    warnings = [line for line in map(orjson.loads, daemon.log().splitlines()) if line["level"] == "warning"]
    told = {line["message"].partition(" is set, but has no effect: ")[0] for line in warnings}
    assert told == keys
    found = {entry["name"]: entry for entry in home.json("doctor")["findings"]}
    assert keys <= found.keys()
    assert {found[key]["status"] for key in keys} == {"absent"}
