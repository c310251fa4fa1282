"""The first two layers: tools of the root agent, then a tool's requirements against the caller's cage.

Owns: checking scope, paths, named capabilities, the seccomp profile and hosts before a call starts. Never:
the opened file (`file_policy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.cages.network_rules import NetworkRules, Target, shown
from app.errors import ToolError
from app.ids import ROOT_AGENT
from app.tools.authorisation.cage_policy import CagePolicy, Lack, refusal
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    CapabilityRequirement,
    Effects,
    FsRequirement,
    SeccompRequirement,
    ToolDefinition,
)
from app.workspace import Access, locate


def check_principal(definition: ToolDefinition, context: ToolCallContext) -> None:
    """Raise ToolError `principal_scope_violation` when the caller may not use this tool at all."""
    if definition.principal_scope == "root-only" and not context.is_root_agent:
        raise ToolError(
            "principal_scope_violation",
            f"{definition.name} is reserved for the root agent ({ROOT_AGENT}); ask it to make this call",
            detail={
                "needed": f"to be the root agent ({ROOT_AGENT})",
                "principal_scope": "root-only",
                "caller": context.agent_path,
            },
        )


def check_capabilities(definition: ToolDefinition, effects: Effects, context: ToolCallContext) -> None:
    """Raise ToolError `capability_denied`, with all that is lacking, unless the cage satisfies what the call
    requires."""
    cage = context.cage
    if cage is None:
        return
    lacks = {one.needed: one for one in _lacks(definition, effects, context, cage)}
    if lacks:
        raise refusal(list(lacks.values()))


def _lacks(
    definition: ToolDefinition, effects: Effects, context: ToolCallContext, cage: Mapping[str, Any]
) -> Iterator[Lack]:
    for requirement in definition.requires:
        if isinstance(requirement, FsRequirement):
            if not requirement.filtered:
                yield from _of_paths(effects, context, cage)
        elif isinstance(requirement, CapabilityRequirement):
            if requirement.name not in (cage.get("capabilities") or ()):
                name = requirement.name
                yield Lack(
                    f"capability {name}", "this agent's cage does not list it", f"capabilities: [{name}]"
                )
        elif isinstance(requirement, SeccompRequirement):
            yield from _of_seccomp(requirement, cage)
        else:
            yield from _of_host(requirement.target, cage)
    for host in effects.hosts:
        yield from _of_host(host, cage)


def _of_paths(effects: Effects, context: ToolCallContext, cage: Mapping[str, Any]) -> Iterator[Lack]:
    policy = CagePolicy(cage, context.project_root)
    wanted: list[tuple[str, Access]] = [(path, "ro") for path in effects.reads]
    wanted += [(path, "ro" if effects.works_out_writes else "rw") for path in effects.writes]
    for path, access in wanted:
        location = locate(context.project_root, path, aside=context.aside)
        lack = None if location.aside is not None else policy.lack(location.parts, access)
        if lack is not None:
            yield lack


def _of_seccomp(requirement: SeccompRequirement, cage: Mapping[str, Any]) -> Iterator[Lack]:
    have = cage.get("seccomp") or "default"
    if have != requirement.profile:
        detail = {"reason": "seccomp_insufficient", "required": requirement.profile, "have": have}
        yield Lack(
            f"seccomp {requirement.profile}",
            f"this agent's cage has seccomp {have}",
            f"seccomp: {requirement.profile}",
            detail,
        )


def _of_host(target: str, cage: Mapping[str, Any]) -> Iterator[Lack]:
    allowed = (cage.get("net") or {}).get("allow") or ()
    rules = NetworkRules.of(str(text) for text in allowed if text != "*")
    if not rules.covers(target):
        because = f"this agent's cage does not allow that host ({rules.in_words()})"
        yield Lack(f"net {shown(target)}", because, _line_for(target))


def _line_for(target: str) -> str | None:
    try:
        return f'net: {{ allow: ["{Target.parse(target)}"] }}'
    except ValueError:
        return None
