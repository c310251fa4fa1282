"""The second layer: what a tool requires, held against the caller's cage.

Owns: the check of paths, named capabilities, system call filter and hosts before a call starts.
Never: the last word on paths; `file_policy` has that, on the file that was really opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.cages.network_rules import NetworkRules, shown
from app.tools.authorisation.cage_policy import CagePolicy, denied
from app.tools.call import ToolCallContext
from app.tools.definition import (
    CapabilityRequirement,
    Effects,
    FsRequirement,
    SeccompRequirement,
    ToolDefinition,
)
from app.workspace import Access, locate


def check_capabilities(definition: ToolDefinition, effects: Effects, context: ToolCallContext) -> None:
    """Raise ToolError `capability_denied` unless the cage satisfies what the call requires."""
    cage = context.cage
    if cage is None:
        return
    for requirement in definition.requires:
        if isinstance(requirement, FsRequirement):
            if not requirement.filtered:
                _check_paths(effects, context, cage)
        elif isinstance(requirement, CapabilityRequirement):
            if requirement.name not in (cage.get("capabilities") or ()):
                raise denied(f"capability {requirement.name}", "this agent's cage does not list it")
        elif isinstance(requirement, SeccompRequirement):
            _check_seccomp(requirement, cage)
        else:
            _check_host(requirement.target, cage)
    for host in effects.hosts:
        _check_host(host, cage)


def _check_paths(effects: Effects, context: ToolCallContext, cage: Mapping[str, Any]) -> None:
    policy = CagePolicy(cage, context.project_root)
    wanted: list[tuple[str, Access]] = [(path, "ro") for path in effects.reads]
    wanted += [(path, "ro" if effects.works_out_writes else "rw") for path in effects.writes]
    for path, access in wanted:
        location = locate(context.project_root, path, scratch=context.scratch_dir)
        if not location.in_scratch:
            policy.check(location.parts, access)


def _check_seccomp(requirement: SeccompRequirement, cage: Mapping[str, Any]) -> None:
    have = cage.get("seccomp") or "default"
    if have != requirement.profile:
        raise denied(
            f"seccomp {requirement.profile}",
            f"this agent's cage has seccomp {have}",
            reason="seccomp_insufficient",
            required=requirement.profile,
            have=have,
        )


def _check_host(target: str, cage: Mapping[str, Any]) -> None:
    allowed = (cage.get("net") or {}).get("allow") or ()
    rules = NetworkRules.of(str(text) for text in allowed if text != "*")
    if not rules.covers(target):
        raise denied(
            f"net {shown(target)}", f"this agent's cage does not allow that host ({rules.in_words()})"
        )
