"""Permission rules, their subjects, and the question to a person, as plain data.

Owns: their shapes. Never: which rule wins.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from app.errors import ValidationFailed
from app.nearest_names import closest
from app.workspace.globs import text_matches

SubjectKind = Literal["command", "path", "host", "call"]


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject of a call. `tools` are the names of the tool and its action, `capability` the use it makes
    of the subject (`shell`, `fs.write`). `spellings` are its texts, each with the number of leading
    characters that are certain; the first is shown, and only it can be allowed. A `dynamic` subject may be
    anything. `guesses` are texts of commands that it may run: a stricter rule that covers one asks. `input`
    is what a command is given to read: no rule is about it, and the person who is asked sees it. With
    `only_reads` it is a command that is known to only read, or its folder: rules of `shell.read` apply."""

    kind: SubjectKind
    tools: tuple[str, ...]
    capability: str | None
    spellings: tuple[tuple[str, int], ...]
    dynamic: bool = False
    guesses: tuple[tuple[str, int], ...] = ()
    input: str = ""
    only_reads: bool = False

    @property
    def text(self) -> str:
        return self.spellings[0][0]

    @property
    def permission(self) -> str:
        return self.capability or self.tools[-1]


def plain(text: str) -> tuple[tuple[str, int], ...]:
    """The spellings of a subject that is certain."""
    return ((text, len(text)),)


RuleAction = Literal["allow", "deny", "ask"]
RuleScope = Literal["manifest", "session", "project", "mode"]
ConsentAnswer = Literal["once", "always", "reject"]
"""`always` also stores the request's suggestions; the code that asked the human does that."""

READING_COMMANDS = "shell.read"
"""The capability of commands that are known to only read, more exact than `shell`."""
CAPABILITIES = ("fs.read", "fs.write", "shell", READING_COMMANDS, "exec", "net", "watchdog")
"""The uses that a rule can name besides tools; under `watchdog` are the answers to its questions."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """The `action` for uses of `permission` whose subject matches `pattern`. `permission` is a tool, a
    `tool.action`, a glob over those (`file.*`), a capability (`fs.read`, `fs.write`, `shell`, `shell.read`,
    `net`, `exec`) or `*`. Subjects are parts of a shell command, paths relative to the project, hosts.
    `scope` is the origin: project file, session, the operator for the project, or the session's mode.
    `above` is the ancestor agent that the rule was written for: only its denials apply to the caller."""

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
    if any(text_matches(name, permission) for name in known):
        return
    near = closest(permission, known)
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Capabilities are {', '.join(CAPABILITIES)}."
    message = f"No tool, action or capability is called {permission!r}.{hint}"
    raise ValidationFailed(message, fields={"permission": f"names nothing there is.{hint}"})


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """A question to a person. `subjects` are the parts that need consent, as shown. `suggestions` are the
    rules that "always" would store; without any, "always" means "once". `about` are the subjects as rules
    judge them, so that a rule made meanwhile can answer."""

    tool: str
    permission: str
    subjects: tuple[str, ...]
    reason: str
    source: Literal["rule", "watchdog", "hook"]
    suggestions: tuple[PermissionRule, ...] = ()
    about: tuple[Subject, ...] = ()
