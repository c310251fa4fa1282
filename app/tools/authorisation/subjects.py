"""The subjects of a call: the commands, paths and hosts that rules apply to.

Owns: deriving them from the effects of a call; paths count both as written and as resolved. Never: judging;
`file_policy` asks again at use.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from app.errors import ToolError
from app.observability import names_secret
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.authorisation.shell_guesses import guesses_of
from app.tools.authorisation.shell_read_only import only_reads
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.shell_script import Part, Redirect, Script
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import CapabilityRequirement, Effects, NetRequirement, ToolDefinition
from app.tools.contract.rules import Subject, plain
from app.workspace import Workspace, locate

SHELL = "shell"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SOCKET = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/([^/]+)")


def subjects_of(
    definition: ToolDefinition, tools: tuple[str, ...], effects: Effects, context: ToolCallContext
) -> tuple[Subject, ...]:
    """Return the subjects of a call, at least one. `tools` are the names of the tool and its action. Blocks:
    reads links, parses commands. Raises ToolError `invalid_path`."""
    named = path_rule_names(tools, effects)
    commands = _commands(tools, effects, context)
    written = _paths(effects.writes, "fs.write", named, context)
    if commands and all(one.only_reads for one in commands if one.kind == "command"):
        written = [replace(one, only_reads=True) for one in written]
    found = [
        *_paths(effects.reads, "fs.read", named, context),
        *written,
        *commands,
        *_hosts(definition, tools, effects),
    ]
    for requirement in definition.requires:
        if isinstance(requirement, CapabilityRequirement) and requirement.name != SHELL:
            found.append(Subject("call", named, requirement.name, plain("")))
    if not found:
        found.append(Subject("call", tools, None, plain("")))
    return tuple(dict.fromkeys(found))


def path_rule_names(tools: tuple[str, ...], effects: Effects) -> tuple[str, ...]:
    """Return the tools whose rules apply to the paths of a call: none when it runs commands. Rules of such a
    tool are about command lines; rules for `fs.read`, `fs.write` and `exec` apply in any case."""
    return () if effects.commands else tools


def _paths(
    paths: Iterable[str], capability: str, tools: tuple[str, ...], context: ToolCallContext
) -> list[Subject]:
    found = []
    for path in paths:
        location = locate(context.project_root, path, aside=context.aside)
        if location.aside is None:
            written = "/".join(location.parts) or "."
            for text in dict.fromkeys((_leads_to(written, context), written)):
                found.append(Subject("path", tools, capability, plain(text)))
        elif location.aside != context.scratch_dir:
            whole = location.aside.joinpath(*location.parts).as_posix()
            found.append(Subject("path", tools, capability, plain(whole)))
    return found


def _leads_to(path: str, context: ToolCallContext) -> str:
    """Return where a path leads, as far as the caller may know: no rule is asked about places behind what its
    cage hides, and no refusal discloses them. The cage refuses such a path when it is opened."""
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
    guesses = _guesses(Part((), (text,)))
    dynamic = not _VARIABLE.fullmatch(name)
    return Subject("command", tools, SHELL, ((text, known),), dynamic=dynamic, guesses=guesses)


def _part(part: Part, tools: tuple[str, ...]) -> Subject:
    return Subject(
        "command",
        tools,
        SHELL,
        part.spellings,
        dynamic=part.is_dynamic,
        guesses=_guesses(part),
        input="\n".join(part.heard),
        only_reads=only_reads(part),
    )


def _guesses(part: Part) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys(text for guess in guesses_of(part) for text in guess.spellings))


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
