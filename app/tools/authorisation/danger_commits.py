"""Commits in the user's own checkout: a person is asked, unless a rule has decided.

Owns: which commands of git make commits, or take changes out of the working tree, and where. Never: commands
that lose something (`danger_destructive`). An agent in a cage is not asked about: `.git` is read-only there.
In the workspace of its session an agent commits as it likes.
Keeps S4 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel

from app.tools.authorisation.decision import decide
from app.tools.authorisation.shell_reader import read_script
from app.tools.authorisation.shell_script import Part
from app.tools.authorisation.subjects import subjects_of
from app.tools.authorisation.watchdog import ALLOW, Verdict
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.naming import rule_name
from app.workspace.own_places import clone_around

_COMMITS = frozenset({"commit", "merge", "rebase", "cherry-pick", "revert", "am"})
_STASH_LOOKS = frozenset({"list", "show", "create"})
_ENDS = frozenset({"--abort", "--quit", "--dry-run"})
"""Options with which these make no commit."""
_ENTERS = frozenset({"cd", "pushd"})
_ELSEWHERE = (
    "--git-dir",
    "--work-tree",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
)
_OUTWARD = re.compile(r"^[/~]|^-$|[$`*?\[]|(?:^|/)\.\.(?:/|$)")
_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})


class CommitWatchdog:
    """Asks before an agent without a cage commits, or stashes changes, by a command that no rule is about.
    The workspaces of sessions lie in `data_dir`."""

    def __init__(self, data_dir: Path) -> None:
        self._data = (data_dir,)

    async def judge(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        if context.cage is not None or not any("git" in command for command in effects.commands):
            return ALLOW
        return await asyncio.to_thread(self._judged, definition, params, context)

    def _judged(self, definition: ToolDefinition, params: BaseModel, context: ToolCallContext) -> Verdict:
        effects = definition.effects(params)
        own = clone_around(context.project_root, self._data) is not None
        found = [
            part.text
            for command in effects.commands
            if not own or leaves(command)
            for part in read_script(command).parts
            if part.name == "git" and commits(part)
        ]
        if not found:
            return ALLOW
        tools = tuple(dict.fromkeys(map(rule_name, (definition.name, *effects.judged_as))))
        subjects = subjects_of(definition, tools, effects, context)
        decided = {
            one.text
            for one in subjects
            if one.kind == "command" and decide(context.rules, one).rule is not None
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


def leaves(command: str) -> bool:
    """Tell whether a command may be about another repository than that of the folder where it runs."""
    if any(word in command for word in _ELSEWHERE):
        return True
    parts = read_script(command).parts
    entered: list[Sequence[str]] = [part.arguments for part in parts if part.name in _ENTERS]
    entered += [_following(part.arguments, "-C") for part in parts if part.name == "git"]
    return any(_OUTWARD.search(path) is not None for paths in entered for path in paths)


def _following(words: Sequence[str], option: str) -> list[str]:
    return [value for word, value in pairwise(words) if word == option]
