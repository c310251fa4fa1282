"""The built-in watchdogs: destructive and exfiltrating commands, files that run code later, secrets in
requests.

Owns: combining the judgements of all parts of a call, by names and words. Never: what a running program does
(the sandbox).
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from pydantic import BaseModel

from app.cages.file_grants import FileGrants
from app.cages.protected_names import ENVIRONMENT_MARK, soft_part
from app.tools.authorisation.danger_commits import CommitWatchdog
from app.tools.authorisation.danger_daemon import DaemonWatchdog, filled_in, judge_trust
from app.tools.authorisation.danger_destructive import judge_guess, judge_part, judge_redirect, judge_script
from app.tools.authorisation.danger_leaks import judge_leaks
from app.tools.authorisation.danger_requests import RequestWatchdog
from app.tools.authorisation.shell_guesses import guesses_of
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.shell_script import Part
from app.tools.authorisation.subjects import real_path
from app.tools.authorisation.watchdog import ALLOW, Verdict, Watchdog
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.workspace.folder_rules import ProjectRules

LONG_COMMAND = 2_000
_SUSPICIOUS = re.compile(
    r"\brm\s+-\w*[rR]|\bmkfs|\bdd\s(?>(?:(?!\bdd\s|of=/dev/).)*)of=/dev/|\bsudo\b|\bshutdown\b|\breboot\b"
    r"|\b(?:curl|wget)\b(?>(?:(?!\b(?:curl|wget)\b)[^|\n])*)\||/dev/tcp/|\.ssh/|/etc/shadow",
    re.DOTALL,
)
_STEERING = frozenset({".git", ".kaged"})


class CommandWatchdog:
    """Judges the command lines that a call would run."""

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        verdicts = []
        for command in effects.commands:
            verdict = await _judged(command, context.project_root)
            meant = filled_in(command, effects.environment)
            if meant != command and verdict.action != "deny":
                verdict = _stricter(verdict, await _judged(meant, context.project_root))
            verdicts.append(verdict)
        return worst(verdicts)


class FileWatchdog:
    """Asks before a file tool writes files that git runs, that restrict the agent, or that other programs
    obey. A path that the cage names is not asked about."""

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        if effects.commands or not effects.writes:
            return ALLOW
        real = await asyncio.to_thread(_real_paths, context.project_root, effects.writes)
        steering = tuple(path for path in real if _steers(path))
        if steering:
            reason = f"{steering[0]} decides what git runs by itself, or what this agent may do"
            return Verdict("ask", reason, steering)
        obeyed = await asyncio.to_thread(_obeyed, real, context)
        if not obeyed:
            return ALLOW
        return Verdict("ask", f"{obeyed[0]} is read or run by other programs automatically", obeyed)


def built_in(data_dir: Path, *, home: Path) -> tuple[Watchdog, ...]:
    """Return the watchdogs that a daemon with this data folder has. `home` is that of its user."""
    return (
        CommandWatchdog(),
        DaemonWatchdog(data_dir, home=home),
        FileWatchdog(),
        RequestWatchdog(),
        CommitWatchdog(data_dir),
    )


async def _judged(command: str, root: Path) -> Verdict:
    if len(command) > LONG_COMMAND:
        return await asyncio.to_thread(judge_command, command, root)
    return judge_command(command, root)


def _stricter(verdict: Verdict, other: Verdict) -> Verdict:
    """Return the stricter of two, the first when they are alike."""
    return other if other.action == "deny" or verdict.action == "allow" else verdict


def judge_command(command: str, root: Path) -> Verdict:
    """Judge one command line. Takes time in proportion to its length."""
    script = read_script(command)
    found = [judge_script(script), judge_leaks(script)]
    found += [judge_part(part, root) for part in script.parts]
    found += [judge_trust(part) for part in script.parts]
    found += [_judge_guess(guess, part, root) for part in script.parts for guess in guesses_of(part)]
    found += [judge_redirect(redirect) for redirect in script.redirects]
    if not script.readable and _SUSPICIOUS.search(command):
        found.append(Verdict("ask", "this command cannot be parsed reliably, and looks dangerous"))
    if any(redirect.path.text.startswith(("/dev/tcp/", "/dev/udp/")) for redirect in script.redirects):
        found.append(Verdict("deny", "it connects a shell's input or output to another machine"))
    return worst([verdict for verdict in found if verdict is not None])


def _judge_guess(guess: Part, part: Part, root: Path) -> Verdict | None:
    """Judge what a part may run. The question is about the part."""
    verdict = judge_trust(guess) or judge_guess(guess, root)
    if verdict is None:
        return None
    return Verdict("ask", f"`{part.text[:200]}` may run this. {verdict.reason}", (part.text,))


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return a denial if there is one, else all that should be asked about in one."""
    for verdict in verdicts:
        if verdict.action == "deny":
            return verdict
    asks = [verdict for verdict in verdicts if verdict.action == "ask"]
    if not asks:
        return ALLOW
    reasons = "; ".join(dict.fromkeys(verdict.reason for verdict in asks))
    if not all(verdict.subjects for verdict in asks):
        return Verdict("ask", reasons)
    return Verdict("ask", reasons, tuple(dict.fromkeys(one for verdict in asks for one in verdict.subjects)))


def _real_paths(root: Path, paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(real_path(root, path) for path in paths)


def _obeyed(paths: tuple[str, ...], context: ToolCallContext) -> tuple[str, ...]:
    """Return the paths of soft names in the project's own tree, but for those that the cage names. Blocks."""
    named = {tuple(path.split("/")): path for path in paths if not path.startswith("/")}
    soft = {parts: part for parts in named if (part := soft_part(parts)) is not None}
    if not soft:
        return ()
    free = _named_by_cage(context)
    root = Path(os.path.realpath(context.project_root))
    rules = ProjectRules(root)
    return tuple(
        named[parts]
        for parts, part in soft.items()
        if free.isdisjoint({part, parts}) and not _is_others(root, part[:-1], rules)
    )


def _named_by_cage(context: ToolCallContext) -> set[tuple[str, ...]]:
    if context.cage is None:
        return set()
    grants = FileGrants.of(context.cage.get("fs") or (), context.project_root)
    return {parts for parts, mode in grants.entries if mode == "rw"}


def _is_others(root: Path, folder: tuple[str, ...], rules: ProjectRules) -> bool:
    """Tell whether a folder is ignored, or in a virtual environment."""
    above = [folder[:length] for length in range(1, len(folder) + 1)]
    return any(
        rules.ignored("/".join(parts)) or (root.joinpath(*parts) / ENVIRONMENT_MARK).is_file()
        for parts in above
    )


def _steers(path: str) -> bool:
    """`.git` and `.kaged`, with everything in them, at any depth."""
    return any(part.casefold() in _STEERING for part in path.split("/"))
