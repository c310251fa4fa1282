"""Commits in the user's own checkout: a person is asked, unless a rule has decided.

Owns: which commands of git make commits, or take changes out of the working tree. Never: commands that lose
something (`danger_destructive`). An agent in a cage is not asked about: `.git` is read-only there.
Keeps S4 of docs/security.md.
"""

from __future__ import annotations

import asyncio

from pydantic import BaseModel

from app.tools.authorisation.decision import decide
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.shell_script import Part
from app.tools.authorisation.subjects import subjects_of
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import rule_name

_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am"})
_STASH_LOOKS = frozenset({"list", "show", "create"})
_ENDS = frozenset({"--abort", "--quit", "--dry-run"})
"""Options with which these make no commit."""
_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


class CommitWatchdog:
    """Asks before an agent without a cage commits, or stashes changes, by a command that no rule is about."""

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        if context.cage is not None or not any("git" in command for command in effects.commands):
            return ALLOW
        return await asyncio.to_thread(_judged, definition, params, context)


def _judged(definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
    effects = definition.effects(params)
    found = [
        part.text
        for command in effects.commands
        for part in read_script(command).parts
        if part.name == "git" and commits(part)
    ]
    if not found:
        return ALLOW
    tools = tuple(dict.fromkeys(map(rule_name, (definition.name, *effects.judged_as))))
    subjects = subjects_of(definition, tools, effects, context)
    decided = {
        one.text for one in subjects if one.kind == "command" and decide(context.rules, one).rule is not None
    }
    asked = tuple(dict.fromkeys(text for text in found if text not in decided))
    if not asked:
        return ALLOW
    return Verdict("ask", f"`{asked[0][:200]}` commits or stashes in your own checkout", asked)


def commits(part: Part) -> bool:
    """Tell whether a command of git makes commits, or takes changes out of the working tree."""
    words = list(part.arguments)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _VALUED else words[1:]
    if not words:
        return False
    verb, rest = words[0], words[1:]
    if verb == "stash":
        return not rest or rest[0] not in _STASH_LOOKS
    return verb in _COMMITS and not _ENDS.intersection(rest)
