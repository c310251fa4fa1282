"""Finds in the output of a command what its cage refused, and names the line that would allow it.

Owns: reading the messages of programs, in linear time. Never: deciding: the text is untrusted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from app.bridges.installed.installation_places import Surroundings, needed_places
from app.cages.network_rules import NetworkRules
from app.cages.protected_names import soft_part
from app.programs import on_path
from app.tools.authorisation.cage_policy import CagePolicy, yaml_text
from app.tools.contract.call import ToolCallContext
from app.tools.shell.unresolved_hosts import unresolved_hosts

MAX_READ = 16_384
"""Characters at the end of the output that are looked at."""
MAX_NOTES = 5
MAX_LINE = 1_000
_READ_ONLY = "read-only file system"
_NOT_FOUND = (": command not found", ": not found")
_QUOTES = "'\"`’"

Missing = Callable[[ToolCallContext, Sequence[Path]], list[Path]]
"""Returns which places the caller's cage does not show."""


def refusals(
    output: str,
    folder: str,
    context: ToolCallContext,
    environment: Mapping[str, str],
    missing: Missing,
    *,
    command: str = "",
) -> list[str]:
    """Return notes on the output of `command` in `folder`, below the project's root, in which something
    failed. Blocks: looks for programs on the PATH of `environment`, and for manifests of packages."""
    lines = [line.strip() for line in output[-MAX_READ:].splitlines() if len(line) <= MAX_LINE]
    found = dict.fromkeys(_written_to(lines, folder, context))
    found |= dict.fromkeys(_not_found(lines, context, environment, missing))
    found |= dict.fromkeys(
        unresolved_hosts(lines, command, NetworkRules.of(_hosts(context)), context.project_root)
    )
    return list(found)[:MAX_NOTES]


def _hosts(context: ToolCallContext) -> Sequence[str]:
    allowed: Sequence[str] = ((context.cage or {}).get("net") or {}).get("allow") or ()
    return allowed


def _written_to(lines: Sequence[str], folder: str, context: ToolCallContext) -> Iterator[str]:
    policy = CagePolicy(context.cage or {}, context.project_root)
    roots = dict.fromkeys((str(context.project_root), os.path.realpath(context.project_root)))
    for line in lines:
        at = line.lower().find(_READ_ONLY)
        path = _path_in(line[:at], line[at + len(_READ_ONLY) :]) if at >= 0 else ""
        if not path:
            continue
        whole = os.path.normpath(os.path.join(next(iter(roots)), folder, path))
        below = next((whole[len(root) + 1 :] for root in roots if whole.startswith(f"{root}/")), None)
        if below is None:
            continue
        parts = tuple(below.split("/"))
        soft = soft_part(parts)
        lack = policy.lack(parts, "rw")
        line_for = f"fs: [{{ mode: rw, path: {yaml_text('/'.join(soft))} }}]" if soft is not None else None
        if lack is not None:
            line_for = lack.line
        if line_for is not None:
            yield f"read_only: this cage may only read {below}. The operator can allow it: `{line_for}`."
        elif lack is not None:
            yield f"read_only: {below} is never written in a cage ({lack.because}). Leave it to the operator."


def _path_in(before: str, after: str) -> str:
    """Return the path that a message names before the phrase (`touch: cannot touch 'x': ...`), or after it
    (`...: 'x'`, `..., open 'x'`)."""
    before = before.rstrip(" :(")
    quoted = after.split("'")
    if len(quoted) > 2:
        return quoted[1]
    if before.endswith(tuple(_QUOTES)):
        inner = before[:-1]
        start = max(inner.rfind(quote) for quote in (*_QUOTES, "‘"))
        return inner[start + 1 :] if start >= 0 else ""
    return before.rsplit(None, 1)[-1] if before else ""


def _not_found(
    lines: Sequence[str], context: ToolCallContext, environment: Mapping[str, str], missing: Missing
) -> Iterator[str]:
    around = Surroundings(Path.home(), apart=(context.project_root,), environment=environment)
    root = Path(os.path.realpath(context.project_root))
    for line in lines:
        ending = next((one for one in _NOT_FOUND if line.endswith(one)), None)
        name = line[: -len(ending)].rsplit(None, 1)[-1] if ending is not None and line != ending else ""
        if not name or "/" in name:
            continue
        program = on_path(name, environment, outside=root)
        places = missing(context, needed_places([str(program)], around)) if program is not None else []
        if places:
            shown = ", ".join(f'"{place}"' for place in places)
            yield (
                f"not_shown: {name} lies outside what a cage shows. The operator can show it, in the config "
                f"file: `[sandbox] read_only = [{shown}]`."
            )
