"""Which language server a caller asks, and whether it may be shown the server's own words.

Owns: what of the project the caller may read, as places that can be hidden from a server, and the reason when
that cannot be. Never: starting servers, or judging single paths (`view`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.bridges.lsp.manager import ProjectLanguages
from app.cages.file_grants import FileGrants, Parts
from app.cages.readable import ALL, Readable
from app.errors import RPC_CAPABILITY_DENIED, ToolError
from app.tools.authorisation.file_policy import RulePolicy
from app.tools.contract.call import ToolCallContext

WITHHELD = "withheld: it may quote files that this agent may not read"
MAX_LOOKED_AT = 20_000
MAX_HIDDEN = 300
_WILD = frozenset("*?[")
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class ServerScope:
    """`readable` bounds the server that is asked. `withheld` says why the server's own words are not shown,
    empty where they are: then the server has seen nothing that the caller may not read."""

    readable: Readable
    withheld: str = ""

    @property
    def is_bounded(self) -> bool:
        """Whether the server that is asked sees a part of the project only."""
        return not self.readable.is_all

    def check_words(self, what: str) -> None:
        """Raise ToolError `capability_denied` unless the server's words may be shown."""
        if self.withheld:
            raise ToolError(
                "capability_denied",
                f"{what} is withheld: {self.withheld}. Read the files that you are granted instead.",
                detail={"needed": "fs ro on .", "withheld": what},
                rpc_code=RPC_CAPABILITY_DENIED,
            )


async def server_scope(context: ToolCallContext, project: ProjectLanguages) -> ServerScope:
    """Return which server of the project is asked for a caller."""
    readable = _by_cage(context)
    if any(rule.action != "allow" for rule in context.rules):
        bounded = await asyncio.to_thread(_by_rules, context, readable)
        if bounded is None:
            return ServerScope(
                ALL, "a rule keeps this agent from more files than a language server can be kept from"
            )
        readable = bounded
    if readable.is_all:
        return ServerScope(ALL)
    if not project.masks:
        return ServerScope(
            ALL,
            "language servers read the whole project here, as no cage on this machine hides a part of it "
            "from them, and this agent may not read all of it",
        )
    return ServerScope(readable)


def _by_cage(context: ToolCallContext) -> Readable:
    if context.cage is None:
        return ALL
    return Readable.of(FileGrants.of(context.cage.get("fs") or (), context.project_root))


def _by_rules(context: ToolCallContext, readable: Readable) -> Readable | None:
    """Return what the rules leave; None when that is too much to find out. Blocks."""
    policy = RulePolicy(context)
    patterns = policy.reading_patterns
    if not patterns:
        return readable
    if any(not _WILD.isdisjoint(pattern) for pattern in patterns):
        denied = _denied_below(context.project_root, policy)
        if denied is None:
            return None
    else:
        places = (tuple(part for part in pattern.split("/") if part not in {"", "."}) for pattern in patterns)
        denied = [parts for parts in places if not _passes(policy, parts)]
    return Readable.of(readable.grants, denied)


def _denied_below(root: Path, policy: RulePolicy) -> list[Parts] | None:
    """Return the files and folders of the project that the rules deny; None when they are too many."""
    denied: list[Parts] = []
    count = 0
    for parts, names in _walk(root, policy, denied):
        denied += [(*parts, name) for name in names if not _passes(policy, (*parts, name))]
        count += 1 + len(names)
        if count > MAX_LOOKED_AT or len(denied) > MAX_HIDDEN:
            return None
    return denied


def _walk(root: Path, policy: RulePolicy, denied: list[Parts]) -> Iterator[tuple[Parts, list[str]]]:
    for folder, folders, files in os.walk(root):
        parts = tuple(Path(folder).relative_to(root).parts)
        kept = []
        for name in folders:
            if name in _SKIPPED or _passes(policy, (*parts, name)):
                kept.append(name)
            else:
                denied.append((*parts, name))
        folders[:] = [name for name in kept if name not in _SKIPPED]
        yield parts, files


def _passes(policy: RulePolicy, parts: Parts) -> bool:
    try:
        policy.check(parts, "ro")
    except ToolError:
        return False
    return True
