"""The question of `kaged serve` at a terminal: whether to trust the loaded projects.

Owns: asking while the daemon serves, and printing what a project asks for. Never: what trust means.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from app.cli.output import print_text
from app.errors import KagedError

if TYPE_CHECKING:
    from app.daemon.services import Services
    from app.harness.projects.loaded_project import LoadedProject
from collections.abc import Mapping, Sequence
from typing import Any

_SIGNS = {"added": ("+", "yellow"), "removed": ("-", "red")}
_HEADS = {
    "untrusted": "is not trusted, so nothing of it runs. It asks for:",
    "changed": "asks for more than its trusted version, which stays active. Signs mark the changes:",
    "trusted": "is trusted. It is allowed to:",
}
_DECLINED = {
    "untrusted": "It does not run. Trust it later with:",
    "changed": "The trusted version stays active. Trust this one later with:",
}
_LONGEST = 160


def print_acts(root: str, trust: Mapping[str, Any]) -> None:
    """Print what the project at `root` asks for, from the `trust` of the interface."""
    print_text(f"{root} {_HEADS[trust['state']]}", bold=True)
    acts: Sequence[Mapping[str, Any]] = trust["acts"]
    for act in acts:
        sign, color = _SIGNS.get(act["change"] or "", (" ", None))
        place = f"  {act['file']}:{act['line']}" if act["file"] and act["line"] else ""
        text = act["text"] if len(act["text"]) <= _LONGEST else f"{act['text'][:_LONGEST]}…"
        digest = f"  (text {act['digest'][:12]})" if act["digest"] else ""
        print_text(f"{sign} {act['kind'].ljust(11)} {act['where']}: {text}{digest}{place}", color=color)
    if not acts:
        print_text("  nothing", dim=True)


ANSWERS = {"y": "yes", "yes": "yes", "a": "always", "always": "always", "n": "no", "no": "no", "": "no"}
_ACTOR = "terminal"
_LONGEST_LINE = 4096


def at_terminal() -> bool:
    """Tell whether a person can be asked: this process is in the foreground of a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty() and _in_foreground()


async def ask_for_trust(services: Services) -> None:
    """Ask about each project with a version that is not trusted, until the daemon stops."""
    for project in services.projects.all():
        if project.trust.state != "trusted":
            await _ask(services, project)


async def _ask(services: Services, project: LoadedProject) -> None:
    trust = services.projects.wire_trust(project.id)
    print_acts(str(project.root), trust)
    while True:
        print_text("Trust it? y (this version), a (always, with later versions), n (no):", color="yellow")
        line = await _line()
        if line is None:
            return
        answer = ANSWERS.get(line.strip().lower())
        if answer is not None:
            break
    if answer == "no":
        print_text(f"{_DECLINED[trust['state']]} kaged trust {project.root}")
        return
    try:
        await services.decisions.grant(project.id, trust["digest"], always=answer == "always", actor=_ACTOR)
    except KagedError as error:
        print_text(error.message, color="red")
        return
    print_text(f"{project.slug} is trusted.", color="green")


async def _line() -> str | None:
    """Return the next typed line; None at the end of input, or in the background, where reading stops a
    process."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    if not _in_foreground():
        return None
    typed = os.read(sys.stdin.fileno(), _LONGEST_LINE)
    return typed.decode(errors="replace") if typed else None


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False
