"""`kaged notify test` tries each channel; the doctor names those that are on."""

from __future__ import annotations

import sys

import orjson
import pytest

from tests.driver.kaged import Home

pytestmark = pytest.mark.requirement("notifications.delivery")

CHANNELS = """
[notify.command]
argv = [{python}, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())", {told}]
[notify.webhook]
url = "http://127.0.0.1:9/hook"
secret = "a secret that is long enough"
"""


def test_each_channel_is_tried_once_and_what_fails_is_said(home: Home) -> None:
    nothing = home.run("notify", "test")
    assert nothing.returncode == 1
    assert "No channel is on" in nothing.stderr
    told = home.folder / "told.json"
    with home.config.open("a") as file:
        file.write(CHANNELS.format(python=orjson.dumps(sys.executable).decode(), told=f'"{told}"'))
    tried = home.run("notify", "test", "--json")
    problems = {one["channel"]: one["problem"] for one in orjson.loads(tried.stdout)["results"]}
    assert tried.returncode == 1
    assert problems["command"] is None
    assert "cannot be reached" in problems["webhook"]
    assert orjson.loads(told.read_text())["kind"] == "test"
    findings = orjson.loads(home.run("doctor", "--json").stdout)["findings"]
    found = {one["name"]: one["status"] for one in findings if one["group"] == "notify"}
    assert found == {"webhook": "ok", "command": "ok", "links": "absent"}
