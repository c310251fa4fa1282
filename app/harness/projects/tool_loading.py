"""Which of an agent's tools every request has in full, and which its model finds by a search.

Owns: that choice, its bound, and keeping it for a session. Pure. Never: which tools an agent has
(`tool_selection`), or how a provider is sent them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.tool_resolution import is_glob
from app.harness.providers.wire_json import dump
from app.messages import CALL_TOOL, TOOL_SEARCH, ToolSpec
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import portable_name

MAX_BYTES = 15_200
"""Bytes of all tools in a request. With the system prompt of a new project it has at most 16 KB."""
ALWAYS = frozenset(
    {"file.read", "file.write", "file.create", "edit.text", "search.grep", "search.glob", "shell.bash"}
    | {"read", "write", "edit", "glob", "grep", "bash", "todo", "kaged.todo"}
)
"""What nearly every run uses. Of two names of one tool, the portable one."""
NEXT = ("kaged.plan", "skill", "task", "shell.background")
"""What follows, before subagents, while there is room."""
SEARCH_TOOLS = frozenset({TOOL_SEARCH, CALL_TOOL})
_FRAME_BYTES = 70
_LIST_BYTES = 1_200
_SUMMARY_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that an agent has, as it is registered and as its model is shown it."""

    definition: ToolDefinition
    spec: ToolSpec

    @property
    def size(self) -> int:
        return size_of(self.spec)


def size_of(spec: ToolSpec) -> int:
    """Return about how many bytes a tool has in a request."""
    return len(dump([spec.wire_name, spec.description, spec.parameters])) + _FRAME_BYTES


def searches(agent: CompiledAgent) -> bool:
    """Tell whether an agent may have tools that it finds by a search: unless its author took the search away.
    An agent of a session from before there was a search has none."""
    tool = agent.tools.get(TOOL_SEARCH)
    return tool is not None and (tool.enabled or not tool.origin.startswith("override:"))


def loaded(
    agent: CompiledAgent, offers: Sequence[Offer], search: Mapping[str, ToolSpec]
) -> tuple[ToolSpec, ...]:
    """Return the tools of an agent, those in full first. `search` has the specifications of the search tools,
    which are there when there is something to find, or when more may come."""
    if not searches(agent):
        return tuple(one.spec for one in offers)
    served = [one for one in offers if one.definition.source == "mcp"]
    grows = bool(served or agent.tools[TOOL_SEARCH].enabled or _may_get_more(agent))
    late = served if agent.tools_loading == "deferred" else []
    fixed = [one for one in offers if one not in late]
    whole = agent.tools_loading == "eager" or sum(one.size for one in fixed) <= MAX_BYTES
    if whole and not grows:
        return tuple(one.spec for one in fixed)
    full = {id(one) for one in (fixed if whole else _in_full(fixed, search))}
    deferred = [one for one in fixed if id(one) not in full]
    return (
        *(one.spec for one in fixed if id(one) in full),
        _with_list(search[TOOL_SEARCH], deferred),
        search[CALL_TOOL],
        *(one.spec.model_copy(update={"loading": "deferred"}) for one in deferred),
        *(one.spec.model_copy(update={"loading": "late"}) for one in late),
    )


def _may_get_more(agent: CompiledAgent) -> bool:
    """Tell whether an agent's `tools` let it have tools of plugins or MCP servers, once there are any."""
    return any(
        override.enabled and _is_of_others(pattern, agent) for pattern, override in agent.plugin_tools.items()
    )


def _is_of_others(pattern: str, agent: CompiledAgent) -> bool:
    namespace, dot, _ = pattern.partition(".")
    return not dot or is_glob(namespace) or namespace in agent.plugins


def _in_full(offers: Sequence[Offer], search: Mapping[str, ToolSpec]) -> list[Offer]:
    names = {one.definition.name: one for one in offers}
    full = [one for name, one in names.items() if name in ALWAYS and portable_name(name) not in names]
    others = [one for one in offers if one not in full]
    longest = (_with_list(search[TOOL_SEARCH], others), search[CALL_TOOL])
    room = MAX_BYTES - sum(one.size for one in full) - sum(map(size_of, longest))
    following = [names[name] for name in NEXT if name in names]
    for one in (*following, *(one for one in others if one.definition.source == "agent")):
        if one.size <= room:
            full.append(one)
            room -= one.size
    return full


def _with_list(spec: ToolSpec, deferred: Sequence[Offer]) -> ToolSpec:
    """Return the search with the names of what it finds, as many as there is room for."""
    if not deferred:
        return spec
    lines, room = list[str](), _LIST_BYTES
    for one in deferred:
        line = f"{one.definition.name} ({_summary(one)})"
        room -= len(line.encode("utf-8", "replace")) + 2
        if room < 0:
            break
        lines.append(line)
    left = len(deferred) - len(lines)
    lines += [f"{left} more"] if left else []
    text = f"{spec.description}\n\nThere are: {', '.join(lines)}."
    return spec.model_copy(update={"description": text})


def _summary(one: Offer) -> str:
    if one.definition.source != "agent":
        return one.definition.title[:_SUMMARY_CHARACTERS]
    text = " ".join(one.spec.description.split())
    return text if len(text) <= _SUMMARY_CHARACTERS else text[:_SUMMARY_CHARACTERS].rstrip() + "..."


class SessionTools:
    """The tools of a session's root agent, the same from its first run on. A tool that comes later is found
    by a search; one that goes away stays in the list, and its calls are refused."""

    def __init__(self) -> None:
        self._project = ""
        self._kept: tuple[ToolSpec, ...] = ()

    def keep(self, specs: tuple[ToolSpec, ...], project: str) -> tuple[ToolSpec, ...]:
        """Return the session's list with the tools that came later behind it; `project` is the digest of the
        project that the session has."""
        if self._project != project:
            self._project = project
            self._kept = tuple(spec for spec in specs if spec.loading != "late")
        known = {spec.name for spec in self._kept}
        late = (spec for spec in specs if spec.name not in known)
        return (*self._kept, *(spec.model_copy(update={"loading": "late"}) for spec in late))
