"""Tests of Node, whose runner tells what has failed, as Python's do.

Owns: giving the runner the reporter that stops the debugger, and reading what it tells there: where the tests
begin, and each failure as text. Never: which failure an answer has.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from app.bridges.dap.manager import THROWN
from app.errors import ToolError
from app.tools.debug.one_run import OneRun, Preparation
from app.tools.debug.parameters import DebugParams
from app.tools.debug.program_command import read_command
from app.tools.debug.project_test import Runner, read_test
from app.tools.processes.foreign_text import clean, one_line

MAX_TOLD = 40_000
MAX_MESSAGE = 2_000
MAX_TYPE = 200
MAX_FRAMES = 60
MAX_PATH = 4_096
_TELLS = "kagedTells"
"""The function of the reporter in which the program stands when it tells something."""
_NODE = (
    "--test-reporter=spec --test-reporter-destination=stdout "
    "--test-reporter={} --test-reporter-destination=stderr"
)
_ARGUMENTS: Mapping[Runner, str] = {"vitest": "--reporter", "jest": "--reporters"}
BEGINNING = frozenset(_ARGUMENTS)
"""Runners that tell where the tests begin. What they throw before does not matter."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the reporter tells. `frames` are like the protocol's, without ids, the innermost first. `begins`:
    the tests do."""

    begins: bool = False
    type: str | None = None
    message: str | None = None
    frames: tuple[dict[str, Any], ...] = ()


def have_told(run_of: Preparation, reporter: str) -> Runner | None:
    """Have the runner of tests tell of failures, and return which one it is; None for another program."""
    runner, request = _runner(run_of.call.params), run_of.request
    if runner is None or request.runtime != "node":
        return None
    if runner == "node":
        options = tuple(one.format(reporter) for one in _NODE.split())
        run_of.request = replace(request, options=(*request.options, *options))
    elif runner in _ARGUMENTS:
        option = _ARGUMENTS[runner]
        chosen = any(one.partition("=")[0] == option for one in request.args)
        usual = () if chosen else (f"{option}=default",)
        run_of.request = replace(request, args=(*request.args, *usual, f"{option}={reporter}"))
    else:
        return None
    return runner


def _runner(params: DebugParams) -> Runner | None:
    """Return the runner that a call names, by a test or by a command line."""
    if params.test is not None:
        return read_test(params.test, params.runner).runner
    return read_command(params.command, params.runtime).runner if params.command is not None else None


async def told(run: OneRun) -> Told | None:
    """Return the failure that the reporter reports at this stop; None at other stops."""
    frame = run.stop.frame
    if frame is None or str(frame.get("name", "")).rpartition(".")[2] != _TELLS:
        return None
    try:
        answer = await run.call.ask("evaluate", expression="told", frameId=frame["id"], context="repl")
    except ToolError:
        return None
    text = clean(answer.get("result"), MAX_TOLD).strip("'\"`")
    return _read(text) if text else Told(begins=True)


def place_of(run: OneRun) -> tuple[str, int]:
    """Return the file and the line in which the program stands."""
    frame = run.stop.frame or {}
    source = frame.get("source")
    return str(source.get("path") if isinstance(source, dict) else None), int(frame.get("line") or 0)


async def thrown_before(run: OneRun) -> int:
    """Return how many errors the program has thrown where it stands, as far as that is known."""
    frame = run.stop.frame or {}
    try:
        answer = await run.call.ask(
            "evaluate", expression=f"{THROWN}.count", frameId=frame.get("id"), context="repl"
        )
    except ToolError:
        return 0
    text = one_line(answer.get("result"), MAX_TYPE)
    return int(text) if text.isascii() and text.isdecimal() else 0


def _read(text: str) -> Told | None:
    try:
        found = orjson.loads(base64.b64decode(text, validate=True))
    except (binascii.Error, orjson.JSONDecodeError):
        return None
    if not isinstance(found, dict):
        return None
    stack = found.get("stack")
    lines = stack.split("\n")[:MAX_FRAMES] if isinstance(stack, str) else []
    return Told(
        type=one_line(found.get("type"), MAX_TYPE) or None,
        message=clean(found.get("message"), MAX_MESSAGE).strip() or None,
        frames=tuple(_frames(lines)),
    )


def _frames(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return the frames of a stack as V8 writes it: `at name (path:line:column)`, `at path:line:column`."""
    frames = []
    for line in lines:
        text = line.strip().removeprefix("at ").removeprefix("async ")
        name, bracket, place = text.rpartition(" (")
        place = place.removesuffix(")") if bracket else text
        path, _, rest = place.removeprefix("file://").rpartition(":")
        path, _, number = path.rpartition(":")
        if not (number.isascii() and number.isdecimal() and rest.isdecimal()):
            continue
        if len(number) < 10 and len(path) <= MAX_PATH and Path(path).is_absolute():
            frames.append({"name": name, "line": int(number), "source": {"path": path}})
    return frames
