"""What one call is about: the commands, paths and hosts that its permission rules are applied to.

Owns: the way from a call's effects to its subjects. Paths count as what they really are now, links
followed, and as they were written. Never: judging; nor trusting a path later because it was judged
here: `file_policy` asks again at the moment of use.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from app.errors import ToolError
from app.observability import names_secret
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.shell_script import Part, Redirect, Script
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import CapabilityRequirement, Effects, NetRequirement, ToolDefinition
from app.tools.contract.subject import Subject, plain
from app.workspace import Workspace, locate

SHELL = "shell"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/([^/]+)")


def subjects_of(
    definition: ToolDefinition, tools: tuple[str, ...], effects: Effects, context: ToolCallContext
) -> tuple[Subject, ...]:
    """Return the subjects of a call, at least one. Blocks: reads links, takes commands apart.

    `tools` are the tool's name and its action's. Raises ToolError `invalid_path`.
    """
    named = path_rule_names(tools, effects)
    found = [
        *_paths(effects.reads, "fs.read", named, context),
        *_paths(effects.writes, "fs.write", named, context),
        *_commands(tools, effects, context),
        *_hosts(definition, tools, effects),
    ]
    for requirement in definition.requires:
        if isinstance(requirement, CapabilityRequirement) and requirement.name != SHELL:
            found.append(Subject("call", named, requirement.name, plain("")))
    if not found:
        found.append(Subject("call", tools, None, plain("")))
    return tuple(dict.fromkeys(found))


def path_rule_names(tools: tuple[str, ...], effects: Effects) -> tuple[str, ...]:
    """Return the tools whose rules concern the paths and capabilities of a call: none when it runs
    commands. A rule for such a tool is about command lines, and the folder that they run in is none;
    rules for `fs.read`, `fs.write` and `exec` hold there as everywhere."""
    return () if effects.commands else tools


def _paths(
    paths: Iterable[str], capability: str, tools: tuple[str, ...], context: ToolCallContext
) -> list[Subject]:
    found = []
    for path in paths:
        location = locate(context.project_root, path, scratch=context.scratch_dir)
        if not location.in_scratch:
            written = "/".join(location.parts) or "."
            for text in dict.fromkeys((_leads_to(written, context), written)):
                found.append(Subject("path", tools, capability, plain(text)))
    return found


def _leads_to(path: str, context: ToolCallContext) -> str:
    """Return where a path leads as far as the caller may know: by way of what its cage hides, no rule
    is asked about what is there, and no refusal tells it. The cage refuses such a path when it is opened."""
    if context.cage is None:
        return real_path(context.project_root, path)
    workspace = Workspace(context.project_root, policy=CagePolicy(context.cage, context.project_root))
    try:
        return "/".join(workspace.leads_to(f"./{path}")) or "."
    except ToolError:
        return path


def real_path(root: Path, path: str) -> str:
    """Return where `path`, relative to `root`, leads by now: relative if it is inside, else absolute."""
    base = os.path.realpath(root)
    try:
        real = os.path.realpath(os.path.join(base, path))
    except OSError:  # a link was swapped under our eyes: what is opened in the end is judged again
        return path
    if real == base:
        return "."
    return real[len(base) + 1 :] if real.startswith(f"{base}/") else real


def _commands(tools: tuple[str, ...], effects: Effects, context: ToolCallContext) -> list[Subject]:
    found = [_variable(name, value, tools) for name, value in effects.environment]
    for command in effects.commands:
        script = read_script(command)
        found += [_part(part, tools) for part in script.parts]
        for redirect in script.redirects:
            found += _redirect(redirect, script, tools, effects.directory, context)
        if not script.readable or not script.parts:
            found.append(Subject("command", tools, SHELL, ((command, 0),), dynamic=not script.readable))
    return found


def _variable(name: str, value: str, tools: tuple[str, ...]) -> Subject:
    """A variable is judged like the assignment `name=value`: it may say what a command runs (`PATH`,
    `LD_PRELOAD`, `GIT_PAGER`). The value of one that seems to be secret is not shown."""
    certain = f"{name}={value}"
    text = f"{name}=[redacted]" if names_secret(name) else certain
    known = len(name) + 1 if text != certain else len(text)
    return Subject("command", tools, SHELL, ((text, known),), dynamic=not _VARIABLE.fullmatch(name))


def _part(part: Part, tools: tuple[str, ...]) -> Subject:
    return Subject("command", tools, SHELL, part.spellings, dynamic=part.is_dynamic)


def _redirect(
    redirect: Redirect, script: Script, tools: tuple[str, ...], directory: str, context: ToolCallContext
) -> list[Subject]:
    word = redirect.path
    socket = _SOCKET.fullmatch(word.text)
    if socket is not None:
        return [Subject("host", tools, "net", plain(f"{socket[1]}:{socket[2]}"), not word.is_certain)]
    capability = "fs.write" if redirect.writes else "fs.read"
    if word.text.startswith("~"):
        return [Subject("path", tools, capability, plain(word.text), not word.is_certain)]
    written = posixpath.normpath(posixpath.join(directory, word.text))
    relative = not word.text.startswith("/")
    dynamic = not word.is_certain or (relative and script.changes_directory)
    texts = dict.fromkeys((real_path(context.project_root, written), written) if not dynamic else (written,))
    return [Subject("path", tools, capability, plain(text), dynamic) for text in texts]


def _hosts(definition: ToolDefinition, tools: tuple[str, ...], effects: Effects) -> list[Subject]:
    hosts = [one.target for one in definition.requires if isinstance(one, NetRequirement)]
    connected = (*hosts, *effects.hosts, *effects.own_hosts)
    return [Subject("host", tools, "net", plain(host)) for host in connected]
