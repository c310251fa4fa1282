"""The program that cargo builds of a file's tests.

Owns: having it built, as a command of the caller, and finding it in what cargo says. Never: running it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from app.bridges.processes.child import SpawnFailed
from app.errors import ToolError
from app.programs import on_path
from app.tools.debug.call import DebugCall
from app.tools.processes.foreign_text import clean, one_line

SECONDS = 600.0
MAX_OUTPUT = 16 * 1024 * 1024
MAX_ERRORS = 4_000
_BUILD = ("test", "--no-run", "--message-format=json", "--quiet")


async def built_test(call: DebugCall, crate: Path, source: Path) -> Path:
    """Return the test program that has a source file, freshly built. Raises ToolError `debug_launch_failed`
    with the compiler's errors."""
    table = call.adapters.table(call.context.project_id, call.context.project_root)
    resolved = await call.aside(table.resolve, "rust")
    processes = call.tooling.processes
    environment = {**call.adapters.environment, "PATH": resolved.env["PATH"]}
    if call.context.cage is not None:
        environment = processes.environment(call.context, environment)
    cargo = await asyncio.to_thread(on_path, "cargo", environment)
    if cargo is None:
        raise ToolError("test_runner_not_found", "cargo is not on the PATH of the daemon: install Rust")
    children = await processes.of_caller(call.context)
    try:
        done = await children.run(
            [str(cargo), *_BUILD],
            owner="build of a test",
            cwd=crate,
            env=environment,
            seconds=SECONDS,
            max_output=MAX_OUTPUT,
        )
    except SpawnFailed as failed:
        raise ToolError("debug_launch_failed", f"cargo cannot be started: {failed.reason}") from None
    messages = list(_messages(done.stdout))
    if done.exit_code != 0 or done.timed_out:
        said = "\n".join(clean(_errors(one), MAX_ERRORS) for one in messages if _errors(one))
        said = said or clean(done.stderr.decode("utf-8", "replace"), MAX_ERRORS)
        raise ToolError("debug_launch_failed", f"the test cannot be built:\n{said[:MAX_ERRORS]}")
    return _program(messages, source)


def _messages(text: bytes) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            found = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(found, dict):
            yield found


def _errors(message: dict[str, Any]) -> str:
    inner = message.get("message")
    if not isinstance(inner, dict) or inner.get("level") != "error":
        return ""
    return str(inner.get("rendered") or inner.get("message") or "")


def _program(messages: list[dict[str, Any]], source: Path) -> Path:
    """The target whose main file is the test's, else the one whose folder the test is in."""
    found: list[tuple[bool, int, Path]] = []
    for one in messages:
        target, program = one.get("target"), one.get("executable")
        if not isinstance(target, dict) or not isinstance(program, str):
            continue
        main = Path(str(target.get("src_path")))
        if main == source or source.is_relative_to(main.parent):
            found.append((main == source, len(main.parts), Path(program)))
    if not found:
        raise ToolError(
            "debug_launch_failed", f"cargo builds no test program that has {one_line(source.name, 200)}"
        )
    return max(found)[2]
