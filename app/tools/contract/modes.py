"""The modes of a session: how much it asks. Each is a preset of permission rules.

Owns: the list of modes with label, description and rules; every client shows and offers them from here.
Never: which rule wins (`authorisation.decision`), or storing a session's mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from app.tools.contract.rules import PermissionRule, RuleAction

ModeName: TypeAlias = Literal["plan", "ask", "edits", "full"]
MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)
PLAN: ModeName = "plan"
DEFAULT_MODE: ModeName = "ask"


@dataclass(frozen=True, slots=True)
class SessionMode:
    """One mode. Its `rules` hold for every agent of the session. They have the scope `mode` and the id of
    the mode, and rank below the denials of all others."""

    name: ModeName
    label: str
    description: str
    rules: tuple[PermissionRule, ...]


def _rules(mode: ModeName, *groups: tuple[RuleAction, Iterable[str]]) -> tuple[PermissionRule, ...]:
    return tuple(
        PermissionRule(name, "*", action, "mode", id=mode) for action, names in groups for name in names
    )


_PLANNING = (
    *("fs.read", "shell.read", "web_fetch", "web_search", "code.lsp", "compute.calc", "skill", "tool_search"),
    *("shell.background.list", "shell.background.read", "kaged.plan", "kaged.ask", "kaged.form", "question"),
    *("kaged.issue.list", "kaged.issue.get", "kaged.todo.view", "kaged.workflow.list"),
    *("kaged.workflow.status", "kaged.checkpoint", "todo", "task", "agent-*"),
    *("kaged.changes.list", "kaged.changes.diff"),
)
"""What plan mode allows. All other tools are denied, those of plugins and of other servers, too."""
_CHANGING = ("code.lsp.rename", "code.lsp.rename_file", "code.lsp.request", "code.lsp.reload")

MODES: Mapping[ModeName, SessionMode] = {
    mode.name: mode
    for mode in (
        SessionMode(
            "plan",
            "Plan",
            "Reads, searches and uses the web. Denies writes, and commands that are not known to only read. "
            "Ends with a plan that you accept, edit or reject.",
            _rules(
                "plan",
                ("deny", ("*", "fs.write", "shell", "exec", *_CHANGING)),
                ("allow", _PLANNING),
            ),
        ),
        SessionMode(
            "ask",
            "Ask",
            "Asks where a rule of the project file, the operator or the session asks. Without such a rule it "
            "asks about nothing but what the watchdog doubts.",
            (),
        ),
        SessionMode(
            "edits",
            "Accept edits",
            "Edits files without asking. Asks before each command that no rule allows.",
            _rules("edits", ("allow", ("fs.write",)), ("ask", ("shell", "exec"))),
        ),
        SessionMode(
            "full",
            "Full",
            "Asks only where the project file pins a question. What is denied stays denied.",
            _rules("full", ("allow", ("*", "fs.read", "fs.write", "shell", "exec", "net", "watchdog"))),
        ),
    )
}


def mode_rules(name: str) -> tuple[PermissionRule, ...]:
    """Return the rules of a mode. An unknown name has those of `plan`, the strictest."""
    return next((mode.rules for mode in MODES.values() if mode.name == name), MODES[PLAN].rules)


def mode_of(rules: Iterable[PermissionRule]) -> ModeName:
    """Return the mode of the session whose call these rules are for."""
    found = {rule.id for rule in rules if rule.scope == "mode"}
    return next((name for name in MODE_NAMES if name in found), DEFAULT_MODE)


def is_planning(rules: Iterable[PermissionRule]) -> bool:
    """Tell whether the rules of a call are those of a session in plan mode."""
    return mode_of(rules) == PLAN
