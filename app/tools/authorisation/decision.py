"""Which permission rule decides about one subject of a call.

Owns: the order of rules. The most specific rule wins: an action's name before a tool's or a
capability's, that before a glob, that before `*`; then the longer literal part of the pattern; then
session before project before manifest; then deny before ask before allow. Two things stand above
it: what the project file denies stays denied, and what it pins may only be made stricter.
Never: asking, or finding out what a call is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.tools.authorisation.patterns import (
    SubjectKind,
    could_match,
    covers_everything,
    literal_length,
    matches,
)
from app.tools.authorisation.rules import PermissionRule, RuleAction

_SCOPES = {"manifest": 0, "project": 1, "session": 2}
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a call is about. `tools` are the tool's name and its action's, `capability`
    what use it makes of it (`shell`, `fs.write`), if any.

    `spellings` are texts that mean this subject, each with the number of leading characters that
    are certain; the first is the one shown, and the only one that may be allowed by. A `dynamic`
    subject might be anything at all.
    """

    kind: SubjectKind
    tools: tuple[str, ...]
    capability: str | None
    spellings: tuple[tuple[str, int], ...]
    dynamic: bool = False

    @property
    def text(self) -> str:
        return self.spellings[0][0]

    @property
    def permission(self) -> str:
        return self.capability or self.tools[-1]


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens, and the rule that says so; None when no rule does.

    `uncertain` means that a rule might apply, which cannot be told from what is known.
    """

    action: RuleAction
    rule: PermissionRule | None = None
    uncertain: bool = False


def decide(rules: Sequence[PermissionRule], subject: Subject) -> Decision:
    """Return what the rules say about `subject`; without a rule it is allowed."""
    concerned = [rule for rule in rules if _rank_of(rule, subject) is not None]
    if not concerned:
        return Decision("allow")
    manifest = [rule for rule in concerned if rule.scope == "manifest"]
    pinned = _winner((rule for rule in manifest if rule.pinned), subject)
    authors = _winner(manifest, subject)
    for decision in (pinned, authors):
        if decision.action == "deny":
            return decision
    everyones = _winner(concerned, subject)
    if pinned.action == "ask" and everyones.action == "allow":
        return pinned
    return everyones


def _winner(rules: Iterable[PermissionRule], subject: Subject) -> Decision:
    """The most specific rule that covers the subject, unless a stricter one might come before it."""
    ranked = sorted(rules, key=lambda rule: _specificity(rule, subject), reverse=True)
    doubt: PermissionRule | None = None
    for rule in ranked:
        if _covers(rule, subject):
            if rule.action == "allow" and doubt is not None:
                return Decision("ask", doubt, uncertain=True)
            return Decision(rule.action, rule)
        if doubt is None and rule.action != "allow" and _might_cover(rule, subject):
            doubt = rule
    return Decision("allow") if doubt is None else Decision("ask", doubt, uncertain=True)


def _covers(rule: PermissionRule, subject: Subject) -> bool:
    if rule.action == "allow":
        if subject.dynamic:
            return covers_everything(rule.pattern)
        return matches(rule.pattern, subject.text, subject.kind)
    return any(matches(rule.pattern, text, subject.kind) for text, _ in subject.spellings)


def _might_cover(rule: PermissionRule, subject: Subject) -> bool:
    if subject.dynamic:
        return True
    return any(
        known < len(text) and could_match(rule.pattern, text[:known], subject.kind)
        for text, known in subject.spellings
    )


def _specificity(rule: PermissionRule, subject: Subject) -> tuple[int, int, int, int, int]:
    rank, length = _rank_of(rule, subject) or (0, 0)
    return rank, length, literal_length(rule.pattern), _SCOPES[rule.scope], _STRICTNESS[rule.action]


def _rank_of(rule: PermissionRule, subject: Subject) -> tuple[int, int] | None:
    """How exactly a rule names what is used; None when it does not concern it."""
    name = rule.permission
    if name == "*":
        return 0, 0
    if name in subject.tools:
        return (3 if name != subject.tools[0] else 2), 0
    if subject.capability is not None and name == subject.capability:
        return 2, 0
    tool = subject.tools[0]
    if name == f"{tool}.*":
        return 1, literal_length(name)
    names = (*subject.tools, subject.capability) if subject.capability else subject.tools
    return (1, literal_length(name)) if any(fnmatchcase(one, name) for one in names) else None
