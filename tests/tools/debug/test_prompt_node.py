"""Stops of a Node program are told at once, where one call runs it and passes many of them by."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.driver.debug_adapters import adapter_path
from tests.driver.debug_desk import DebugDesk, debug_desk

LOOKS = (
    "import socket\nfound = socket.socket(fileno=0)\nfound.getpeername()\n"
    "delay = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)\n"
    "print(found.getsockname()[1], 'at once' if delay else 'late')\n"
)
PROGRAM = f"""
const {{ readdirSync, readlinkSync }} = require("node:fs");
const {{ spawnSync }} = require("node:child_process");
const port = new URL(require("node:inspector").url()).port;
let state = "late";
const until = Date.now() + 30_000; // a process of its own sets it, beside the program
const fds = () => (state === "late" && Date.now() < until ? readdirSync("/proc/self/fd") : []);
for (let round = fds(); round.length > 0; round = fds()) for (const fd of round) {{
  let link = "";
  try {{ link = readlinkSync(`/proc/self/fd/${{fd}}`); }} catch {{ continue; }}
  if (!link.startsWith("socket:")) continue;
  const stdio = [Number(fd), "pipe", "ignore"];
  const found = spawnSync(process.argv[2], ["-c", {LOOKS!r}], {{ stdio, env: {{}} }}).stdout.toString();
  if (found.startsWith(`${{port}} `)) state = found.trim().split(/ (.*)/)[1];
}}
console.log("the inspector answers", state);
console.log("options", process.env.NODE_OPTIONS.includes("--max-http-header-size=9999"));
null.price;
"""


@pytest.mark.requirement("debugger.why")
@pytest.mark.parametrize("where", ["uncaged", pytest.param("caged", marks=pytest.mark.needs("cages"))])
async def test_the_inspector_does_not_wait_between_the_parts_of_an_answer(tmp_path: Path, where: str) -> None:
    adapter_path("js-debug")
    async with debug_desk(tmp_path) as opened:
        desk: DebugDesk = opened
        python = sys.executable
        if where == "caged":
            desk, python = opened.caged(("ro", "."), capabilities=["exec"]), "/usr/bin/python3"
        opened.put("app.js", PROGRAM)
        found = await desk.debug(
            "why",
            command=f"node app.js {python}",
            env={"NODE_OPTIONS": "--max-http-header-size=9999"},
            timeout=120_000,
        )
        assert "the inspector answers at once" in found["output"], found
        assert "options true" in found["output"]
        assert "price" in found["exception"]["message"]
