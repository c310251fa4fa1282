"""Turns an HTML page into Markdown, in a child process.

Owns: starting `html_extract`, its deadline, and its answer. Never: parsing HTML in the daemon.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.bridges.processes.child import SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError

SECONDS = 10.0
MAX_OUTPUT = 16 * 1024 * 1024
PROGRAM = Path(__file__).with_name("html_extract.py")


@dataclass(frozen=True, slots=True)
class HtmlText:
    """`markdown` is None where the page was not converted; `problem` says why."""

    title: str | None = None
    markdown: str | None = None
    problem: str | None = None


async def html_text(
    children: ChildStarter,
    environment: Mapping[str, str],
    page: str,
    base_url: str,
    *,
    owner: str,
    seconds: float | None = None,
) -> HtmlText:
    """Return the page as Markdown, its links resolved against `base_url`. Raises ToolError `tool_unavailable`
    when the program cannot be started."""
    limit = SECONDS if seconds is None else seconds
    try:
        done = await children.run(
            [sys.executable, "-I", str(PROGRAM), base_url],
            owner=owner,
            cwd=Path("/"),
            env=environment,
            input=page.encode("utf-8", "replace"),
            seconds=limit,
            max_output=MAX_OUTPUT,
        )
    except SpawnFailed as problem:
        raise ToolError("tool_unavailable", f"HTML cannot be converted here: {problem.reason}") from None
    if done.timed_out:
        return HtmlText(problem=f"its conversion took more than {limit:g} s")
    if done.truncated:
        return HtmlText(problem="its text is too long")
    return _answer(done.stdout)


def _answer(output: bytes) -> HtmlText:
    try:
        found: Any = orjson.loads(output)
    except ValueError:
        return HtmlText(problem="its conversion failed")
    return HtmlText(found.get("title"), found.get("markdown"), found.get("problem"))
