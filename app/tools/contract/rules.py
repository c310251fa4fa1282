"""Permission rules and the question that one may lead to, as plain data.

Owns: their shapes, shared with whoever stores rules and whoever asks the human. Never: deciding
which rule wins, or what a call is judged by.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from app.errors import ValidationFailed
from app.tools.contract.naming import closest
from app.tools.contract.subject import Subject

RuleAction = Literal["allow", "deny", "ask"]
RuleScope = Literal["manifest", "session", "project"]
ConsentAnswer = Literal["once", "always", "reject"]
"""`always` also stores the request's suggestions; whoever asked the human does that."""

CAPABILITIES = ("fs.read", "fs.write", "shell", "exec", "net", "watchdog")
"""The uses that a rule can name besides tools; under `watchdog` are the answers to its questions."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """One rule: what is done with uses of `permission` whose subject matches `pattern`.

    `permission` is a tool, a `tool.action`, a glob over those (`file.*`), a capability (`fs.read`,
    `fs.write`, `shell`, `net`, `exec`) or `*`. `pattern` is compared with what the call is about:
    the parts of a shell command, paths relative to the project, hosts. `scope` says who made the
    rule: the project file, an answer or request within the session, or the operator for the project.
    `above` is the agent further up in the tree that the rule was written for, if it is not the caller's
    own: only what it denies counts.
    """

    permission: str
    pattern: str
    action: RuleAction
    scope: RuleScope
    pinned: bool = False
    id: str | None = None
    above: str | None = None


def check_permission_name(permission: str, tools: Collection[str]) -> None:
    """Raise ValidationFailed unless `permission` names one of `tools` (actions as `tool.action`), a
    capability, or a glob that fits one: a misspelt denial would protect nothing."""
    known = {*tools, *CAPABILITIES}
    if any(fnmatchcase(name, permission) for name in known):
        return
    near = closest(permission, known)
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Capabilities are {', '.join(CAPABILITIES)}."
    message = f"No tool, action or capability is called {permission!r}.{hint}"
    raise ValidationFailed(message, fields={"permission": f"names nothing there is.{hint}"})


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """A question to the human. `subjects` are the parts that need consent, as shown to the human.

    `suggestions` are the rules that "always" would store, the most specific sensible ones, none
    where no rule could stand for what was asked; then "always" is no more than "once".
    `about` are the subjects as rules judge them, so that a rule made meanwhile can answer.
    """

    tool: str
    permission: str
    subjects: tuple[str, ...]
    reason: str
    source: Literal["rule", "watchdog"]
    suggestions: tuple[PermissionRule, ...] = ()
    about: tuple[Subject, ...] = ()
