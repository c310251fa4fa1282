"""Decides which permission rule applies to a subject of a call.

Owns: the order of rules. Never: asking a person; finding the subjects of a call.

The most specific rule wins: an action's name, then a tool's or capability's, a glob, `*`; then the longer
literal pattern; then session, project, manifest; then deny, ask, allow. Three things outrank it: denials of
the project file hold, pinned rules can only be made stricter, and a denial for an agent holds for all agents
below it.

The rules of the session's mode stand beside that order. They allow what is asked and not pinned, ask about
what no rule allows, and deny; a denial of any rule holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from app.tools.authorisation.patterns import could_match, covers_everything, literal_length, matches
from app.tools.contract.naming import portable_name, rule_name
from app.tools.contract.rules import READING_COMMANDS, PermissionRule, RuleAction, Subject
from app.workspace.globs import text_matches

_SCOPES = {"manifest": 0, "project": 1, "session": 2, "mode": 3}
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_KEPT_BOOKS = 128
"""The rules change seldom, and each call asks for the same two or three uses."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, and the rule that decided; None without one. `uncertain`: a rule may apply, but the subject
    is not fully known."""

    action: RuleAction
    rule: PermissionRule | None = None
    uncertain: bool = False


class RuleBook:
    """The rules that concern one use of one tool, the most specific first."""

    def __init__(
        self,
        rules: Iterable[PermissionRule],
        tools: Sequence[str],
        capability: str | None,
        *,
        only_reads: bool = False,
    ) -> None:
        ranked = []
        for rule in rules:
            rank = _rank(rule.permission, tools, capability, only_reads=only_reads)
            if rank is not None:
                ranked.append((rank, rule))
        ranked.sort(key=_specificity, reverse=True)
        own = [rule for _, rule in ranked if rule.above is None]
        self._everyones = tuple(rule for rule in own if rule.scope != "mode")
        self._modes = _effective([rule for rule in own if rule.scope == "mode"])
        above: dict[str, list[PermissionRule]] = {}
        for _, rule in ranked:
            if rule.above is not None:
                above.setdefault(rule.above, []).append(replace(rule, above=None))
        self._above = tuple(
            RuleBook(rules, tools, capability, only_reads=only_reads) for rules in above.values()
        )
        self._authors = tuple(rule for rule in self._everyones if rule.scope == "manifest")
        self._pinned = tuple(rule for rule in self._authors if rule.pinned)
        self._firm = tuple(rule for rule in self._everyones if rule.action != "ask" or _is_pinned(rule))
        self._firm_authors = tuple(rule for rule in self._firm if rule.scope == "manifest")

    @staticmethod
    def about(rules: Iterable[PermissionRule], subject: Subject) -> RuleBook:
        """Return the rules that concern the use that `subject` is."""
        return _book(tuple(rules), tuple(subject.tools), subject.capability, subject.only_reads)

    @property
    def restricts(self) -> bool:
        """Whether any rule could deny or ask."""
        own = any(rule.action != "allow" for rule in (*self._everyones, *self._modes))
        return own or any(book.restricts for book in self._above)

    @property
    def strict_patterns(self) -> frozenset[str]:
        """The patterns of the rules that could stand in the way."""
        own = frozenset(rule.pattern for rule in (*self._everyones, *self._modes) if rule.action != "allow")
        return own.union(*(book.strict_patterns for book in self._above))

    def decide(self, subject: Subject) -> Decision:
        """Return what the rules say about `subject`; without a rule it is allowed."""
        decision = self._decide(subject)
        if decision.action == "deny":
            return decision
        for book in self._above:
            above = book.decide(subject)
            if above.action == "deny":
                return above
            if above.uncertain and decision.action == "allow":
                decision = above
        return decision

    def _decide(self, subject: Subject) -> Decision:
        decision = self._without_mode(subject, self._everyones, self._authors)
        mode = _winner(self._modes, subject)
        if decision.action == "deny" or mode.rule is None:
            return decision
        if mode.action == "deny":
            return mode
        if mode.action == "ask":
            return mode if decision.action == "allow" and decision.rule is None else decision
        firm = self._without_mode(subject, self._firm, self._firm_authors)
        return mode if decision.action == "ask" and firm.action == "allow" else decision

    def _without_mode(
        self, subject: Subject, rules: Sequence[PermissionRule], authors: Sequence[PermissionRule]
    ) -> Decision:
        pinned = _winner(self._pinned, subject)
        for decision in (pinned, _winner(authors, subject)):
            if decision.action == "deny":
                return decision
        everyones = _winner(rules, subject)
        if pinned.action == "ask" and everyones.action == "allow":
            return pinned
        return everyones


@lru_cache(maxsize=_KEPT_BOOKS)
def _book(
    rules: tuple[PermissionRule, ...], tools: tuple[str, ...], capability: str | None, only_reads: bool
) -> RuleBook:
    return RuleBook(rules, tools, capability, only_reads=only_reads)


def decide(rules: Iterable[PermissionRule], subject: Subject) -> Decision:
    """Return what `rules` say about one subject."""
    return RuleBook.about(rules, subject).decide(subject)


def _is_pinned(rule: PermissionRule) -> bool:
    return rule.scope == "manifest" and rule.pinned


def _effective(ranked: Sequence[PermissionRule]) -> tuple[PermissionRule, ...]:
    """Return the rules of a mode up to the first that covers everything: no later one ever wins."""
    last = next((n for n, rule in enumerate(ranked, 1) if covers_everything(rule.pattern)), len(ranked))
    return tuple(ranked[:last])


def _winner(ranked: Sequence[PermissionRule], subject: Subject) -> Decision:
    """The most specific rule that covers the subject, unless a stricter one might come before it."""
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
    for text, known in subject.spellings:
        if _may_mean(rule, text, known, subject):
            return True
    for text, known in subject.guesses:
        if matches(rule.pattern, text, subject.kind) or _may_mean(rule, text, known, subject):
            return True
    return False


def _may_mean(rule: PermissionRule, text: str, known: int, subject: Subject) -> bool:
    return known < len(text) and could_match(rule.pattern, text[:known], subject.kind)


def _specificity(ranked: tuple[tuple[int, int], PermissionRule]) -> tuple[int, ...]:
    rank, rule = ranked
    return (*rank, literal_length(rule.pattern), _SCOPES[rule.scope], _STRICTNESS[rule.action])


def _rank(
    name: str, tools: Sequence[str], capability: str | None, *, only_reads: bool
) -> tuple[int, int] | None:
    """Return how exactly a permission names the use; None when it does not apply. `tools` is empty for uses
    that only rules of a capability concern."""
    if name == "*":
        return (0, 0) if tools else None
    name = rule_name(name)
    if name in tools:
        return (3 if name != tools[0] else 2), 0
    if only_reads and name == READING_COMMANDS:
        return 3, 0
    if capability is not None and name == capability:
        return 2, 0
    portable = portable_name(tools[0]) if tools else None
    names = [one for one in (*tools, portable, capability) if one is not None]
    if (tools and name == f"{tools[0]}.*") or any(text_matches(one, name) for one in names):
        return 1, literal_length(name)
    return None
