"""The rule that "always" would store for a question to a person.

Owns: how far it reaches: a command with its first words, a folder, a host. Never: a bare `*`; a pattern for
programs that run their arguments.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from app.tools.authorisation.decision import decide
from app.tools.authorisation.patterns import escaped
from app.tools.authorisation.shell_guesses import WITH_VERBS
from app.tools.contract.rules import PermissionRule, Subject

_TWO_VERBS = frozenset({"npm run", "pnpm run", "yarn run", "bun run", "docker compose", "gh pr", "gh issue"})
_HARMLESS = frozenset(
    {"ls", "cat", "head", "tail", "wc", "grep", "rg", "sort", "uniq", "cut", "diff", "stat", "file", "du"}
    | {"pwd", "cd", "echo", "which", "date", "pytest", "ruff", "mypy", "tsc", "eslint", "prettier", "jest"}
    | {"tree", "basename", "dirname", "realpath", "true", "false", "test", "sleep", "mkdir", "touch"}
)


def suggestions_for(
    subjects: Iterable[Subject], rules: Sequence[PermissionRule]
) -> tuple[PermissionRule, ...]:
    """Return one rule for each subject, without repetition, that would allow it next time. There are none
    when a subject has no such rule, since "always" would then be asked again."""
    found: dict[PermissionRule, None] = {}
    for subject in subjects:
        rule = _rule_for(subject, rules)
        if rule is None:
            return ()
        found[rule] = None
    return tuple(found)


def _rule_for(subject: Subject, rules: Sequence[PermissionRule]) -> PermissionRule | None:
    for pattern in _patterns(subject):
        named = subject.tools[-1] if subject.tools else subject.permission
        rule = PermissionRule(named, pattern, "allow", "session")
        if decide((*rules, rule), subject).action == "allow":
            return rule
    return None


def _patterns(subject: Subject) -> list[str]:
    """Patterns for a subject, the one to try first first."""
    if subject.kind == "call":
        return ["*"]
    if subject.dynamic:
        return []
    exact = escaped(subject.text)
    if subject.kind == "host":
        return [exact]
    if subject.kind == "path":
        folder = posixpath.dirname(subject.text)
        outside = subject.text.startswith(("/", "~", ".."))
        return [exact] if outside or not folder else [f"{escaped(folder)}/**", exact]
    return _command_patterns(subject, exact)


def _command_patterns(subject: Subject, exact: str) -> list[str]:
    text, known = subject.spellings[0]
    certain = known == len(text)
    words = text.split(" ")
    head = words[0]
    if head in WITH_VERBS and len(words) > 1 and words[1][:1].isalpha():
        head = " ".join(words[:2])
        if head in _TWO_VERBS and len(words) > 2 and words[2][:1].isalpha():
            head = " ".join(words[:3])
        general = f"{escaped(head)} *" if len(head) < known or certain else None
    else:
        general = f"{escaped(head)} *" if head in _HARMLESS else None
    return [one for one in (general, exact if certain else None) if one is not None]
